"""Kinds of columns: how raw values become numbers, and what may be done with the numbers.

A kind is one small class. :func:`register_kind` makes it known by its name, and ``read_table(data, kinds={"age":
"my-kind"})`` asks for it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dagtune.registry import Registry
from dagtune.validation import InputError

__all__ = ["KINDS", "MAX_CATEGORIES", "Kind", "register_kind"]

#: The most categories of a categorical column; the audit calls a column of no more different numbers discrete.
MAX_CATEGORIES = 20


class Kind(ABC):
    """A kind of column.

    Attributes
    ----------
    name : str
        How users ask for the kind.
    words : str
        What the column holds, for messages and documentation.
    quantitative : bool
        Whether the numbers are amounts, with an order and distances. Codes of categories are not.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    quantitative: ClassVar[bool] = True

    @abstractmethod
    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        """Turn raw values into numbers.

        Parameters
        ----------
        column : Series
            The values, of any type.
        name : str
            The column's name, for error messages.

        Returns
        -------
        ndarray of shape (rows,), float64
            NaN where a value is missing.

        Raises
        ------
        InputError
            If the values are not of this kind.
        """

    def typical(self, values: np.ndarray) -> float:
        """The number that ``missing="impute"`` puts in place of missing ones: by default the median."""
        return float(np.median(values))


class Continuous(Kind):
    """Numbers that measure an amount. Booleans count as 0 and 1."""

    name = "continuous"
    words = "numbers that measure an amount"

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        real = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype)
        if not real:
            column = _as_numbers(column, name)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


class Categorical(Kind):
    """Categories without an order, coded 0, 1, ... in the sorted order of their values."""

    name = "categorical"
    words = "categories without an order"
    quantitative = False

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        if column.dtype == object:
            column = column.map(str, na_action="ignore")  # mixed types have no order
        codes, categories = pd.factorize(column, sort=True)
        if len(categories) > MAX_CATEGORIES:
            raise InputError(
                f"column {name!r} has {len(categories)} different values, too many for a categorical column (at most "
                f"{MAX_CATEGORIES}): merge the rare ones, use it as numbers, or drop it"
            )
        return np.where(codes < 0, np.nan, codes)

    def typical(self, values: np.ndarray) -> float:
        """The most frequent code."""
        return float(np.argmax(np.bincount(values.astype(np.intp))))


#: All kinds by name.
KINDS: Registry[Kind] = Registry("kind of column")


def register_kind(kind: Kind) -> Kind:
    """Make a kind of column known by its name.

    Parameters
    ----------
    kind : Kind
        The kind to add.

    Returns
    -------
    Kind
        The same.

    Raises
    ------
    InputError
        If a kind of that name is already registered.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dagtune.tables import KINDS, Kind, read_table, register_kind
    >>> class Hours(Kind):
    ...     name, words = "hours", "times of day such as 7:30"
    ...     def encode(self, column, name):
    ...         return (pd.to_timedelta(column + ":00") / pd.Timedelta(hours=1)).to_numpy()
    >>> kind = register_kind(Hours())
    >>> table = read_table(pd.DataFrame({"rise": ["7:30", "8:00"], "age": [40, 16]}), kinds={"rise": "hours"})
    >>> table.values.tolist()
    [[7.5, 40.0], [8.0, 16.0]]
    >>> del KINDS["hours"]
    """
    return KINDS.register(kind)


register_kind(Continuous())
register_kind(Categorical())


def _as_numbers(column: pd.Series, name: str) -> pd.Series:
    """An object column that holds real numbers only (not texts of numbers), as numbers; everything else is refused."""
    if column.dtype == object and all(value is None or _is_real(value) for value in column):
        return pd.to_numeric(column)
    first = next((value for value in column if value is not None and not _is_real(value)), None)
    if first is None and len(column):
        first = column.iloc[0]
    if isinstance(first, str) and re.fullmatch(r"\s*[-+]?\d+,\d+\s*", first):
        cure = "write 1.5 for 1,5"
    else:
        cure = "encode it as numbers, drop it, or name it as categorical (conditional learner: a cause only)"
    raise InputError(f"column {name!r} is not numeric (type {column.dtype}, first value {first!r}): {cure}")


def _is_real(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number)) and not isinstance(value, complex)
