"""Tables in memory, of whatever library: one conversion to a pandas DataFrame that keeps the column names.

pandas frames pass as they are. Polars, pyarrow, Dask and other frames go through narwhals, which knows how they differ;
lazy ones are computed. xarray is not a data frame library, so it has a few lines of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from dagtune.validation import InputError, check_names

__all__ = ["as_frame", "unmasked"]


def as_frame(data: Any) -> pd.DataFrame | None:
    """Convert a data frame of any library to pandas, with its column names.

    Parameters
    ----------
    data : object
        A frame or series of pandas, Polars, pyarrow, Dask or another library that narwhals knows, whatever has the
        Arrow C stream (``__arrow_c_stream__``) or ``__dataframe__``, an xarray Dataset, an xarray DataArray whose
        columns have labels, a structured array, a dict of columns, or a list of records.

    Returns
    -------
    DataFrame or None
        None if ``data`` is something else, such as an array.

    Examples
    --------
    >>> import pyarrow
    >>> list(as_frame(pyarrow.table({"age": [1, 2], "size": [3, 4]})).columns)
    ['age', 'size']
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):
        return data.to_frame()
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return pd.DataFrame.from_records(data)
    records = isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(row, dict) for row in data)
    if records or (isinstance(data, dict) and not hasattr(data, "toarray")):  # a sparse matrix may be a dict
        try:
            return pd.DataFrame(data)
        except ValueError as error:
            raise InputError(f"the data are no table ({error}): give every column a list of the same length") from error
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    if type(data).__module__.startswith("xarray."):
        return _frame_of_xarray(data)
    return _frame_of_other(data)


def unmasked(data: Any) -> Any:
    """An array whose masked values are missing ones: as a plain array they would pass for ordinary numbers.

    Parameters
    ----------
    data : array_like
        An array, nested lists, or a Dask array, which is computed.

    Returns
    -------
    array_like
        The same, computed, with NaN for masked values.

    Examples
    --------
    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if hasattr(data, "compute"):
        data = data.compute()
    masked = data if isinstance(data, np.ma.MaskedArray) else None
    if isinstance(data, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in data):
        masked = np.ma.stack(data)  # np.asarray would forget the masks of the rows
    if masked is None or not np.ma.is_masked(masked):
        if isinstance(data, (list, tuple)):
            _refuse_ragged(data)
        return data if masked is None else masked.data
    if masked.dtype.kind in "biuf":
        return np.ma.filled(masked.astype(np.float64), np.nan)
    plain = masked.data.astype(object)
    plain[np.ma.getmaskarray(masked)] = None
    return plain


def _refuse_ragged(data: Any) -> None:
    """Refuse nested lists that are no table, and numbers that no float can hold."""
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise InputError("the rows of the data have different lengths: give every row one value a column") from error
    if array.dtype == object:
        for value in array.flat:
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise InputError(f"a number of {len(str(value))} digits is too large: rescale or drop it")


def _frame_of_xarray(data: Any) -> pd.DataFrame | None:
    """A Dataset whose variables share one dimension, or a DataArray (rows, columns) with labels for its columns."""
    xarray = sys.modules["xarray"]
    if isinstance(data, xarray.Dataset):
        if len(data.sizes) != 1:
            raise InputError(
                f"the xarray Dataset has the dimensions {tuple(data.sizes)}, but a table has one, its rows: select it"
            )
        return pd.DataFrame({name: variable.to_numpy() for name, variable in data.data_vars.items()})
    if isinstance(data, xarray.DataArray) and data.ndim == 2 and data.dims[1] in data.coords:
        return pd.DataFrame(data.to_numpy(), columns=data.coords[data.dims[1]].to_numpy())
    return None


def _frame_of_other(data: Any) -> pd.DataFrame | None:
    """A frame or series that narwhals knows; column by column, because Polars' own conversion needs pyarrow."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(data, pass_through=True, allow_series=True)
        if frame is data:
            return _frame_of_protocol(data)
        if isinstance(frame, nw.Series):
            frame = frame.to_frame()
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if not isinstance(frame, nw.DataFrame):
            return None
        names = frame.columns
        columns = dict(enumerate(_column(column) for column in frame.iter_columns()))
    except DuplicateError:  # it does not say which in a form that we could show
        names = list(getattr(data, "column_names", None) or data.columns)
        check_names(names, count=len(names))
        raise
    return pd.DataFrame(columns).set_axis(names, axis=1)


def _column(column: Any) -> Any:
    """The values of a narwhals series; categories stay categories, and those that are ordered keep their order."""
    import narwhals as nw

    native = column.to_native()
    if getattr(getattr(native, "type", None), "ordered", False):  # a dictionary of Arrow, of which narwhals forgets it
        return native.unify_dictionaries().to_pandas()
    if column.dtype in (nw.Categorical, nw.Enum):
        ordered = column.dtype == nw.Enum
        levels = list(getattr(column.dtype, "categories", ())) or column.cat.get_categories().to_list()
        return pd.Categorical(column.to_list(), categories=levels, ordered=ordered)
    return column.to_numpy()


def _frame_of_protocol(data: Any) -> pd.DataFrame | None:
    """Frames of libraries that nobody here knows, by the Arrow C stream or the older interchange protocol."""
    if hasattr(data, "__arrow_c_stream__"):
        pyarrow = import_module("pyarrow")
        return _frame_of_other(pyarrow.table(data))
    if hasattr(data, "__dataframe__"):
        return _frame_of_other(import_module("pyarrow.interchange").from_dataframe(data))
    return None
