"""From raw columns to numbers: which kind each column has, asked for or inferred, and its values by that kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

from dagtune.tables.files import pick_names
from dagtune.tables.kinds import KINDS, Categorical, Coded, Continuous, Ordinal, infer_kind
from dagtune.tables.troubles import Troubles
from dagtune.tables.unfit import refuse_lists
from dagtune.validation import InputError, check_choice

__all__ = ["CATEGORIES", "PLAIN", "asked_kinds", "inferred_kinds", "numbers_of", "plain_numbers", "with_levels"]

#: The kind of a column of which nothing else is said, and the kind that ``categorical=`` means.
PLAIN, CATEGORIES = Continuous.name, Categorical.name


def asked_kinds(
    names: tuple[str, ...], categorical: str | Sequence[str], kinds: Mapping[str, str | Sequence[str]] | None
) -> dict[str, str]:
    """The kinds asked for, by name of the column."""
    asked = dict.fromkeys(pick_names([categorical] if isinstance(categorical, str) else categorical, names), CATEGORIES)
    for given, kind in (kinds or {}).items():
        known = check_choice("kind of column", kind, KINDS) if isinstance(kind, str) else Ordinal.name
        asked |= dict.fromkeys(pick_names([given], names), known)
    return asked


def with_levels(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], kinds: Mapping[str, str | Sequence[str]] | None
) -> pd.DataFrame | np.ndarray:
    """The table with an ordered category for each column whose levels are named."""
    for given, levels in (kinds or {}).items():
        if isinstance(levels, str):
            continue
        raw = pd.DataFrame(raw).copy(deep=False)
        for name in pick_names([given], names):
            column = raw.iloc[:, names.index(name)]
            known = column.map(str, na_action="ignore")
            strange = known[known.notna() & ~known.isin([str(level) for level in levels])]
            if len(strange):
                raise InputError(
                    f"column {name!r} has the value {strange.iloc[0]!r}, which is not among its levels "
                    f"({', '.join(map(str, levels))}): name all levels, from low to high"
                )
            ordered = pd.CategoricalDtype([str(level) for level in levels], ordered=True)
            raw.isetitem(names.index(name), pd.Categorical(known, dtype=ordered))
    return raw


def inferred_kinds(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], asked: Mapping[str, str], troubles: Troubles | None = None
) -> dict[str, str]:
    """The kinds, other than continuous, of columns that nothing is said about."""
    frame = pd.DataFrame(raw)
    found = {}
    for j, name in enumerate(names):
        if name not in asked:
            with nullcontext() if troubles is None else troubles.noted(name):
                kind = infer_kind(frame.iloc[:, j], name)
                if kind != PLAIN:
                    found[name] = kind
    return found


def plain_numbers(raw: pd.DataFrame) -> pd.DataFrame:
    """The frame with numbers in place of decimals and fractions, as databases and Parquet files have them."""
    for j in range(raw.shape[1]):
        column = raw.iloc[:, j]
        if column.dtype == object and isinstance(next(iter(column.dropna()), None), (Decimal, Fraction)):
            with suppress(TypeError, ValueError):
                new = column.map(float, na_action="ignore").to_numpy(np.float64)
                raw = raw.copy(deep=False)
                raw.isetitem(j, new)
    return raw


def numbers_of(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], asked: Mapping[str, str], troubles: Troubles
) -> tuple[np.ndarray, dict[str, Coded]]:
    """(rows, columns) float64 of a frame or an array, each column by its kind; and how other kinds are coded."""
    if not asked and isinstance(raw, np.ndarray) and raw.dtype.kind not in "OUS":
        if raw.dtype.kind not in "biuf":
            raise InputError(f"data of type {raw.dtype} are not real numbers: convert them to float")
        return np.ascontiguousarray(raw, dtype=np.float64), {}
    frame = pd.DataFrame(raw)
    if not asked and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in set(frame.dtypes)):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64)), {}  # at once: column by column takes 0.1 ms each
    values = np.empty(frame.shape, dtype=np.float64, order="F")
    coded = {}
    for j, name in enumerate(names):
        values[:, j] = np.nan
        with troubles.noted(name):
            refuse_lists(frame.iloc[:, j], name)
            found = KINDS[asked.get(name, PLAIN)].read(frame.iloc[:, j], name)
            values[:, j] = found.values
            if name in asked:
                coded[name] = found
    return np.ascontiguousarray(values), coded
