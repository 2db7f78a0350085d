"""What is wrong with this table, before anyone learns from it.

Every finding has a stable code (docs/cli.md lists them), the columns it is about, what was seen, and a cure. Tests of
many columns share one small risk of a false alarm: a clean Gaussian table gives no finding.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dagtune.tables import MAX_CATEGORIES, load_frame
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["CODES", "Audit", "Column", "Finding", "audit"]

#: Every code, and how serious it is: "error" stops a learner, "warning" misleads it, "note" is good to know.
CODES = {
    "encoding": "warning",
    "no-header": "warning",
    "unnamed-column": "error",
    "duplicate-name": "error",
    "non-numeric": "error",
    "missing": "error",
    "infinite": "error",
    "constant": "error",
    "near-constant": "warning",
    "few-rows": "warning",
    "row-number": "warning",
    "duplicate-rows": "warning",
    "duplicate-column": "warning",
    "near-deterministic": "warning",
    "collinear": "warning",
    "discrete": "warning",
    "ties": "warning",
    "outliers": "warning",
    "heavy-tails": "warning",
    "serial-dependence": "warning",
    "scale-spread": "note",
    "var-sortable": "note",
    "r2-sortable": "note",
}

#: Chance that one kind of test raises a false alarm somewhere in a clean table.
_RISK = 1e-3
#: Rows that are looked at for pairs of columns; more would say the same.
_SAMPLE = 20_000
#: Share of one value from which a column hardly varies.
_NEARLY_CONSTANT = 0.95
#: Different values up to which a column is discrete.
_FEW_VALUES = 20
#: Share of a column's variance that another one (or all others) explains when it is nearly a function of it.
_NEARLY_A_FUNCTION = 0.98
_NEARLY_COLLINEAR = 0.999
#: Correlation of a row with the next below which dependence does no harm, however sure it is.
_SERIAL = 0.1
#: Ratio of the largest to the smallest standard deviation from which scale alone can order the columns.
_SPREAD = 10.0
#: What pandas calls objects that are all real numbers; learners take them too.
_REAL = ("boolean", "floating", "integer", "mixed-integer-float")
#: Sortability from which a method can win by sorting alone.
_SORTABLE = 0.9


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: ``code`` is stable, ``columns`` are names, ``cure`` says what to do."""

    code: str
    columns: tuple[str, ...]
    message: str
    cure: str

    @property
    def severity(self) -> str:
        """ "error" stops a learner, "warning" misleads it, "note" is good to know."""
        return CODES[self.code]

    def __str__(self) -> str:
        return f"{self.severity} [{self.code}] {self.message}: {self.cure}"


@dataclass(frozen=True)
class Column:
    """One column at a glance; numbers are None for text, and leave missing and infinite values out."""

    name: str
    kind: str
    missing: int
    distinct: int
    smallest: float | None = None
    median: float | None = None
    largest: float | None = None
    deviation: float | None = None
    #: How much of the column's variance a linear function of all others explains, adjusted for their number.
    r2: float | None = None


@dataclass(frozen=True)
class Audit:
    """A table at a glance, and what is wrong with it; ``print`` shows both."""

    rows: int
    columns: tuple[Column, ...]
    findings: tuple[Finding, ...]
    source: str = ""
    #: "var" and "r2" sortability, where a true graph was given.
    sortability: dict[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self) -> str:
        """JSON text: rows, columns, findings with their severity, sortability."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "source": self.source,
            "rows": self.rows,
            "columns": [asdict(column) for column in self.columns],
            "findings": [
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "columns": list(finding.columns),
                    "message": finding.message,
                    "cure": finding.cure,
                }
                for finding in self.findings
            ],
            "sortability": self.sortability,
            "clean": self.clean,
        }

    def __str__(self) -> str:
        lines = [f"{self.rows} rows, {len(self.columns)} columns", *_column_lines(self.columns), *self._sorting_lines()]
        if self.clean:
            return "\n".join([*lines, "Nothing found."])
        lines += [f"{len(self.findings)} finding{'s' if len(self.findings) > 1 else ''}:"]
        for (_, cure), alike in itertools.groupby(self.findings, key=lambda finding: (finding.code, finding.cure)):
            lines += [f"  {finding.severity} [{finding.code}] {finding.message}" for finding in alike]
            lines += [f"      -> {cure}"]
        return "\n".join(lines)

    def _sorting_lines(self) -> list[str]:
        """How far columns could be put in order by their variance, or by how well the others predict them."""
        if self.sortability:
            told = ", ".join(f"{name}-sortability {value:.2f}" for name, value in self.sortability.items())
            return [f"{told} (1/2: sorting says nothing about the true graph; near 0 or 1: it gives it away)"]
        spread = [column.deviation for column in self.columns if column.deviation]
        r2 = [column.r2 for column in self.columns if column.r2 is not None]
        if len(spread) < 2 or not r2:
            return []
        return [
            f"deviations differ by a factor of {max(spread) / min(spread):.3g}, R2 on the others lies between "
            f"{min(r2):.2f} and {max(r2):.2f}: the further apart, the more a method that sorts by them is led by scale "
            "or noise"
        ]


def audit(
    table: Any,
    *,
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    truth: Any = None,
    progress: Callable[[str, float], None] | None = None,
) -> Audit:
    """Look at a DataFrame, an array, or the path of a table; nothing in it is refused, it is reported.

    ``truth``, a graph of the columns where one is known (``A[i, j]`` means ``i -> j``), adds the data's sortability.
    ``progress`` is called as progress(phase, share done).
    """
    tell = progress or (lambda phase, share: None)
    source = ""
    found: list[Finding] = []
    if isinstance(table, (str, os.PathLike)):
        source = str(table)
        frame, found = _load(Path(table), sep, columns, drop, lambda share: tell("reading", share))
    else:
        frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table))
        if not isinstance(table, pd.DataFrame):
            frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])])
    names = [str(name) for name in frame.columns]
    found += list(_about_names(names, bool(source)))
    values, usable = _numbers(frame)
    checks = (_about_values, _about_single_columns, _about_rows, _about_pairs, _about_scale)
    look = _Look(frame, names, values, usable)
    for done, check in enumerate(checks):
        tell("auditing", done / len(checks))
        found += list(check(look))
    sortability = {} if truth is None else _sortability(look, truth)
    found += list(_about_sortability(sortability))
    tell("auditing", 1.0)
    order = list(CODES)
    found.sort(key=lambda finding: order.index(finding.code))  # stable: columns stay in the table's order
    return Audit(len(frame), _at_a_glance(look), tuple(found), source, sortability)


# --- reading ----------------------------------------------------------------------------------------------------------


def _load(
    path: Path, sep: str | None, columns: Sequence[str] | None, drop: Sequence[str], progress: Callable[[float], None]
) -> tuple[pd.DataFrame, list[Finding]]:
    """The table as it stands in the file; text that is not UTF-8 is read as what it seems to be, and reported."""
    encoding = _encoding(path)
    frame = load_frame(path, sep=sep, columns=columns, drop=drop, encoding=encoding, progress=progress)
    if encoding == "utf-8":
        return frame, []
    cure = f"save it as UTF-8 (iconv -f {encoding} -t utf-8)"
    return frame, [Finding("encoding", (), f"the file is not UTF-8 text (it was read as {encoding})", cure)]


def _encoding(path: Path) -> str:
    """UTF-8 unless the file's bytes say otherwise; Latin-1 reads everything."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not path.is_file():
        return "utf-8"  # load_frame says what is wrong
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        with path.open(encoding="utf-8") as text:
            while text.read(2**20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _numbers(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) float64 with NaN for text columns, and which columns are numbers."""
    values = np.full(frame.shape, np.nan, order="F")
    usable = np.zeros(frame.shape[1], dtype=bool)
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in _REAL:
            column = pd.to_numeric(column)
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
            values[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            usable[j] = True
        elif column.isna().all():
            usable[j] = True  # nothing in it says text
    return values, usable


class _Look:
    """The table as the checks see it; ``whole`` are the numeric columns that vary and have every value."""

    def __init__(self, frame: pd.DataFrame, names: list[str], values: np.ndarray, usable: np.ndarray) -> None:
        self.frame, self.names, self.values, self.usable = frame, names, values, usable
        finite = np.isfinite(values)
        self.lacks = ~finite
        varies = np.array([len(np.unique(values[finite[:, j], j])) > 1 for j in range(len(names))], dtype=bool)
        self.numeric = np.flatnonzero(usable & varies)
        complete = finite[:, self.numeric].all(axis=1) if len(self.numeric) else np.zeros(len(values), dtype=bool)
        self.complete = values[np.ix_(complete, self.numeric)]
        #: Positions within ``complete`` of columns that still vary when rows with gaps are left out.
        self.varying = np.flatnonzero(_deviations(self.complete) > 0)

    def column(self, j: int) -> np.ndarray:
        """The finite values of column ``j``, in row order."""
        return self.values[~self.lacks[:, j], j]

    def named(self, *positions: int) -> tuple[str, ...]:
        return tuple(self.names[j] for j in positions)

    def shown(self, j: int) -> str:
        return repr(self.names[j])


# --- checks -----------------------------------------------------------------------------------------------------------


def _about_names(names: list[str], from_file: bool) -> Iterator[Finding]:
    for position, name in enumerate(names):
        if not name.strip():
            yield Finding(
                "unnamed-column",
                (name,),
                f"column {position + 1} has no name (row numbers, perhaps?)",
                f"name it, or leave it out (--drop {name!r})",
            )
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        cure = "rename the columns so that they differ"
        yield Finding("duplicate-name", (name,), f"{names.count(name)} columns are called {name!r}", cure)
    if from_file and names and all(re.fullmatch(r"\s*-?\d+\.\d*(e[-+]?\d+)?\s*", name, re.I) for name in names):
        cure = "put a row of names above the numbers"
        yield Finding("no-header", (), f"every column name is a number ({names[0]!r}, ...), so a row of data", cure)


def _about_values(look: _Look) -> Iterator[Finding]:
    """Text, gaps, infinities."""
    rows = len(look.frame)
    for j in range(len(look.names)):
        leave_out = f"leave it out (--drop {look.shown(j)})"
        gaps = int(look.frame.iloc[:, j].isna().sum())
        if not look.usable[j]:
            yield _text_finding(look, j, leave_out)
        if gaps:
            share = f"{look.shown(j)} has {gaps} missing of {rows} values"
            cure = leave_out if gaps == rows else "--missing drop leaves those rows out, --missing impute fills them in"
            yield Finding("missing", look.named(j), share, cure)
        if np.isinf(look.values[:, j]).any():
            count = int(np.isinf(look.values[:, j]).sum())
            message = f"{look.shown(j)} has {count} infinite value{'s' if count > 1 else ''}"
            yield Finding("infinite", look.named(j), message, "clip or drop them")


def _text_finding(look: _Look, j: int, leave_out: str) -> Finding:
    texts = look.frame.iloc[:, j].dropna().astype(str)
    first, levels = texts.iloc[0], texts.nunique()
    if texts.str.fullmatch(r"\s*[-+]?\d+,\d+\s*").mean() > 0.5:
        cure = "write 1.5 for 1,5"
    elif pd.to_numeric(texts, errors="coerce").notna().mean() > 0.5:
        odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
        cure = f"mend what is no number ({odd.iloc[0]!r}, ...), or {leave_out}" if len(odd) else "store it as numbers"
    elif levels == 2:
        cure = f"code its two values as 0 and 1, or {leave_out}"
    elif texts.str.fullmatch(r"\d{4}-\d{2}-\d{2}([ T].*)?").mean() > 0.5:
        cure = f"count the days since a date, or {leave_out}"
    elif levels <= MAX_CATEGORIES:
        cure = (
            f"code it as numbers if its values have an order; otherwise --categorical {look.shown(j)} if it can only "
            f"be a cause, or {leave_out}"
        )
    else:
        cure = f"code it as numbers only if its values have an order; otherwise {leave_out}"
    message = f"{look.shown(j)} holds text ({levels} different values, the first {first!r})"
    return Finding("non-numeric", look.named(j), message, cure)


def _about_single_columns(look: _Look) -> Iterator[Finding]:
    """Columns that hardly vary, count rows, take few values, or reach far out."""
    tests = max(int(look.usable.sum()), 1)
    for j in _positions(look.usable):
        column = look.column(j)
        if not len(column):
            continue
        different, counts = np.unique(column, return_counts=True)
        leave_out = f"leave it out (--drop {look.shown(j)})"
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
    steps = np.diff(column)
    return bool(steps[0] != 0 and (steps == steps[0]).all())


def _about_ties(look: _Look, j: int, different: np.ndarray, counts: np.ndarray) -> Iterator[Finding]:
    rows = int(counts.sum())
    tied = float(((counts / rows) ** 2).sum())
    share = counts.max() / rows
    if len(different) <= _FEW_VALUES and len(different) < rows / 2:
        values = "two values" if len(different) == 2 else f"{len(different)} different values"
        cure = "additive noise is doubtful for it: keep it as a cause (--tiers), or leave it out"
        yield Finding("discrete", look.named(j), f"{look.shown(j)} takes only {values}", cure)
    elif rows >= 30 and share > 0.1:
        top = different[counts.argmax()]
        cure = "if that stands for 'below the limit' or 'not measured', leave those rows out or model them apart"
        yield Finding("ties", look.named(j), f"{look.shown(j)} is {top:g} in {share:.0%} of rows", cure)
    elif rows >= 100 and 1 / tied < 30:
        cure = "use the values before rounding, if there are any; directions rest on the shape of the noise"
        message = f"{look.shown(j)} is rounded: two rows agree in {tied:.0%} of cases"
        yield Finding("ties", look.named(j), message, cure)


def _about_tails(look: _Look, j: int, column: np.ndarray, tests: int) -> Iterator[Finding]:
    far = _far_out(column, tests)
    if not far.any():
        return
    count, share = int(far.sum()), float(far.mean())
    if share <= max(0.002, 1.5 / len(column)):
        where = np.flatnonzero(~look.lacks[:, j])[far]
        rows = ", ".join(map(str, where[:5] + 1)) + (", ..." if count > 5 else "")
        message = f"{look.shown(j)} has {count} value{'s' if count > 1 else ''} far from the rest (row {rows})"
        cure = f"mend or leave out the row{'s' if count > 1 else ''} if mistaken; otherwise {_taming(column, tests)}"
        yield Finding("outliers", look.named(j), message, cure)
    else:
        message = f"{look.shown(j)} has heavy tails: {share:.1%} of values lie where a Gaussian has none"
        yield Finding("heavy-tails", look.named(j), message, _taming(column, tests))


def _far_out(column: np.ndarray, tests: int) -> np.ndarray:
    """Which values no Gaussian column of this length would have, but for a risk shared by ``tests`` columns.

    Distances are from the median in units of 1.4826 median absolute deviations, whose own error of about 1.17 / sqrt(n)
    widens the bound.
    """
    centre = np.median(column)
    scale = 1.4826 * np.median(np.abs(column - centre))
    if scale == 0 or len(column) < 20:
        return np.zeros(len(column), dtype=bool)
    bound = stats.norm.isf(_RISK / (2 * len(column) * tests)) * (1 + 4 / np.sqrt(len(column)))
    return np.abs(column - centre) > bound * scale


def _taming(column: np.ndarray, tests: int) -> str:
    """The mildest transform after which nothing lies far out: a logarithm, the inverse hyperbolic sine, or ranks."""
    scale = 1.4826 * np.median(np.abs(column - np.median(column)))
    candidates = []
    if column.min() > 0:
        candidates.append(("its logarithm, log(x)", np.log(column)))
    elif column.min() >= 0:
        candidates.append(("log(1 + x)", np.log1p(column)))
    candidates.append((f"asinh(x / {scale:.3g})", np.arcsinh(column / scale)))
    for words, changed in candidates:
        if not _far_out(changed, tests).any():
            return f"use {words}"
    return "use its ranks (normal scores), which forget the distances"


def _about_rows(look: _Look) -> Iterator[Finding]:
    """Too few, repeated, or following one another."""
    rows, width = look.values.shape[0], int(look.usable.sum())
    if rows < 50 or rows < 2 * width:
        cure = "find more rows, or fewer columns (--columns)"
        yield Finding("few-rows", (), f"{rows} rows are few for {width} columns", cure)
    yield from _about_repeated_rows(look)
    yield from _about_neighbours(look)


def _about_repeated_rows(look: _Look) -> Iterator[Finding]:
    """Rows that stand twice, where some column is so fine that this can't be chance."""
    repeated = look.frame.duplicated().to_numpy()
    if not repeated.any() or not look.usable.any():
        return
    once = look.values[~repeated][:, look.usable]
    finest = max(len(np.unique(column[np.isfinite(column)])) / len(once) for column in once.T)
    if finest > 0.95:
        first = int(repeated.argmax()) + 1
        message = f"{int(repeated.sum())} rows are copies of earlier ones (the first is row {first})"
        cure = "leave them out: copies make every test too sure"
        yield Finding("duplicate-rows", (), message, cure)


def _about_neighbours(look: _Look) -> Iterator[Finding]:
    """Does a row resemble the next? Correlation of ranks with the following rank, about N(-1/n, 1/n) if it does not."""
    tests = max(len(look.numeric), 1)
    for j in look.numeric.tolist():
        column = look.column(j)
        if len(column) < 20 or (len(column) == len(look.values) and _counts_rows(column)):
            continue
        ranks = stats.rankdata(column) - (len(column) + 1) / 2
        lag = float(ranks[:-1] @ ranks[1:] / (ranks @ ranks))
        p = float(2 * stats.norm.sf(abs(lag + 1 / len(column)) * np.sqrt(len(column))))
        if p < _RISK / tests and abs(lag) > _SERIAL:
            yield Finding(
                "serial-dependence",
                look.named(j),
                f"{look.shown(j)} resembles its value in the next row (rank correlation {lag:.2f})",
                "a time series? learn from rows far enough apart, or from differences; batches or a sorted file? learn "
                "from each batch apart, and shuffle before you cut the file",
            )


def _about_pairs(look: _Look) -> Iterator[Finding]:
    """Columns that others determine: copies, functions of one another, linear functions of all others."""
    sample = _sample(look.complete[:, look.varying])
    position = look.numeric[look.varying]
    if len(sample) < 10 or sample.shape[1] < 2:
        return
    copies, functions = _copies(sample), _functions(sample)
    told = np.zeros(sample.shape[1], dtype=bool)
    for a, b in np.argwhere(np.triu(copies)):
        told[[a, b]] = True
        message = f"{look.shown(position[b])} is a copy of {look.shown(position[a])} (up to scale)"
        cure = f"keep one of them (--drop {look.shown(position[b])})"
        yield Finding("duplicate-column", look.named(position[a], position[b]), message, cure)
    for a, b in np.argwhere(np.triu(np.maximum(functions, functions.T) > _NEARLY_A_FUNCTION) & ~copies):
        told[[a, b]] = True
        cause, effect = (a, b) if functions[a, b] >= functions[b, a] else (b, a)
        message = (
            f"{look.shown(position[effect])} is nearly a function of {look.shown(position[cause])} "
            f"({functions[cause, effect]:.1%} of its ranks' variance)"
        )
        cure = f"keep one of them (--drop {look.shown(position[effect])}): their direction can't be told from noise"
        yield Finding("near-deterministic", look.named(position[cause], position[effect]), message, cure)
    for a in np.flatnonzero((_adjusted_r2(sample) > _NEARLY_COLLINEAR) & ~told):
        message = f"{look.shown(position[a])} is nearly a linear function of the other columns (a sum of some?)"
        cure = f"leave it out (--drop {look.shown(position[a])}), or what it is made of"
        yield Finding("collinear", look.named(position[a]), message, cure)


def _sample(values: np.ndarray) -> np.ndarray:
    """At most _SAMPLE rows, evenly spread."""
    if len(values) <= _SAMPLE:
        return values
    return values[np.linspace(0, len(values) - 1, _SAMPLE).astype(np.intp)]


def _deviations(values: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, none of whose squares leaves a double; 0 without rows."""
    if not len(values):
        return np.zeros(values.shape[1])
    largest = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    return (values / largest).std(axis=0) * largest


def _unit(values: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and sum of squares 1; scaled twice, so that no square leaves a double."""
    centred = values / np.abs(values).max(axis=0)
    centred -= centred.mean(axis=0)
    centred /= np.abs(centred).max(axis=0)
    return centred / np.sqrt((centred**2).sum(axis=0))


def _copies(values: np.ndarray) -> np.ndarray:
    """Boolean (d, d): which columns are the same up to shift and scale."""
    unit = _unit(values)
    return (np.abs(unit.T @ unit) > 1 - 1e-10) & ~np.eye(values.shape[1], dtype=bool)


def _functions(values: np.ndarray) -> np.ndarray:
    """(d, d): share of the variance of column b's ranks that is a smooth function of column a.

    With rows in the order of a, half the mean squared step of b from row to row estimates the variance that a leaves
    (Rice 1984). Rows with equal a come in random order, so that no order of the file passes for a function.
    """
    n, d = values.shape
    ranks = np.column_stack([stats.rankdata(column) for column in values.T])
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    shuffled = np.random.default_rng(0).permutation(n)
    share = np.zeros((d, d))
    for a in range(d):
        in_order = ranks[np.lexsort((shuffled, values[:, a]))]
        share[a] = 1 - (np.diff(in_order, axis=0) ** 2).mean(axis=0) / 2
    np.fill_diagonal(share, 0.0)
    return share


def _adjusted_r2(values: np.ndarray) -> np.ndarray:
    """How well all other columns predict each one linearly: 1 - (1 - R2) (n - 1) / (n - d), at least 0; 0 if n <= d.

    1 - R2_j = 1 / (C^-1)_jj with C the correlation matrix; an exact relation has an eigenvalue 0, which is kept from
    dividing by zero.
    """
    n, d = values.shape
    if n <= d:
        return np.zeros(d)
    unit = _unit(values)
    weights, directions = np.linalg.eigh(unit.T @ unit)
    left = 1 / (directions**2 / np.maximum(weights, 1e-13)).sum(axis=1)
    return np.maximum(1 - left * (n - 1) / (n - d), 0.0)


def _about_scale(look: _Look) -> Iterator[Finding]:
    """Deviations so different that sorting by them gives an order, whatever causes what."""
    if len(look.varying) < 2:
        return
    spread = _deviations(look.complete[:, look.varying])
    wide, narrow = int(spread.argmax()), int(spread.argmin())
    if spread[wide] > _SPREAD * spread[narrow]:
        a, b = look.numeric[look.varying[[wide, narrow]]]
        message = f"{look.shown(a)} varies {spread[wide] / spread[narrow]:.3g} times as much as {look.shown(b)}"
        cure = "use --standardize unless the units are comparable: otherwise scale, not cause, may decide"
        yield Finding("scale-spread", look.named(a, b), message, cure)


def _sortability(look: _Look, truth: Any) -> dict[str, float]:
    """How far the true graph's order could be had by sorting; columns that are no numbers leave nothing to say."""
    from dagtune.simulate import r2_sortability, var_sortability

    frame = pd.DataFrame(look.complete[:, look.varying], columns=look.named(*look.numeric[look.varying]))
    if frame.shape[1] < len(look.names):
        raise InputError("sortability needs numbers in every column: mend or drop the columns the audit names first")
    return {"var": float(var_sortability(frame, truth)), "r2": float(r2_sortability(frame, truth))}


def _about_sortability(sortability: dict[str, float]) -> Iterator[Finding]:
    words = {"var": "variance", "r2": "how well the others predict them (R2)"}
    cures = {
        "var": "use --standardize, and compare with the method variance-sorted",
        "r2": "compare with the method r2-sortnregress: standardising does not help",
    }
    for name, value in sortability.items():
        if abs(value - 0.5) > _SORTABLE - 0.5:
            message = f"sorting columns by {words[name]} nearly gives the true order ({name}-sortability {value:.2f})"
            yield Finding(f"{name}-sortable", (), message, cures[name])


# --- at a glance ------------------------------------------------------------------------------------------------------


def _at_a_glance(look: _Look) -> tuple[Column, ...]:
    r2 = np.full(len(look.names), np.nan)
    if len(look.varying) > 1 and len(look.complete) > len(look.varying):
        r2[look.numeric[look.varying]] = _adjusted_r2(_sample(look.complete[:, look.varying]))
    described = []
    for j, name in enumerate(look.names):
        whole, column = look.frame.iloc[:, j], look.column(j)
        numbers: dict[str, float | None] = {}
        if look.usable[j] and len(column):
            numbers = {
                "smallest": float(column.min()),
                "median": float(np.median(column)),
                "largest": float(column.max()),
                "deviation": float(_deviations(column[:, None])[0]),
                "r2": None if np.isnan(r2[j]) else float(r2[j]),
            }
        kind = "text" if not look.usable[j] else "whole numbers" if (column == np.round(column)).all() else "numbers"
        described.append(Column(name, kind, int(whole.isna().sum()), int(whole.nunique()), **numbers))
    return tuple(described)


def _column_lines(columns: Sequence[Column], most: int = 40) -> list[str]:
    """A small table for people; a wide one is cut."""
    head = ["column", "kind", "missing", "distinct", "smallest", "median", "largest", "deviation", "R2"]
    rows = [head]
    for column in columns[:most]:
        numbers = (column.smallest, column.median, column.largest, column.deviation)
        shown = ["" if number is None else f"{number:.4g}" for number in numbers]
        r2 = "" if column.r2 is None else f"{column.r2:.2f}"
        rows.append([_cut(column.name), column.kind, str(column.missing), str(column.distinct), *shown, r2])
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths))]
        lines.append(f"  {'  '.join(cells).rstrip()}")
    return [*lines, f"  ... and {len(columns) - most} more"] if len(columns) > most else lines


def _cut(name: str, most: int = 30) -> str:
    text = printable(name)
    return text if len(text) <= most else f"{text[: most - 3]}..."
