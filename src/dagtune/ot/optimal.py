"""The optimal phase: which pairs enter the skeleton, by problem (10) of the paper (see :mod:`dagtune.ot.losses`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.ot.gumbel import solve_gumbel, solve_gumbel_released
from dagtune.ot.losses import pair_vector, row_costs_of
from dagtune.ot.ties import tie_ranks
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["SOLVERS", "check_selection", "count_for_penalty", "penalty_for_count", "select_skeleton", "solve_exact"]

#: The closed form, the paper's solver, and the released script's, which solves another problem.
SOLVERS = ("exact", "gumbel", "released")


def select_skeleton(
    first: np.ndarray,
    *,
    penalty: float | None = None,
    n_pairs: int | float | None = None,
    alpha: float | None = None,
    pvalues: np.ndarray | None = None,
    solver: str = "exact",
    rng: Any = None,
    **solver_options: Any,
) -> np.ndarray:
    """The skeleton: which pairs of variables are connected.

    One of ``penalty``, ``n_pairs`` and ``alpha`` says how many pairs are kept. By default all are: that is the optimum
    of problem (10) once the penalty is large enough, and docs/ot.md says why it is the default.

    Parameters
    ----------
    first : ndarray, shape (d, d)
        First order HSIC; symmetric.
    penalty : float, optional
        Penalty of problem (10), at least 0.
    n_pairs : int or float, optional
        Keep so many pairs, or this share of them, those of smallest cost c_e first.
    alpha : float, optional
        Keep the pairs whose p-value is at most ``alpha``.
    pvalues : ndarray, shape (d, d), optional
        p-values of independence, for ``alpha``.
    solver : {"exact", "gumbel", "released"}
        How problem (10) is solved. "gumbel" gets the penalty whose optimum has ``n_pairs`` pairs. "released" solves the
        script's own problem and takes none of ``penalty``, ``n_pairs`` and ``alpha``.
    rng : int or Generator, optional
        Seed of the Gumbel solvers.
    solver_options
        Keywords of :func:`solve_gumbel` or :func:`solve_gumbel_released`.

    Returns
    -------
    ndarray of bool, shape (d, d)
        Symmetric.

    Raises
    ------
    InputError
        If more than one of the three is given, or a value makes no sense.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC", problem (10).

    Examples
    --------
    >>> first = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> select_skeleton(first, n_pairs=1)
    array([[False, False,  True],
           [False, False, False],
           [ True, False, False]])
    """
    check_selection(solver, penalty, n_pairs, alpha)
    A, d = pair_vector(first), len(first)
    if alpha is not None:
        if pvalues is None:
            raise InputError("alpha= needs the pvalues= it is compared with")
        return _skeleton(np.flatnonzero(pair_vector(pvalues) <= alpha), d)
    if solver == "released":
        return _skeleton(solve_gumbel_released(A, rng=rng, **solver_options).picks, d)
    if solver == "gumbel":
        aim = penalty_for_count(A, pair_count(n_pairs, len(A))) if penalty is None else check_penalty(penalty)
        return _skeleton(solve_gumbel(A, aim, rng=rng, **solver_options).picks, d)
    by_values = _ordered_by_values(first)  # both ways to solve take the first of equal pairs
    A = A[by_values]
    if penalty is not None:
        return _skeleton(by_values[solve_exact(A, check_penalty(penalty))], d)
    cheapest = np.argsort(row_costs_of(A), kind="stable")
    return _skeleton(by_values[cheapest[: pair_count(n_pairs, len(A))]], d)


def _ordered_by_values(first: np.ndarray) -> np.ndarray:
    """The pairs in an order that does not depend on the places of their columns."""
    ranks = tie_ranks(first)
    pairs = np.sort(ranks[np.stack(np.triu_indices(len(first), 1))], axis=0)
    return np.lexsort(pairs[::-1])


def check_selection(solver: Any, penalty: Any, n_pairs: Any, alpha: Any) -> None:
    """Check the options of :func:`select_skeleton`, before anything is measured.

    Parameters
    ----------
    solver, penalty, n_pairs, alpha
        As in :func:`select_skeleton`.

    Raises
    ------
    InputError
        If more than one of the last three is given, or a value makes no sense.

    Examples
    --------
    >>> check_selection("exact", penalty=None, n_pairs=3, alpha=None)
    """
    check_choice("solver", solver, SOLVERS)
    given = {"penalty": penalty, "n_pairs": n_pairs, "alpha": alpha}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} both say how many pairs to keep: pass only one of them")
    if chosen and solver == "released":
        raise InputError(f"solver='released' takes no {chosen[0]}: use solver='exact'")
    if penalty is not None:
        check_penalty(penalty)
    pair_count(n_pairs, 1)
    if alpha is not None and not (isinstance(alpha, (float, np.floating)) and 0 < alpha < 1):
        raise InputError(f"alpha must lie between 0 and 1, not {alpha!r}")


def check_penalty(penalty: Any) -> float:
    """``penalty`` as a finite number of at least 0."""
    if isinstance(penalty, bool) or not np.isscalar(penalty) or not 0 <= float(penalty) < np.inf:  # type: ignore[arg-type]
        raise InputError(f"penalty must be a number of at least 0, not {penalty!r}")
    return float(penalty)  # type: ignore[arg-type]


def pair_count(n_pairs: int | float | None, s: int) -> int:
    """How many of s pairs ``n_pairs`` means: a count, a share below 1 (rounded up), or None for all."""
    if n_pairs is None:
        return s
    if isinstance(n_pairs, (float, np.floating)):
        if not 0 < n_pairs < 1:
            raise InputError(f"n_pairs must be a count, or a share of the pairs between 0 and 1, not {n_pairs!r}")
        return int(np.ceil(n_pairs * s))
    return min(check_count("n_pairs", n_pairs, least=0), s)


def _skeleton(pairs: np.ndarray, d: int) -> np.ndarray:
    chosen = np.zeros(d * (d - 1) // 2, dtype=bool)
    chosen[pairs] = True
    skeleton = np.zeros((d, d), dtype=bool)
    skeleton[np.triu_indices(d, 1)] = chosen
    return skeleton | skeleton.T


def _losses_by_cap(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each cap m = 1..s on the counts, the smallest sum of row costs and its number of pairs; all pairs by cost.

    With at most m rows on a pair, the best W puts m rows on each of the cheapest pairs and the rest on the next one.
    """
    order = np.argsort(row_costs_of(A), kind="stable")
    cheapest = row_costs_of(A)[order]
    before = np.concatenate([[0.0], np.cumsum(cheapest)])
    caps = np.arange(1, len(A) + 1)
    full, rest = np.divmod(len(A), caps)
    return caps * before[full] + rest * np.append(cheapest, 0.0)[full], full + (rest > 0), order


def solve_exact(A: np.ndarray, penalty: float) -> np.ndarray:
    """Solve problem (10) exactly in O(s log s): sort the pairs by c_e and try every cap on the counts.

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    penalty : float

    Returns
    -------
    ndarray of int, shape (s,)
        The pair that each row of an optimal W picks. Of several optima, the one that keeps most pairs.

    Examples
    --------
    >>> solve_exact(np.array([0.1, 0.5, 0.3]), penalty=0.0)
    array([1, 1, 1])
    >>> solve_exact(np.array([0.1, 0.5, 0.3]), penalty=10.0)
    array([1, 2, 0])
    """
    row_costs, _, order = _losses_by_cap(A)
    caps = np.arange(1, len(A) + 1)
    cap = int(np.argmin(row_costs + penalty * np.sqrt(caps))) + 1
    return np.repeat(order, cap)[: len(A)]


def count_for_penalty(A: np.ndarray, penalty: float) -> int:
    """How many pairs the optimum of problem (10) keeps.

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    penalty : float

    Returns
    -------
    int

    Examples
    --------
    >>> count_for_penalty(np.array([0.1, 0.5, 0.3]), penalty=10.0)
    3
    """
    return len(np.unique(solve_exact(A, penalty)))


def penalty_for_count(A: np.ndarray, count: int) -> float:
    """A penalty whose optimum keeps ``count`` pairs.

    The optimum is the lower envelope of the lines ``row cost + penalty sqrt(m)`` over the caps m. Each cap on the
    envelope is optimal between two penalties, whose mean this is (or twice the smaller, if there is no larger one).

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    count : int

    Returns
    -------
    float

    Raises
    ------
    InputError
        If no penalty keeps exactly so many.

    Examples
    --------
    >>> A = np.array([0.1, 0.5, 0.3])
    >>> count_for_penalty(A, penalty_for_count(A, 2))
    2
    """
    row_costs, counts, _ = _losses_by_cap(A)
    roots = np.sqrt(np.arange(1, len(A) + 1))
    for m in np.flatnonzero(counts == count):
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (row_costs - row_costs[m]) / (roots[m] - roots)
        low = crossing[m + 1 :].max(initial=0.0)  # below this a larger cap wins
        high = crossing[:m].min(initial=np.inf)  # above this a smaller cap wins
        if low < high:
            return float(2 * low + (low == 0) if np.isinf(high) else (low + high) / 2)
    raise InputError(f"no penalty keeps exactly {count} of {len(A)} pairs: use n_pairs={count}")
