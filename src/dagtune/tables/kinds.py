"""Kinds of columns: how raw values become numbers, and what may be done with the numbers.

A kind is one small class. :func:`register_kind` makes it known by its name, and ``read_table(data, kinds={"age":
"my-kind"})`` asks for it. :func:`infer_kind` tells the kind of a column of which nothing is said.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from dagtune.registry import Registry
from dagtune.tables.dates import as_times, is_date, odd_text
from dagtune.tables.unfit import (
    NAMES_ROWS,
    ask_for,
    holds_dates,
    leave_out,
    mostly,
    refuse_dates,
    refuse_lists,
    refuse_names,
)
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["KINDS", "MAX_CATEGORIES", "Coded", "Kind", "infer_kind", "register_kind"]

#: The most categories of a categorical column; the rarest beyond are pooled.
MAX_CATEGORIES = 20
#: Rows below which a category is pooled with other rare ones: a rare category makes false edges.
RARE = 10
#: Whole numbers with no more different values are levels; other numbers with no more than the second.
MAX_LEVELS, MAX_NUMBERS = 7, 11
#: Counts have no more different values than this, and none is greater than the second.
MAX_COUNTS, GREATEST_COUNT = 40, 60
#: Rows for each different value, in the mean, below which numbers are continuous: so few can't tell.
_ROWS_A_VALUE = 5
_ORIGIN = pd.Timestamp("1970-01-01")


class Coded(NamedTuple):
    """Values of a column as numbers, what they stand for, and what was done to them.

    Parameters
    ----------
    values : ndarray of shape (rows,), float64
    labels : tuple of str
        What the codes 0, 1, ... stand for; empty if the numbers are the values themselves.
    note : str
        What a user should know; empty if nothing.
    """

    values: np.ndarray
    labels: tuple[str, ...] = ()
    note: str = ""


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

    def read(self, column: pd.Series, name: str) -> Coded:
        """The same as :meth:`encode`, with what the numbers stand for."""
        return Coded(self.encode(column, name))

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


class Binary(Kind):
    """Two values: numbers as they are, others coded 0 and 1 in their sorted order."""

    name = "binary"
    words = "two values"

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        return self.read(column, name).values

    def read(self, column: pd.Series, name: str) -> Coded:
        coded = Coded(KINDS["continuous"].encode(column, name)) if _numeric(column) else _levels(column)
        different = len(np.unique(coded.values[~np.isnan(coded.values)]))
        if different > 2:
            raise InputError(
                f"column {name!r} has {different} different values, not two: take it as ordinal or categorical "
                f"({ask_for(name, 'categorical')})"
            )
        return coded

    def typical(self, values: np.ndarray) -> float:
        return _most_frequent(values)


class Ordinal(Kind):
    """Levels with an order: numbers as they are, an ordered category coded 0, 1, ... in its order."""

    name = "ordinal"
    words = "levels with an order"

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        return self.read(column, name).values

    def read(self, column: pd.Series, name: str) -> Coded:
        if _numeric(column):
            return Coded(KINDS["continuous"].encode(column, name))
        if not getattr(column.dtype, "ordered", False):
            first = next((printable(str(value)) for value in column.dropna()), "")
            raise InputError(
                f"column {name!r} holds text (the first value is {first!r}), whose order is not known: name the levels "
                f"from low to high ({ask_for(name, ('low', 'middle', 'high'))}), or take it as categorical"
            )
        return _levels(column)

    def typical(self, values: np.ndarray) -> float:
        return float(np.quantile(values, 0.5, method="lower"))


class Count(Kind):
    """How often something happened: whole numbers from 0 on."""

    name = "count"
    words = "whole numbers from 0 on that count something"

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        values = KINDS["continuous"].encode(column, name)
        known = values[~np.isnan(values)]
        if len(known) and (known.min() < 0 or (known != np.round(known)).any()):
            bad = known[(known < 0) | (known != np.round(known))][0]
            raise InputError(
                f"column {name!r} is no count, it has the value {bad:g}: take it as continuous "
                f"({ask_for(name, 'continuous')})"
            )
        return values

    def typical(self, values: np.ndarray) -> float:
        return float(np.quantile(values, 0.5, method="lower"))


class Date(Kind):
    """Dates and times, as days since 1970-01-01; durations in days."""

    name = "date"
    words = "dates and times, counted in days since 1970-01-01, and durations in days"

    def read(self, column: pd.Series, name: str) -> Coded:
        since = "" if pd.api.types.is_timedelta64_dtype(column.dtype) else " since 1970-01-01"
        note = "" if _numeric(column) else f"{printable(name)} is counted in days{since}"
        return Coded(self.encode(column, name), note=note)

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        if _numeric(column):
            return KINDS["continuous"].encode(column, name)  # days already
        if pd.api.types.is_timedelta64_dtype(column.dtype):
            return (column.dt.total_seconds() / 86400).to_numpy(dtype=np.float64, na_value=np.nan)
        if isinstance(column.dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        try:
            written = None if holds_dates(column) else as_times(column, name)
            if written is not None:
                column = written
            times = pd.to_datetime(column, format=None if holds_dates(column) else "ISO8601")
        except InputError:
            raise
        except (ValueError, TypeError) as error:
            if not any(map(is_date, column.dropna())):
                raise InputError(
                    f"column {name!r} holds no dates such as 2024-03-31: give it another kind "
                    f"(kinds={{{name!r}: 'categorical'}}), or leave it out ({leave_out(name)})"
                ) from error
            odd = printable(odd_text(column))
            raise InputError(
                f"column {name!r} holds {odd!r}, which is no date such as 2024-03-31, or not written as the others: "
                f"correct it, leave such rows out (na={odd!r} and missing='drop'), or the column ({leave_out(name)})"
            ) from error
        if getattr(times.dtype, "tz", None) is not None:
            times = times.dt.tz_convert(None)
        return ((times - _ORIGIN) / pd.Timedelta(days=1)).to_numpy(dtype=np.float64, na_value=np.nan)


class Categorical(Kind):
    """Categories without an order, coded 0, 1, ... in the sorted order of their values; rare ones are pooled."""

    name = "categorical"
    words = "categories without an order"
    quantitative = False

    def encode(self, column: pd.Series, name: str) -> np.ndarray:
        return self.read(column, name).values

    def read(self, column: pd.Series, name: str) -> Coded:
        coded = _levels(column)
        known = ~np.isnan(coded.values)
        codes = coded.values[known].astype(np.intp)
        times = np.bincount(codes, minlength=len(coded.labels))
        new, labels, note = pool_rare(times, coded.labels, name)
        values = coded.values.copy()
        values[known] = new[codes]
        return Coded(values, labels, note)

    def typical(self, values: np.ndarray) -> float:
        """The most frequent code."""
        return _most_frequent(values)


def pool_rare(times: np.ndarray, labels: tuple[str, ...], name: str) -> tuple[np.ndarray, tuple[str, ...], str]:
    """The code of each category once rare ones are pooled, what the codes stand for, and what was done.

    Parameters
    ----------
    times : ndarray of int
        How many rows have each category.
    labels : tuple of str
        Their names.
    name : str
        The column's name, for messages.

    Raises
    ------
    InputError
        If there are so many that the column names the rows.
    """
    count = int(times.sum())
    if len(times) > MAX_CATEGORIES and len(times) > NAMES_ROWS * count:
        raise InputError(
            f"column {name!r} has {len(times)} different values in {count} rows: it names the rows and can "
            f"have no effect that repeats; leave it out ({leave_out(name)})"
        )
    kept = _frequent(times)
    if kept.all():
        return np.arange(len(times)), labels, ""
    pooled = int((~kept).sum())
    note = (
        f"{pooled} rare categories of {printable(name)} ({int(times[~kept].sum())} rows) were pooled into one, "
        f"{int(kept.sum())} are kept"
    )
    stay = tuple(label for label, keep in zip(labels, kept) if keep)
    return np.where(kept, np.cumsum(kept) - 1, kept.sum()), (*stay, "(other)"), note


def _most_frequent(values: np.ndarray) -> float:
    different, times = np.unique(values, return_counts=True)
    return float(different[np.argmax(times)])


def _levels(column: pd.Series) -> Coded:
    """Codes in the order of an ordered category, else in the sorted order of the values."""
    if getattr(column.dtype, "ordered", False):
        column = column.cat.remove_unused_categories()
        codes, labels = column.cat.codes.to_numpy(), column.cat.categories
    else:
        if column.dtype == object:
            column = column.map(str, na_action="ignore")  # mixed types have no order
        codes, labels = pd.factorize(column, sort=True)
    return Coded(np.where(codes < 0, np.nan, codes).astype(np.float64), tuple(_label(each) for each in labels))


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)


def _frequent(times: np.ndarray) -> np.ndarray:
    """Which categories stay as they are: the frequent ones, so that those that are pooled have enough rows together."""
    least = min(RARE, int(times.sum()) // 20)
    order = np.argsort(-times, kind="stable")
    for count in range(min(len(times), MAX_CATEGORIES), 1, -1):
        kept = np.zeros(len(times), dtype=bool)
        kept[order[:count] if count == len(times) else order[: count - 1]] = True
        if times[kept].min() >= least and (kept.all() or times[~kept].sum() >= least):
            return kept
    return np.ones(len(times), dtype=bool) if len(times) <= 2 else np.arange(len(times)) == order[0]


def infer_kind(column: pd.Series, name: str) -> str:
    """The kind of a column of which nothing is said.

    - booleans, and anything with two values: binary;
    - ordered categories: ordinal; text and other categories: categorical;
    - whole numbers with at most 7 different values, other numbers with at most 11: ordinal;
    - whole numbers from 0 to at most 60 with at most 40 different values: count;
    - other numbers, and numbers with fewer than five rows for each value: continuous.

    Parameters
    ----------
    column : Series
        The values, of any type.
    name : str
        The column's name, for error messages.

    Returns
    -------
    str
        A name in :data:`KINDS`.

    Raises
    ------
    InputError
        If it holds dates, for which one must ask, or text that names the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> infer_kind(pd.Series(["f", "m", "f"]), "sex"), infer_kind(pd.Series([0, 1, 2, 5, 0] * 20), "visits")
    ('binary', 'ordinal')
    """
    if _numeric(column):
        return _kind_of_numbers(column)
    refuse_dates(column, name)
    if column.dtype == object and len(known := column.dropna()) and all(map(_is_real, known)):
        return _kind_of_numbers(pd.to_numeric(known))
    refuse_lists(column, name)
    different = column.nunique()
    if different <= 2 and not mostly(column, _NUMBER):
        return "binary"
    if getattr(column.dtype, "ordered", False):
        return "ordinal"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "categorical"
    if mostly(column, _NUMBER):
        return "continuous"  # whose encode says which value is no number
    refuse_names(column, name)
    return "categorical"


_NUMBER = r"\s*[-+]?(\d+([.,]\d*)?|\.\d+)([eE][-+]?\d+)?\s*"


def _kind_of_numbers(column: pd.Series) -> str:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(np.unique(values[:1000])) > MAX_COUNTS + 1:
        return "continuous"  # at a glance: most columns end here
    return kind_of_values(np.unique(values[np.isfinite(values)]), len(values))


def kind_of_values(different: np.ndarray, count: int) -> str:
    """The kind of ``count`` numbers of which these, ascending, are different; see :func:`infer_kind`."""
    if len(different) <= 2:
        return "binary" if len(different) == 2 and count >= 2 * _ROWS_A_VALUE else "continuous"
    if count < _ROWS_A_VALUE * len(different):
        return "continuous"
    whole = bool((different == np.round(different)).all())
    if len(different) <= (MAX_LEVELS if whole else MAX_NUMBERS):
        return "ordinal"
    if whole and different[0] >= 0 and different[-1] <= GREATEST_COUNT and len(different) <= MAX_COUNTS:
        return "count"
    return "continuous" if len(different) > MAX_NUMBERS else "ordinal"


def _numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype))


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


for _kind in (Continuous(), Binary(), Ordinal(), Count(), Categorical(), Date()):
    register_kind(_kind)


def _as_numbers(column: pd.Series, name: str) -> pd.Series:
    """An object column that holds real numbers only (not texts of numbers), as numbers; everything else is refused."""
    if column.dtype == object and all(value is None or _is_real(value) for value in column):
        try:
            return pd.to_numeric(column)
        except OverflowError as error:
            raise InputError(f"column {name!r} has a whole number too large for a float: rescale or drop it") from error
    refuse_dates(column, name)
    refuse_lists(column, name)
    if not isinstance(column.dtype, pd.CategoricalDtype) and not mostly(column, _NUMBER):
        refuse_names(column, name)
    first = next((value for value in column if value is not None and not _is_real(value)), None)
    if first is None and len(column):
        first = column.iloc[0]
    if isinstance(first, str) and re.fullmatch(r"\s*[-+]?\d+,\d+\s*", first):
        cure = "write 1.5 for 1,5"
    else:
        asked = ask_for(name, "categorical") + (", missing='drop' or 'model'" if column.isna().any() else "")
        cure = f"leave it out ({leave_out(name)}), or take it as categories ({asked}) with ConditionalTuning"
        if mostly(column, _NUMBER):
            cure = f"turn its texts into numbers, or leave it out ({leave_out(name)})"
        elif column.nunique() == 1:
            cure = f"it has no other value, so leave it out ({leave_out(name)})"
    raise InputError(f"column {name!r} is not numeric (type {column.dtype}, first value {first!r}): {cure}")


def _is_real(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number)) and not isinstance(value, complex)
