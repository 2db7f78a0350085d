"""Additive smooth regressions answered from one feature Gram matrix.

Each variable becomes a few smooth functions of itself: a cubic B-spline basis turned so that, over the rows, the
functions are uncorrelated with mean 0 and variance 1, and each has a roughness of its own (Demmler and Reinsch 1975).
The first is the straight line, roughness 0; the others follow, smoothest first. With F (D, n) the functions of all
variables at the rows and y a standardised variable,

    G = F F^T / n,    b = F y / n

are sums over rows, and every penalised regression of any variable on any set S of others is a small linear system:

    minimise |y - F_S^T w|^2 / n + sum_k theta_k w_k^T diag(s_k) w_k,    w = (G_SS + P)^-1 b_S,

P diagonal, theta_k the smoothing parameter of variable k. Its residual variance V, effective degrees of freedom
``edf = tr((G_SS + P)^-1 G_SS)`` and ``GCV = V / (1 - (1 + edf) / n)^2`` need no row again. :func:`fit` chooses theta
by GCV; :func:`try_each` adds one more variable to a fit, for many candidates at once; :class:`Growing` takes
variables one after the other with theta given and answers for all targets together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import linalg

from dagtune.compiled import compiled
from dagtune.tables.rows import FEW_VALUES, MemoryRows, Rows
from dagtune.validation import InputError, check_choice, check_count

__all__ = [
    "LEAST",
    "P_SPLINE",
    "RIDGE",
    "ROOM",
    "THIN_PLATE",
    "Basis",
    "Categories",
    "Curve",
    "Gram",
    "Spline",
    "measure_basis",
    "measure_gram",
]

#: Added to the diagonal of G, whose own is 1: columns that copy each other still give a system with an answer.
RIDGE = 1e-8
#: The smallest share of a variance that sums over rows can distinguish from none; a copy of a parent keeps this much.
LEAST = 1e-12
#: The least share of the rows that degrees of freedom must leave to the noise, wherever one divides by that share.
ROOM = 0.05
#: Quantiles are taken from this many rows, or from all where there are no more.
_SAMPLE = 50_000
#: Functions with a smaller share of their variance on the rows than this exist only between the rows.
_SEEN = 1e-7
#: Knots are this share of the range apart at least: roughness goes with the inverse cube of their distance.
_APART = 1e-4
#: A smoothing parameter runs from "roughest function hardly touched" to "second smoothest function as good as gone".
_FREEST, _STRAIGHT = 1e-6, 1e6


@dataclass(frozen=True)
class Spline:
    """How a variable becomes functions: a cubic B-spline basis, of which the smoothest functions are kept.

    Parameters
    ----------
    splines : int
        Number of B-splines, at least 4.
    functions : int, optional
        How many functions are kept, the smoothest; by default all.
    knots : {"quantile", "uniform"}
        Knots at quantiles of the distinct values, or evenly spaced over the range.
    penalty : {"derivative", "difference"}
        The roughness of a function: the integral of its squared second derivative, in units of the variable's standard
        deviation, or the sum of the squared second differences of its coefficients. The latter needs uniform knots.

    Raises
    ------
    InputError
        If a number is too small or too large, or the penalty does not go with the knots.

    References
    ----------
    Eilers and Marx 1996, "Flexible smoothing with B-splines and penalties".

    Examples
    --------
    >>> Spline(10, knots="uniform", penalty="difference") == P_SPLINE
    True
    """

    splines: int
    functions: int | None = None
    knots: str = "quantile"
    penalty: str = "derivative"

    def __post_init__(self) -> None:
        check_count("splines", self.splines, least=4)
        if self.functions is not None:
            check_count("functions", self.functions, most=self.splines - 1)
        check_choice("knots", self.knots, ("quantile", "uniform"))
        check_choice("penalty", self.penalty, ("derivative", "difference"))
        if self.penalty == "difference" and self.knots != "uniform":
            raise InputError("penalty='difference' measures roughness on uniform knots only: pass knots='uniform'")


#: Like mgcv's s(x, k = 10): a thin plate regression spline keeps the smoothest functions of a rich basis.
THIN_PLATE = Spline(20, 9)
#: mgcv's s(x, bs = "ps"): ten B-splines, second differences.
P_SPLINE = Spline(10, knots="uniform", penalty="difference")


@dataclass(frozen=True, eq=False)
class Curve:
    """The functions of one variable. Beyond the range of the rows, a function keeps its last value.

    Parameters
    ----------
    knots : ndarray
        Knots of the B-splines.
    turn : ndarray, shape (splines, r)
        The functions are ``turn^T`` B-splines - ``centre``.
    centre : ndarray, shape (r,)
    roughness : ndarray, shape (r,)
        Roughness of each function; it ascends from 0.
    """

    knots: np.ndarray
    turn: np.ndarray
    centre: np.ndarray
    roughness: np.ndarray

    def values(self, x: np.ndarray) -> np.ndarray:
        """(r, rows) of the functions at ``x``, in the units of the table less the Gram's ``shift``."""
        return self.turn.T @ _cubic_splines(np.ascontiguousarray(x), self.knots) - self.centre[:, None]


@dataclass(frozen=True, eq=False)
class Categories:
    """The functions of one categorical variable: one fewer than it has categories, none rougher than another.

    Parameters
    ----------
    codes : ndarray, shape (k,)
        The codes of the categories, ascending, less the Gram's ``shift``.
    turn : ndarray, shape (k, k - 1)
        The values of the functions at each category, uncorrelated over the rows and of variance 1.
    """

    codes: np.ndarray
    turn: np.ndarray

    @property
    def roughness(self) -> np.ndarray:
        return np.zeros(self.turn.shape[1])

    def values(self, x: np.ndarray) -> np.ndarray:
        """(k - 1, rows) of the functions at ``x``; a value between two codes counts as the nearest."""
        return self.turn[np.searchsorted((self.codes[1:] + self.codes[:-1]) / 2, x)].T


@dataclass(frozen=True, eq=False)
class Gram:
    """All that regressions need to know about the rows of d variables, which have D functions F in all.

    Parameters
    ----------
    n : int
        Number of rows.
    products : ndarray, shape (D, D)
        F F^T / n.
    cross : ndarray, shape (D, d)
        F Y^T / n, Y being the standardised variables.
    roughness : ndarray, shape (D,)
        Roughness of each function.
    starts : ndarray of int, shape (d + 1,)
        The functions of variable j are those from starts[j] to starts[j + 1].
    shift, scale : ndarray, shape (d,)
        Mean and standard deviation (divisor n) of each variable.
    curves : tuple of Curve or Categories
        The functions of each variable.
    """

    n: int
    products: np.ndarray
    cross: np.ndarray
    roughness: np.ndarray
    starts: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    curves: tuple[Curve | Categories, ...]

    @property
    def width(self) -> int:
        """The number of variables."""
        return len(self.scale)

    def functions_of(self, variables: Sequence[int] | np.ndarray, at_most: int | None = None) -> list[np.ndarray]:
        """Positions of the functions of each variable, smoothest first; no more than ``at_most`` of each number."""
        blocks = []
        for variable in variables:
            start, end = self.starts[variable], self.starts[variable + 1]
            whole = at_most is None or isinstance(self.curves[variable], Categories)  # none is rougher than another
            blocks.append(np.arange(start, end if whole else min(end, start + at_most)))
        return blocks

    def bounds_of(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """(2, blocks): least and greatest log theta worth trying; both are 0 for a variable that is only a line."""
        found = np.zeros((2, len(blocks)))
        for k, block in enumerate(blocks):
            rough = self.roughness[block][self.roughness[block] > 0]
            if len(rough):
                found[:, k] = np.log(_FREEST / rough[-1]), np.log(_STRAIGHT / rough[0])
        return found


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions of all d variables, D in all.

    Parameters
    ----------
    curves : tuple of Curve or Categories
        The functions of each variable.
    shift, scale : ndarray, shape (d,)
        Mean and standard deviation (divisor n) of each variable.
    """

    curves: tuple[Curve | Categories, ...]
    shift: np.ndarray
    scale: np.ndarray

    @property
    def roughness(self) -> np.ndarray:
        """(D,): of each function."""
        return np.concatenate([curve.roughness for curve in self.curves])

    @property
    def starts(self) -> np.ndarray:
        """(d + 1,): the functions of variable j are those from starts[j] to starts[j + 1]."""
        return np.cumsum([0, *(len(curve.roughness) for curve in self.curves)])

    def functions(self, chunk: np.ndarray) -> np.ndarray:
        """(D, rows) of all functions at a chunk (d, rows)."""
        return np.concatenate([curve.values(x - at) for curve, x, at in zip(self.curves, chunk, self.shift)])


# --- from rows to the Gram matrix -----------------------------------------------------------------------------------


def measure_gram(X: np.ndarray | Rows, spline: Spline = THIN_PLATE, categorical: np.ndarray | None = None) -> Gram:
    """The Gram matrix of a table, in two passes over the rows once ranges and knots are known.

    Knots lie at quantiles of a sample of 50 000 rows, or of all where there are no more. So the share of the distinct
    values below a knot is off by at most 0.0073 with probability 0.99 (Dvoretzky, Kiefer and Wolfowitz), and the knots
    depend on the row numbers drawn, not on how the rows are cut.

    Parameters
    ----------
    X : ndarray, shape (n, d), or Rows
        No column may be constant.
    spline : Spline
        How numeric columns become functions.
    categorical : ndarray of bool, shape (d,), optional
        Which columns are categorical.

    Returns
    -------
    Gram

    References
    ----------
    Demmler and Reinsch 1975, "Oscillation matrices with spline smoothing".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> gram = measure_gram(np.column_stack([x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)]))
    >>> gram.n, gram.width, gram.products.shape
    (300, 3, (27, 27))
    """
    rows = X if isinstance(X, Rows) else MemoryRows(X)
    basis = measure_basis(rows, spline, categorical)

    def products(chunk: np.ndarray) -> list[np.ndarray]:
        F = basis.functions(chunk)
        return [F @ F.T, F @ ((chunk - basis.shift[:, None]) / basis.scale[:, None]).T]

    G, cross = (total / rows.count for total in rows.sum(products))
    return Gram(
        n=rows.count,
        products=(G + G.T) / 2,
        cross=cross,
        roughness=basis.roughness,
        starts=basis.starts,
        shift=basis.shift,
        scale=basis.scale,
        curves=basis.curves,
    )


def measure_basis(
    rows: Rows,
    spline: Spline = THIN_PLATE,
    categorical: np.ndarray | None = None,
    done: Callable[[float], None] | None = None,
) -> Basis:
    """The functions of each variable, from ranges, a sample and the products of its own splines over the rows.

    Parameters
    ----------
    rows : Rows
        No column may be constant.
    spline : Spline
        How numeric columns become functions.
    categorical : ndarray of bool, shape (d,), optional
        Which columns are categorical.
    done : callable, optional
        Called with the share of the rows that are behind.

    Returns
    -------
    Basis

    Examples
    --------
    >>> basis = measure_basis(MemoryRows(np.random.default_rng(0).normal(size=(300, 2))))
    >>> basis.functions(np.zeros((2, 1))).shape
    (18, 1)
    """
    ranges = rows.ranges()
    shift, scale = ranges.mean, ranges.scale
    n, d = rows.count, rows.width
    sample = rows.sample(_SAMPLE)
    smooth = [j for j in range(d) if categorical is None or not categorical[j]]
    knots = {
        j: _place_knots(spline, sample[j] - shift[j], ranges.low[j] - shift[j], ranges.high[j] - shift[j])
        for j in smooth
    }

    def spline_sums(chunk: np.ndarray) -> list[np.ndarray]:
        found = []
        for j in smooth:
            values = _cubic_splines(chunk[j] - shift[j], knots[j])
            found += [values.sum(axis=1), values @ values.T]
        for j in range(d):
            if j not in knots:
                found.append((chunk[j] == ranges.values[j][:, None]).sum(axis=1))
        return found

    for j in range(d):
        if j not in knots and not len(ranges.values[j]):
            raise InputError(f"a categorical column has more than {FEW_VALUES} categories: pool some of them")
    sums = iter(rows.sum(spline_sums, done))
    curves: dict[int, Curve | Categories] = {}
    for j in smooth:
        curves[j] = _turn_smoothest_first(spline, knots[j], scale[j], next(sums) / n, next(sums) / n)
    for j in range(d):
        if j not in knots:
            curves[j] = _category_functions(ranges.values[j], next(sums), shift[j])
    return Basis(tuple(curves[j] for j in range(d)), shift, scale)


def _place_knots(spline: Spline, sample: np.ndarray, low: float, high: float) -> np.ndarray:
    """Knot vector of a cubic B-spline basis over [low, high]."""
    pieces = spline.splines - 3
    if spline.knots == "uniform":  # mgcv widens the range by a thousandth on both sides
        margin = 0.001 * (high - low)
        step = (high - low + 2 * margin) / pieces
        return low - margin + step * np.arange(-3, pieces + 4)
    inner = np.quantile(np.unique(sample), np.arange(1, pieces) / pieces)
    apart, kept = _APART * (high - low), [low]
    for knot in inner:
        if kept[-1] + apart < knot < high - apart:
            kept.append(knot)
    return np.concatenate([np.full(4, low), kept[1:], np.full(4, high)])


def _turn_smoothest_first(
    spline: Spline, knots: np.ndarray, scale: float, mean: np.ndarray, square: np.ndarray
) -> Curve:
    """Demmler-Reinsch functions: uncorrelated over the rows and in the roughness, from the B-splines' moments.

    Both forms, the covariance C over the rows and the roughness P, are blind to constants, so a basis Q of the
    coefficients that sum to 0 comes first. A spline that no row touches has C = 0: ``P v = mu (C + kappa P) v`` has an
    answer all the same, ``mu = 1 / kappa`` there, and those functions are left out: no row can ask for them.
    """
    k = len(mean)
    Q = _no_constants(k)
    C = Q.T @ (square - np.outer(mean, mean)) @ Q
    P = Q.T @ _roughness(spline.penalty, knots, scale) @ Q
    kappa = np.trace(C) / np.trace(P)
    mu, vectors = linalg.eigh(P, C + kappa * P)
    vectors = vectors[:, 1 - kappa * mu > _SEEN][:, : spline.functions]
    spread = np.sum(vectors * (C @ vectors), axis=0)
    vectors /= np.sqrt(np.where(spread > 0, spread, np.nan))
    roughness = np.sum(vectors * (P @ vectors), axis=0)
    roughness[0] = 0.0  # the line, up to rounding
    # Where knots lie very unevenly, rounding spoils the roughest functions: they are left out.
    sound = int(np.argmin(np.append(roughness[1:] > np.maximum(roughness[:-1], 0), False))) + 1
    vectors, roughness = vectors[:, :sound], roughness[:sound]
    turn = Q @ vectors
    line = np.array([knots[a + 1 : a + 4].mean() for a in range(k)])  # x itself, in B-splines
    if line @ square @ turn[:, 0] - (line @ mean) * (mean @ turn[:, 0]) < 0:
        turn[:, 0] *= -1
    return Curve(knots, turn, turn.T @ mean, roughness)


def _category_functions(codes: np.ndarray, count: np.ndarray, shift: float) -> Categories:
    """Uncorrelated functions of the categories: eigenvectors of ``diag(p) - p p^T``, p their shares, but one."""
    share = count / count.sum()
    variance, vectors = np.linalg.eigh(np.diag(share) - np.outer(share, share))
    turn = vectors[:, 1:] / np.sqrt(variance[1:])
    return Categories(codes - shift, turn - share @ turn)


@cache
def _no_constants(k: int) -> np.ndarray:
    """(k, k - 1): an orthonormal basis of what sums to 0."""
    return linalg.null_space(np.ones((1, k)))


def _roughness(penalty: str, knots: np.ndarray, scale: float) -> np.ndarray:
    """(k, k) form: squared second differences of the coefficients, or the integral of f''^2 in standardised units."""
    k = len(knots) - 4
    if penalty == "difference":
        D = np.diff(np.eye(k), n=2, axis=0)
        return D.T @ D
    t = knots / scale
    slopes = 3 * np.diff(np.eye(k), axis=0) / (t[4 : k + 3] - t[1:k])[:, None]
    second = 2 * np.diff(slopes, axis=0) / (t[4 : k + 2] - t[2:k])[:, None]  # f'' at the knots, straight between them
    left, right = second[:-1], second[1:]
    third = np.diff(t[3 : k + 1])[:, None] / 3
    return left.T @ (third * (left + right / 2)) + right.T @ (third * (right + left / 2))


@compiled
def _cubic_splines(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(splines, rows) of the cubic B-splines at x, by Cox and de Boor's recursion; x beyond the ends is moved there."""
    k = len(knots) - 4
    out = np.zeros((k, len(x)))
    low, high = knots[3], knots[k]
    b = np.empty(4)
    for t in range(len(x)):
        v = min(max(x[t], low), high)
        m = 3
        while m < k - 1 and knots[m + 1] <= v:
            m += 1
        b[0] = 1.0
        for p in range(1, 4):
            saved = 0.0
            for r in range(p):
                right, left = knots[m + r + 1], knots[m + r + 1 - p]
                part = b[r] / (right - left)
                b[r] = saved + (right - v) * part
                saved = (v - left) * part
            b[p] = saved
        for r in range(4):
            out[m - 3 + r, t] = b[r]
    return out
