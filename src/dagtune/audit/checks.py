"""The checks of an audit: each is a generator of findings about one :class:`~dagtune.audit.look.Look`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dagtune.audit.findings import Column, Finding
from dagtune.audit.look import Look
from dagtune.audit.statistics import (
    RISK,
    adjusted_r2,
    copies,
    explained_shares,
    far_out,
    sample,
    standard_deviations,
)
from dagtune.tables import MAX_CATEGORIES, block_length, few_rows, infer_kind, lag_correlation, look_at_gaps
from dagtune.tables.dates import mostly_dates
from dagtune.tables.derived import find_derived
from dagtune.tables.unfit import ask_for
from dagtune.validation import InputError

__all__ = ["CHECKS", "about_names", "about_sortability", "sortability_of", "summaries"]

#: Share of one value from which a column hardly varies.
_NEARLY_CONSTANT = 0.95
#: Share of a column's variance that another one (or all others) explains when it is nearly a function of it.
_NEARLY_A_FUNCTION = 0.98
_NEARLY_COLLINEAR = 0.999
#: Correlation of a row with the next below which dependence does no harm, however sure it is.
_SERIAL = 0.1
#: Ratio of the largest to the smallest standard deviation from which scale alone can order the columns.
_SPREAD = 10.0
#: Sortability from which a method can win by sorting alone.
_SORTABLE = 0.9


def about_names(names: list[str]) -> Iterator[Finding]:
    """Names that are empty or equal, as only frames have them."""
    for position, name in enumerate(names):
        if not name.strip():
            yield Finding(
                "unnamed-column",
                (name,),
                f"column {position + 1} has no name (row numbers, perhaps?)",
                f"name it, or leave it out (drop={name!r})",
            )
    for name, times in Counter(names).items():
        if times > 1:
            cure = "rename the columns so that they differ"
            yield Finding("duplicate-name", (name,), f"{times} columns are called {name!r}", cure)


def _about_values(look: Look) -> Iterator[Finding]:
    """Text, missing and infinite values."""
    rows = len(look.frame)
    for j in range(len(look.names)):
        leave_out = f"leave it out (drop={look.shown(j)})"
        gaps = int(look.frame.iloc[:, j].isna().sum())
        if not look.usable[j]:
            yield _text_finding(look, j, leave_out)
        if gaps:
            share = f"{look.shown(j)} has {gaps} missing of {rows} values"
            cure = (
                leave_out if gaps == rows else "missing='drop' leaves those rows out, missing='model' draws the values"
            )
            yield Finding("missing", look.named(j), share, cure)
        if np.isinf(look.values[:, j]).any():
            count = int(np.isinf(look.values[:, j]).sum())
            message = f"{look.shown(j)} has {count} infinite value{'s' if count > 1 else ''}"
            yield Finding("infinite", look.named(j), message, "clip or drop them")


def _about_gaps(look: Look) -> Iterator[Finding]:
    """Share and pattern of missing values, and which can be predicted."""
    gone = look.frame.isna().to_numpy(dtype=bool)
    values = np.where(look.lacks & ~gone, np.nan, look.values)  # infinite values are no numbers to compare with
    for j in _positions(~look.usable):
        codes = pd.factorize(look.frame.iloc[:, j])[0]
        values[:, j] = np.where(codes < 0, np.nan, codes)
    seen = look_at_gaps(gone, values, look.names) if gone.size and not gone.all(axis=0).any() else None
    if seen is None or not seen.many:
        return
    cure = "missing='model' keeps all rows; missing='drop' keeps the complete ones"
    yield Finding("gap-pattern", tuple(name for name, _ in seen.columns), seen.pattern(), cure)
    for one in seen.predictable:
        cure = "use missing='model': rows without gaps are not typical of all, so dropping the others may mislead"
        yield Finding("predictable-gaps", (one.column, one.by), f"gaps can be predicted: {one}", cure)


def _about_derived(look: Look) -> Iterator[Finding]:
    """Columns that are functions of several others; copies, sums and functions of one have findings of their own."""
    some = sample(look.complete[:, look.varying])
    if len(some) < 30 or some.shape[1] < 2:
        return
    for one in find_derived(some, look.named(*look.numeric[look.varying])):
        if one.how == "indicators":
            yield Finding("indicators", (one.column, *one.of), str(one).partition(" (")[0], "merge them: merge=")
        elif one.how in ("product", "table") and len(one.of) > 1:
            cure = f"leave it out (drop={one.column!r}), or what it is computed from: nothing else made it"
            yield Finding("derived-column", (one.column, *one.of), str(one).partition(": ")[0], cure)


def _text_finding(look: Look, j: int, leave_out: str) -> Finding:
    """A column of text, with a cure that suits what the text looks like."""
    texts = look.frame.iloc[:, j].dropna().astype(str)
    first, categories = texts.iloc[0], texts.nunique()
    if texts.str.fullmatch(r"\s*[-+]?\d+,\d+\s*").mean() > 0.5:
        cure = "write 1.5 for 1,5"
    elif pd.to_numeric(texts, errors="coerce").notna().mean() > 0.5:
        odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
        cure = (
            f"correct what is not a number ({odd.iloc[0]!r}, ...), or {leave_out}"
            if len(odd)
            else "store it as numbers"
        )
    elif mostly_dates(texts):
        cure = f"count its days ({ask_for(look.names[j], 'date')}), or {leave_out}"
    elif categories > max(len(texts) / 2, MAX_CATEGORIES):
        cure = f"it names the rows: {leave_out}"
    else:
        cure = f"ConditionalTuning takes it as categories, or kinds= names its levels; other methods: {leave_out}"
    message = f"{look.shown(j)} holds text ({categories} different values, the first {first!r})"
    return Finding("non-numeric", look.named(j), message, cure)


def _about_single_columns(look: Look) -> Iterator[Finding]:
    """Columns that hardly vary, count the rows, take few values, or have values far from the rest."""
    tests = max(int(look.usable.sum()), 1)
    for j in _positions(look.usable):
        column = look.column(j)
        if not len(column):
            continue
        different, counts = np.unique(column, return_counts=True)
        leave_out = f"leave it out (drop={look.shown(j)})"
        top, share = different[counts.argmax()], counts.max() / len(column)
        if len(different) == 1:
            yield Finding("constant", look.named(j), f"{look.shown(j)} is {top:g} in every row", leave_out)
        elif share >= _NEARLY_CONSTANT:
            message = f"{look.shown(j)} is {top:g} in {share:.1%} of rows"
            yield Finding("near-constant", look.named(j), message, leave_out)
        elif len(column) > 2 and len(column) == len(look.values) and _counts_rows(column):
            yield Finding("row-number", look.named(j), f"{look.shown(j)} counts the rows", leave_out)
        else:
            yield from _about_ties(look, j, different, counts)
            yield from _about_tails(look, j, column, tests)


def _positions(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags).tolist()


def _counts_rows(column: np.ndarray) -> bool:
    """Whether the values go up or down by the same step from row to row."""
    steps = np.diff(column)
    return bool(steps[0] != 0 and (steps == steps[0]).all())


def _about_ties(look: Look, j: int, different: np.ndarray, counts: np.ndarray) -> Iterator[Finding]:
    """Few different values, one very frequent value, or rounding."""
    rows = int(counts.sum())
    tied = float(((counts / rows) ** 2).sum())
    share = counts.max() / rows
    if len(different) <= MAX_CATEGORIES and len(different) < rows / 2:
        values = "two values" if len(different) == 2 else f"{len(different)} different values"
        cure = "ConditionalTuning takes it by its kind (kinds=); other methods doubt it: leave it out for them"
        yield Finding("discrete", look.named(j), f"{look.shown(j)} takes only {values}", cure)
    elif rows >= 30 and share > 0.1:
        top = different[counts.argmax()]
        cure = "if it means 'below the limit' or 'not measured', leave those rows out or model them separately"
        yield Finding("ties", look.named(j), f"{look.shown(j)} is {top:g} in {share:.0%} of rows", cure)
    elif rows >= 100 and 1 / tied < 30:
        cure = "use the values before rounding, if you have them: directions depend on the shape of the noise"
        message = f"{look.shown(j)} is rounded: two rows agree in {tied:.0%} of cases"
        yield Finding("ties", look.named(j), message, cure)


def _about_tails(look: Look, j: int, column: np.ndarray, tests: int) -> Iterator[Finding]:
    """Single values far from the rest, or heavy tails."""
    far = far_out(column, tests)
    if not far.any():
        return
    count, share = int(far.sum()), float(far.mean())
    if share <= max(0.002, 1.5 / len(column)):
        where = np.flatnonzero(~look.lacks[:, j])[far]
        rows = ", ".join(map(str, where[:5] + 1)) + (", ..." if count > 5 else "")
        message = f"{look.shown(j)} has {count} value{'s' if count > 1 else ''} far from the rest (row {rows})"
        cure = f"correct or leave out the row{'s' if count > 1 else ''} if mistaken; otherwise {_taming(column, tests)}"
        yield Finding("outliers", look.named(j), message, cure)
    else:
        message = f"{look.shown(j)} has heavy tails: {share:.1%} of values are where a Gaussian has none"
        yield Finding("heavy-tails", look.named(j), message, _taming(column, tests))


def _taming(column: np.ndarray, tests: int) -> str:
    """The mildest transform that leaves no value far out: a logarithm, the inverse hyperbolic sine, or ranks."""
    scale = 1.4826 * np.median(np.abs(column - np.median(column)))
    candidates = []
    if column.min() > 0:
        candidates.append(("its logarithm, log(x)", np.log(column)))
    elif column.min() >= 0:
        candidates.append(("log(1 + x)", np.log1p(column)))
    candidates.append((f"asinh(x / {scale:.3g})", np.arcsinh(column / scale)))
    for words, changed in candidates:
        if not far_out(changed, tests).any():
            return f"use {words}"
    return "use its ranks (normal scores), which ignore the distances"


def _about_rows(look: Look) -> Iterator[Finding]:
    """Too few rows, repeated rows, rows that resemble the next."""
    rows, width = look.values.shape[0], int(look.usable.sum())
    if few_rows(rows, width, per_column=2):
        cure = "find more rows, or fewer columns (columns=)"
        yield Finding("few-rows", (), f"{rows} rows are few for {width} columns", cure)
    yield from _about_repeated_rows(look)
    yield from _about_neighbours(look)


def _about_repeated_rows(look: Look) -> Iterator[Finding]:
    """Repeated rows, if some column has so many different values that this can't be chance."""
    repeated = look.frame.duplicated().to_numpy()
    if not repeated.any() or not look.usable.any():
        return
    once = look.values[~repeated][:, look.usable]
    finest = max(len(np.unique(column[np.isfinite(column)])) / len(once) for column in once.T)
    if finest > 0.95:
        first = int(repeated.argmax()) + 1
        message = f"{int(repeated.sum())} rows are copies of earlier ones (the first is row {first})"
        cure = "leave them out: copies make every test overconfident"
        yield Finding("duplicate-rows", (), message, cure)


def _about_neighbours(look: Look) -> Iterator[Finding]:
    """Whether a row resembles the next: the correlation of successive ranks is about N(-1/n, 1/n) if it does not."""
    tests = max(len(look.numeric), 1)
    for j in look.numeric.tolist():
        column = look.column(j)
        if len(column) < 20 or (len(column) == len(look.values) and _counts_rows(column)):
            continue
        lag = lag_correlation(column)
        p = float(2 * stats.norm.sf(abs(lag + 1 / len(column)) * np.sqrt(len(column))))
        if p < RISK / tests and abs(lag) > _SERIAL:
            yield Finding(
                "serial-dependence",
                look.named(j),
                f"{look.shown(j)} resembles its value in the next row (rank correlation {lag:.2f})",
                f"a time series? draw so many successive rows together (blocks={block_length(lag, len(column))}), or "
                "learn from differences; batches or subjects? name their column (groups=); a sorted file? nothing "
                "is wrong, but shuffle before you split it",
            )


def _about_pairs(look: Look) -> Iterator[Finding]:
    """Columns that others determine: copies, functions of one another, linear functions of all others."""
    some = sample(look.complete[:, look.varying])
    position = look.numeric[look.varying]
    if len(some) < 10 or some.shape[1] < 2:
        return
    same, functions = copies(some), explained_shares(some)
    told = np.zeros(some.shape[1], dtype=bool)
    for a, b in np.argwhere(np.triu(same)):
        told[[a, b]] = True
        message = f"{look.shown(position[b])} is a copy of {look.shown(position[a])} (up to scale)"
        cure = f"keep one of them (drop={look.shown(position[b])})"
        yield Finding("duplicate-column", look.named(position[a], position[b]), message, cure)
    for a, b in np.argwhere(np.triu(np.maximum(functions, functions.T) > _NEARLY_A_FUNCTION) & ~same):
        told[[a, b]] = True
        cause, effect = (a, b) if functions[a, b] >= functions[b, a] else (b, a)
        message = (
            f"{look.shown(position[effect])} is nearly a function of {look.shown(position[cause])} "
            f"({functions[cause, effect]:.1%} of its ranks' variance)"
        )
        cure = f"keep one of them (drop={look.shown(position[effect])}): their direction can't be told from noise"
        yield Finding("near-deterministic", look.named(position[cause], position[effect]), message, cure)
    for a in np.flatnonzero((adjusted_r2(some) > _NEARLY_COLLINEAR) & ~told):
        message = f"{look.shown(position[a])} is nearly a linear function of the other columns (a sum of some?)"
        cure = f"leave it out (drop={look.shown(position[a])}), or the columns it is computed from"
        yield Finding("collinear", look.named(position[a]), message, cure)


def _about_scale(look: Look) -> Iterator[Finding]:
    """Standard deviations so different that sorting by them gives an order, whatever causes what."""
    if len(look.varying) < 2:
        return
    spread = standard_deviations(look.complete[:, look.varying])
    wide, narrow = int(spread.argmax()), int(spread.argmin())
    if spread[wide] > _SPREAD * spread[narrow]:
        a, b = look.numeric[look.varying[[wide, narrow]]]
        message = f"{look.shown(a)} varies {spread[wide] / spread[narrow]:.3g} times as much as {look.shown(b)}"
        cure = "use standardize=True unless the units are comparable: otherwise scale, not cause, may decide"
        yield Finding("scale-spread", look.named(a, b), message, cure)


def sortability_of(look: Look, truth: Any) -> dict[str, float]:
    """How well sorting by variance and by R2 gives the true order; refused if a column is not numeric."""
    from dagtune.simulate import r2_sortability, var_sortability

    frame = pd.DataFrame(look.complete[:, look.varying], columns=look.named(*look.numeric[look.varying]))
    if frame.shape[1] < len(look.names):
        raise InputError("sortability needs numbers in every column: correct or drop those that the audit names")
    return {"var": float(var_sortability(frame, truth)), "r2": float(r2_sortability(frame, truth))}


def about_sortability(sortability: dict[str, float]) -> Iterator[Finding]:
    """Whether sorting the columns nearly gives the true order."""
    words = {"var": "variance", "r2": "how well the others predict them (R2)"}
    cures = {
        "var": "use standardize=True, and compare with the method variance-sorted",
        "r2": "compare with the method r2-sortnregress: standardizing does not help",
    }
    for name, value in sortability.items():
        if abs(value - 0.5) > _SORTABLE - 0.5:
            message = f"sorting columns by {words[name]} nearly gives the true order ({name}-sortability {value:.2f})"
            yield Finding(f"{name}-sortable", (), message, cures[name])


#: The checks of the values, in the order in which they run.
CHECKS = (_about_values, _about_gaps, _about_single_columns, _about_rows, _about_pairs, _about_derived, _about_scale)


def _taken_as(column: pd.Series) -> str:
    """The kind that is inferred; empty if the column is refused."""
    try:
        return infer_kind(column.dropna(), "")
    except InputError:
        return ""


def summaries(look: Look) -> tuple[Column, ...]:
    """A summary of each column."""
    r2 = np.full(len(look.names), np.nan)
    if len(look.varying) > 1 and len(look.complete) > len(look.varying):
        r2[look.numeric[look.varying]] = adjusted_r2(sample(look.complete[:, look.varying]))
    described = []
    for j, name in enumerate(look.names):
        whole, column = look.frame.iloc[:, j], look.column(j)
        numbers: dict[str, float | None] = {}
        if look.usable[j] and len(column):
            numbers = {
                "smallest": float(column.min()),
                "median": float(np.median(column)),
                "largest": float(column.max()),
                "deviation": float(standard_deviations(column[:, None])[0]),
                "r2": None if np.isnan(r2[j]) else float(r2[j]),
            }
        kind = "text" if not look.usable[j] else "whole numbers" if (column == np.round(column)).all() else "numbers"
        described.append(Column(name, kind, int(whole.isna().sum()), int(whole.nunique()), _taken_as(whole), **numbers))
    return tuple(described)
