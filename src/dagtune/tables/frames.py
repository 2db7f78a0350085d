"""Tables in memory, of whatever library: one conversion to a pandas DataFrame that keeps the column names.

pandas frames pass as they are. Polars, pyarrow, Dask and other frames go through narwhals, which knows how they differ;
lazy ones are computed. xarray is not a data frame library, so it has a few lines of its own.
"""

from __future__ import annotations

import sys
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
        A frame or series of pandas, Polars, pyarrow, Dask or another library that narwhals knows, or an
        xarray Dataset, or an xarray DataArray whose columns have labels.

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
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    if type(data).__module__.startswith("xarray."):
        return _frame_of_xarray(data)
    return _frame_of_other(data)


def unmasked(data: Any) -> Any:
    """Check that no value of an array is masked.

    Parameters
    ----------
    data : array_like
        An array, nested lists, or a Dask array, which is computed.

    Returns
    -------
    array_like
        The same, computed.

    Raises
    ------
    InputError
        If a value is masked: as a plain array it would pass for an ordinary number.
    """
    if hasattr(data, "compute"):
        data = data.compute()
    masked = data if isinstance(data, np.ma.MaskedArray) else None
    if isinstance(data, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in data):
        masked = np.ma.stack(data)  # np.asarray would forget the masks of the rows
    if masked is not None and np.ma.is_masked(masked):
        row = int(np.argwhere(masked.mask)[0][0])
        raise InputError(
            f"the data have {np.ma.count_masked(masked)} masked values, the first in row {row}, but masks are not "
            "supported: drop those rows, or pass data.filled(np.nan) to read_table with missing='drop' or 'impute'"
        )
    return data


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
        if isinstance(frame, nw.Series):
            frame = frame.to_frame()
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if not isinstance(frame, nw.DataFrame):
            return None
        names = frame.columns
        columns = dict(enumerate(column.to_numpy() for column in frame.iter_columns()))
    except DuplicateError:  # it does not say which in a form that we could show
        names = list(getattr(data, "column_names", None) or data.columns)
        check_names(names, count=len(names))
        raise
    return pd.DataFrame(columns).set_axis(names, axis=1)
