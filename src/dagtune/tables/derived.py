"""Columns that are functions of others: copies, sums, products and ratios, cuts, tables, and groups of indicators.

A mechanism with noise is not what made such a column, so directions at it mean little. What is looked for, with the
share of a variance that may be left by rounding:

- *copy*: the same up to shift and scale;
- *sum*: y = c + sum of w_k x_k;
- *product*: log |y| = c + sum of w_k log |x_k| for positive columns: products, ratios, powers;
- *cut*: y has a few levels, and is a step function of x;
- *table*: rows with the same values of x_1, ..., x_k have the same y, with many rows alike;
- *indicators*: columns of 0 and 1 of which no row has two.

Which of the columns was computed is known if only one of them can have been: a cut and a table can't be undone; of
amounts that are never negative only the total is a sum of the others without a minus sign. Otherwise it is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dagtune.text import printable

__all__ = ["Derived", "find_derived"]

#: Share of a variance that an exact relation may leave, and at most one between columns that were rounded.
_EXACT, _NEARLY = 1e-9, 1e-4
#: Most rows looked at, evenly spread; fewest rows for each column of a relation.
_ROWS, _FEWEST = 5000, 5
#: Rows below which nothing is looked for: chance would find something.
_FEW = 20
#: Most columns of a relation.
_MOST = 8
#: Rows that two indicators would share by chance, from which that they share none means something.
_BY_CHANCE = 10.0
#: Pairs of rows that chance would make differ, from which that none does means something.
_DIFFERENT = 50


@dataclass(frozen=True)
class Derived:
    """A column that is a function of others.

    Parameters
    ----------
    how : {"copy", "sum", "product", "cut", "table", "indicators"}
    column : str
        The column; of indicators the first.
    of : tuple of str
        What it is a function of.
    known : bool
        Whether only this column of them can have been computed from the others.
    exact : bool
        Whether nothing but rounding errors of a computer is left.
    """

    how: str
    column: str
    of: tuple[str, ...]
    known: bool
    exact: bool

    def __str__(self) -> str:
        names = ", ".join(map(printable, self.of))
        column = printable(self.column)
        if self.how == "indicators":
            return (
                f"{column}, {names} are 0 and 1, and no row has two of them: they are one variable "
                f"(merge={{'name': [{', '.join(map(repr, (self.column, *self.of)))}]}})"
            )
        what = {
            "copy": f"a copy of {names}",
            "sum": f"a sum of {names}",
            "product": f"a product or ratio of {names}",
            "cut": f"{names} cut into levels",
            "table": f"a function of {names}",
        }[self.how]
        after = "it was put after them" if self.known else "which of them was computed is open, and so are directions"
        return f"{column} is {'' if self.exact else 'nearly '}{what}: {after}"


def find_derived(values: np.ndarray, names: Sequence[str], quantitative: np.ndarray | None = None) -> list[Derived]:
    """Columns of a table that are functions of others.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        Without gaps.
    names : sequence of str
    quantitative : ndarray of bool, shape (columns,), optional
        Which columns are amounts, not codes of categories; all, if it is not given.

    Returns
    -------
    list of Derived
        Each column at most once as what is derived.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).exponential(size=(100, 2))
    >>> print(*find_derived(np.column_stack([x, x.sum(axis=1)]), ["a", "b", "total"]))
    total is a sum of a, b: it was put after them
    """
    n = len(values)
    if n < _FEW:
        return []
    some = values[np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp)]
    amounts = np.ones(some.shape[1], dtype=bool) if quantitative is None else quantitative
    counts = np.array([len(np.unique(column)) for column in some.T])
    found: list[Derived] = []
    told: set[int] = set()
    with np.errstate(over="ignore", invalid="ignore"):  # a column of huge numbers is no function of others
        for search in (_indicators, _copies, _sums, _products, _cuts, _tables):
            for how, y, S, known, exact in search(some, amounts, counts, told):
                told.add(y)
                if how == "indicators":
                    told.update(S)
                found.append(Derived(how, names[y], tuple(names[k] for k in S), known, exact))
    return found


Found = Iterator[tuple[str, int, list[int], bool, bool]]


def _indicators(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """Columns of 0 and 1 of which no row has two, although chance would give some."""
    flags = [j for j in range(X.shape[1]) if counts[j] == 2 and set(np.unique(X[:, j])) == {0.0, 1.0}]
    left = set(flags)
    shares = X.mean(axis=0)
    for j in flags:
        if j not in left:
            continue
        group, taken = [j], X[:, j] > 0
        for k in flags:
            if k in left and k not in group and not (taken & (X[:, k] > 0)).any():
                group.append(k)
                taken = taken | (X[:, k] > 0)
        whole = bool(taken.all())
        rare = min((len(X) * shares[a] * shares[b] for a, b in combinations(group, 2)), default=0.0)
        if len(group) >= 3 and (whole or rare >= _BY_CHANCE):
            left -= set(group)
            yield "indicators", group[0], group[1:], False, True
        elif len(group) == 2 and whole:
            left -= set(group)
            yield "copy", group[1], [group[0]], False, True


def _copies(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """The same column up to shift and scale."""
    some = [j for j in range(X.shape[1]) if j not in told and counts[j] > 1]
    Z = _unit(X[:, some])
    same = np.abs(Z.T @ Z) > 1 - 1e-10
    for b in range(len(some)):
        first = int(np.argmax(same[: b + 1, b]))
        if first < b and (amounts[some[b]] or np.array_equal(X[:, some[b]], X[:, some[first]])):
            yield "copy", some[b], [some[first]], False, True


def _sums(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """Linear functions of others."""
    some = [j for j in range(X.shape[1]) if j not in told and amounts[j] and counts[j] > 2]
    for y, S, w, share in _linear(X, some, [_step(X[:, j]) / X[:, j].std() for j in some]):
        signs = np.sign(w)
        never_negative = bool((X[:, [y, *S]] >= 0).all())
        known = never_negative and bool((signs > 0).all()) and len(S) > 1
        yield "sum", y, S, known, share < _EXACT


def _products(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """Products, ratios and powers of positive columns."""
    some = [j for j in range(X.shape[1]) if j not in told and amounts[j] and counts[j] > 2 and X[:, j].min() > 0]
    logs = np.zeros_like(X)
    logs[:, some] = np.log(X[:, some])
    steps = [_step(X[:, j]) / np.median(X[:, j]) / max(logs[:, j].std(), 1e-300) for j in some]
    for y, S, _, share in _linear(logs, some, steps):
        yield "product", y, S, False, share < _EXACT


def _step(x: np.ndarray) -> float:
    """The unit that numbers were rounded to: a power of ten; 0 if there is none."""
    for unit in 10.0 ** np.arange(3, -7, -1):
        if np.allclose(x / unit, np.round(x / unit), rtol=0, atol=1e-6):
            return float(unit)
    return 0.0


def _linear(X: np.ndarray, some: list[int], steps: list[float]) -> Iterator[tuple[int, list[int], np.ndarray, float]]:
    """Each linear relation once: the column that comes last in it if it is a total, its others, weights and share left.

    Columns are tried as the effect one by one; a relation whose columns were told is not told again. What is left must
    not be more than rounding explains: by the ``steps`` of the columns, in units of their standard deviations.
    """
    if len(some) < 2 or len(X) < _FEWEST * len(some):
        return
    Z = _unit(X[:, some])
    relations: list[tuple[set[int], tuple[int, list[int], np.ndarray, float]]] = []
    for a in range(len(some)):
        others = [b for b in range(len(some)) if b != a]
        most = min(max(_EXACT, sum(step**2 for step in steps)), _NEARLY)
        if _left(Z, a, others) > most:
            continue
        kept = list(others)
        for b in others:  # what is not needed goes
            rest = [c for c in kept if c != b]
            if rest and _left(Z, a, rest) < most:
                kept = rest
        most = max(_EXACT, sum(steps[b] ** 2 for b in (a, *kept)))
        if _left(Z, a, kept) > most:
            continue
        w = np.linalg.lstsq(Z[:, kept], Z[:, a], rcond=None)[0]
        if len(kept) <= _MOST:
            relations.append(({a, *kept}, (some[a], [some[b] for b in kept], w, _left(Z, a, kept))))
    seen: list[set[int]] = []
    for members, found in sorted(relations, key=lambda each: (-float((each[1][2] > 0).mean()), -each[1][0])):
        if members not in seen:
            seen.append(members)
            yield found


def _left(Z: np.ndarray, a: int, S: list[int]) -> float:
    """Share of column a that is no linear function of the columns S."""
    w = np.linalg.lstsq(Z[:, S], Z[:, a], rcond=None)[0]
    return float(np.sum((Z[:, a] - Z[:, S] @ w) ** 2))


def _cuts(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """A column of a few levels that is a step function of another."""
    for y in range(X.shape[1]):
        if y in told or not 2 <= counts[y] <= 12 or np.bincount(np.unique(X[:, y], return_inverse=True)[1]).min() < 5:
            continue
        for x in range(X.shape[1]):
            if x != y and amounts[x] and counts[x] > 3 * counts[y] and _steps(X[:, x], X[:, y]) == counts[y] - 1:
                yield "cut", y, [x], True, True
                break


def _steps(x: np.ndarray, y: np.ndarray) -> int:
    """How often y changes along x; rows with equal x and different y count as many."""
    order = np.lexsort([y, x])
    x, y = x[order], y[order]
    changes = np.diff(y) != 0
    return int(changes.sum() + (changes & (np.diff(x) == 0)).sum())


def _tables(X: np.ndarray, amounts: np.ndarray, counts: np.ndarray, told: set[int]) -> Found:
    """Rows that agree in one to three columns agree in another, and many rows agree."""
    n = len(X)
    few = [j for j in range(X.shape[1]) if j not in told and 1 < counts[j] <= n / 10]
    codes = {j: np.unique(X[:, j], return_inverse=True)[1] for j in few}
    done: set[int] = set()
    for size in range(1, 4 if len(few) <= 12 else 2):
        for S in combinations(few, size):
            if done & set(S):
                continue
            groups = _groups([codes[j] for j in S])
            if groups.max() + 1 > n / 4:
                continue
            order = np.argsort(groups, kind="stable")
            starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
            for y in few:
                if y in S or y in done or counts[y] <= 2 or not _by_design(codes[y], n - len(starts)):
                    continue
                c = codes[y][order]
                if np.array_equal(np.maximum.reduceat(c, starts), np.minimum.reduceat(c, starts)):
                    done.add(y)
                    known = counts[y] < len(starts) or size > 1
                    yield "table", y, list(S), known, True


def _by_design(y: np.ndarray, pairs: int) -> bool:
    """Whether chance would hardly make y the same in so many pairs of rows: fifty of them should differ."""
    return pairs * (1 - float(((np.bincount(y) / len(y)) ** 2).sum())) > _DIFFERENT


def _groups(codes: Sequence[np.ndarray]) -> np.ndarray:
    """(rows,) a number for each combination of codes."""
    found = np.zeros(len(codes[0]), dtype=np.int64)
    for one in codes:
        found = np.unique(found * (one.max() + 1) + one, return_inverse=True)[1]
    return found


def _unit(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and sum of squares 1."""
    Z = X - X.mean(axis=0)
    Z /= np.maximum(np.abs(Z).max(axis=0), 1e-300)
    return Z / np.maximum(np.sqrt((Z**2).sum(axis=0)), 1e-300)
