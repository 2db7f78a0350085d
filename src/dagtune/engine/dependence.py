"""HSIC of first, second and third order, for all variables of a table.

``HSIC(x, y) = tr(K H L H) / (n - 1)^2`` with kernel matrices K and L of the two samples and the centring matrix H.
First order: ``HSIC(X_i, X_j)``. Second order: ``HSIC(X_i, X_j + X_k)``, the paper's Proposition 2, or with
``combine="joint"`` the product of the two kernels. Third order likewise. For two samples see
:mod:`dagtune.engine.independence`.

Two paths give the same numbers. *Low rank*: features of every column, one blocked matrix product, linear in rows.
*Dense*: kernel matrices tile by tile, quadratic in rows, for kernels and samples that have no short expansion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dagtune.engine.dense import Dense
from dagtune.engine.independence import NullMoments
from dagtune.engine.kernels import Kernel
from dagtune.engine.lowrank import LowRank
from dagtune.engine.paths import choose_path
from dagtune.engine.problem import combinations, pose, refuse_if_larger, symmetric
from dagtune.parallel import one_blas_thread
from dagtune.pictures import draw_dependence
from dagtune.progress import Progress
from dagtune.validation import InputError, check_choice, check_count

__all__ = [
    "Dependence",
    "dependence_blocks",
    "independence_pvalues",
    "measure_dependence",
]

#: By order, the most variables for which the whole array is formed; beyond that, only blocks of it are computed.
MAX_WIDTH = {2: 200, 3: 50}


@dataclass(repr=False, eq=False)
class Dependence:
    """Dependence of every variable on every other variable, and on combinations of two or three others.

    :func:`measure_dependence` returns it. ``second`` and ``third`` are properties.

    Parameters
    ----------
    first : ndarray, shape (d, d)
        ``first[i, j]`` is HSIC(X_i, X_j); symmetric.
    names : tuple of str
        The variables.
    kernel : str
        Name of the kernel.
    bandwidth : str or float
        The rule by which bandwidths were chosen, or the bandwidth itself.
    bandwidths : ndarray, shape (d,)
        Bandwidth of each variable; NaN if the kernel takes none.
    combine : {"sum", "joint"}
        Whether a combination is the sum of its variables or the product of their kernels.
    engine : {"lowrank", "dense"}
        The path that was taken.
    reason : str
        Why it was taken.
    n_samples : int
        Number of rows.
    error_bound : float
        Bound of the approximation error of every entry, relative to sqrt(HSIC(x, x) HSIC(y, y)). Rounding errors come
        on top of it.
    ranks : ndarray of int
        Number of features of each variable; empty on the dense path.
    notes : tuple of str
        What else a reader should know.
    traces, diagonal_squares : ndarray, shape (d,)
        For each centred kernel matrix, its trace and the sum of its squared diagonal; p-values need them.
    higher : dict of int to ndarray
        By order, the arrays of second and third order that were measured.
    source : callable, optional
        Computes blocks of an order that is not in ``higher``.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> found.names
    ('x0', 'x1', 'x2')
    >>> bool(found.second[2, 0, 1] > found.first[2, 0])  # X_0 + X_1 says more about X_2 than X_0 alone
    True
    """

    first: np.ndarray
    names: tuple[str, ...]
    kernel: str
    bandwidth: str | float
    bandwidths: np.ndarray
    combine: str
    engine: str
    reason: str
    n_samples: int
    error_bound: float
    ranks: np.ndarray
    notes: tuple[str, ...]
    traces: np.ndarray
    diagonal_squares: np.ndarray
    higher: dict[int, np.ndarray] = field(default_factory=dict)
    source: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray]]] | None = None

    def __repr__(self) -> str:
        kernel = (
            f"{self.kernel} kernel" if np.isnan(self.bandwidths).all() else f"{self.kernel} kernel, {self.bandwidth}"
        )
        return (
            f"Dependence of {len(self.names)} variables in {self.n_samples} rows ({kernel}; orders 1 to "
            f"{max([1, *self.higher])}): {self.engine} path, {self.reason}; error at most {self.error_bound:.1e}"
        )

    @property
    def second(self) -> np.ndarray:
        """(d, d, d): ``second[child, j, k]`` = HSIC(X_child, X_j + X_k), symmetric in j and k.

        With ``combine="joint"`` the product of the kernels of X_j and X_k takes the place of the sum.
        """
        return self._of_order(2)

    @property
    def third(self) -> np.ndarray:
        """(d, d, d, d): ``third[child, j, k, l]`` = HSIC(X_child, X_j + X_k + X_l), symmetric in j, k and l."""
        return self._of_order(3)

    def _of_order(self, order: int) -> np.ndarray:
        if order in self.higher:
            return self.higher[order]
        if len(self.names) > MAX_WIDTH[order]:
            raise InputError(
                f"{len(self.names)} variables have too many combinations to hold at once (limit {MAX_WIDTH[order]} for "
                f"order {order}): iterate over blocks({order}) instead, or measure fewer variables"
            )
        raise InputError(f"order {order} was not measured: pass order={order} to measure_dependence")

    def blocks(self, order: int = 2) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of HSIC(X_child, X_j + X_k), for any number of variables.

        Up to 200 variables they come from ``second``. Above that they are computed when they are asked for.

        Parameters
        ----------
        order : {2, 3}
            How many variables are combined.

        Yields
        ------
        members : ndarray of int, shape (b, order)
            The combinations of this block, j <= k.
        values : ndarray, shape (d, b)
            HSIC of each child with each of them.

        Raises
        ------
        InputError
            If this order can't be computed.
        """
        if order in self.higher:
            members = combinations(len(self.names), order)
            for start in range(0, len(members), 4096):
                some = members[start : start + 4096]
                yield some, self.higher[order][(slice(None), *some.T)]
        elif self.source is not None:
            yield from self.source(order)
        else:
            self._of_order(order)

    def pvalues(self) -> np.ndarray:
        """p-values of pairwise independence, by the gamma approximation of :func:`dagtune.hsic_test`.

        Returns
        -------
        ndarray, shape (d, d)
            Symmetric; 0 on the diagonal.
        """
        scale = (self.n_samples - 1) ** 2
        null = NullMoments(self.n_samples, self.traces, np.diagonal(self.first) * scale, self.diagonal_squares)
        values = null.pvalues(self.first * scale, null)
        np.fill_diagonal(values, 0.0)
        return values

    def counted_as(self, count: int) -> Dependence:
        """The same of a table whose rows are repeated, so that it counts as fewer rows.

        Parameters
        ----------
        count : int
            How many rows it counts as: p-values are those of so many.

        Returns
        -------
        Dependence
        """
        share = (count - 1) / (self.n_samples - 1)
        return replace(
            self, n_samples=count, traces=self.traces * share, diagonal_squares=self.diagonal_squares * share
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the first order as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return draw_dependence(self.first, self.names, ax=ax, title=f"HSIC, {self.kernel} kernel")


def measure_dependence(
    X: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
    engine: Literal["auto", "dense", "lowrank"] = "auto",
    combine: Literal["sum", "joint"] = "sum",
    order: int = 2,
    memory: str | int = "1GiB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Dependence:
    """HSIC of every pair of variables, and of every variable with every combination of up to ``order`` others.

    Parameters
    ----------
    X : array-like of shape (n, d), DataFrame, path or Table
        The data; see :func:`dagtune.tables.read_table`.
    kernel : str, Kernel or callable
        A name in :data:`dagtune.KERNELS`, a :class:`Kernel`, or a function k(x, x') that is elementwise and symmetric,
        of arguments in units of the bandwidth.
    bandwidth : {"median", "paper", "unit"} or float
        The bandwidth s, or the rule that gives it: "median" (s^2 is the median of (x - x')^2), "paper" (s is that
        median), "unit" (2 s^2 = 1). The rule is applied to each sum X_j + X_k as well. The sigmoid kernel takes none.
    engine : {"auto", "dense", "lowrank"}
        "lowrank" costs time in proportion to the rows. "dense" costs their square, but takes any kernel and any tails.
        "auto" takes the one with the lower estimated cost, and refuses if both are too expensive.
    combine : {"sum", "joint"}
        The sum X_j + X_k, as in the paper, or the product of the two kernels.
    order : {1, 2, 3}
        How many variables are combined at most.
    memory : str or int
        Memory that may be used beyond the data, such as "1GiB".
    threads : int, optional
        By default one for each processor. The numbers do not depend on it.
    progress : callable, optional
        Called as ``progress(phase, share)`` with the share of the phase that is done, from 0 to 1.

    Returns
    -------
    Dependence

    Raises
    ------
    InputError
        If the table or an option can't be used, or neither path fits into the memory and a sensible time.

    References
    ----------
    Gretton, Bousquet, Smola and Schoelkopf 2005, "Measuring statistical dependence with Hilbert-Schmidt norms".
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC".

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> found = measure_dependence(np.column_stack([x, x**2, rng.normal(size=300)]), order=1)
    >>> bool(found.first[0, 1] > 10 * found.first[0, 2])
    True
    """
    order = check_count("order", order, least=1, most=3)
    check_choice("combine", combine, ("sum", "joint"))
    if combine == "joint" and order == 3:
        raise InputError("combine='joint' is defined for two variables only: pass order=2, or combine='sum'")
    problem = pose(X, kernel, bandwidth, combine, memory, threads, progress)
    d = problem.rows.width
    held = [o for o in range(2, order + 1) if d <= MAX_WIDTH[o]]
    refuse_if_larger(problem.memory, sum(8 * d ** (o + 1) for o in held))
    check_choice("engine", engine, ("auto", "dense", "lowrank"))
    with one_blas_thread():
        path = choose_path(problem, engine, [combinations(d, o) for o in range(1, order + 1)])
        found = path.values(combinations(d, 1))
        arrays = {o: _whole_array(path, d, o) for o in held}
    bound = max([found.bound, *(bound for _, bound in arrays.values())])
    return Dependence(
        first=symmetric(found.values),
        names=problem.names,
        kernel=problem.kernel.name,
        bandwidth=problem.bandwidth,
        bandwidths=path.bandwidths(),
        combine=combine,
        engine=path.name,
        reason=path.reason,
        n_samples=problem.rows.count,
        error_bound=2 * bound + bound * bound,
        ranks=found.ranks,
        notes=path.notes,
        traces=found.traces,
        diagonal_squares=found.diagonal_squares,
        higher={o: values for o, (values, _) in arrays.items()},
        source=partial(_stream, path, d),
    )


def _whole_array(path: Dense | LowRank, d: int, order: int) -> tuple[np.ndarray, float]:
    """The array of one order, (d, d, d) for the second, and the largest error bound of its blocks."""
    values, bound = np.empty((d,) * (order + 1)), 0.0
    for members, block in path.blocks(combinations(d, order), order):
        for shuffled in set(itertools.permutations(range(order))):
            values[(slice(None), *members.T[list(shuffled)])] = block.values
        bound = max(bound, block.bound)
    return values, bound


def dependence_blocks(
    X: Any,
    *,
    order: int = 2,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
    engine: Literal["auto", "dense", "lowrank"] = "auto",
    combine: Literal["sum", "joint"] = "sum",
    memory: str | int = "1GiB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """HSIC of every variable with every combination of ``order`` variables, block by block.

    For more variables than the (d, d, d) array of :func:`measure_dependence` can hold.

    Parameters
    ----------
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    order : int
        How many variables are combined.
    kernel, bandwidth, engine, combine, memory, threads, progress
        As in :func:`measure_dependence`.

    Yields
    ------
    members : ndarray of int, shape (b, order)
        The combinations of this block, j <= k.
    values : ndarray, shape (d, b)
        HSIC of each variable with each of them.

    Raises
    ------
    InputError
        If the table or an option can't be used, or neither path fits into the memory and a sensible time.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import dependence_blocks
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> for members, values in dependence_blocks(X):
    ...     print(members.shape, values.shape)
    (6, 2) (3, 6)
    """
    check_choice("combine", combine, ("sum", "joint"))
    check_choice("engine", engine, ("auto", "dense", "lowrank"))
    problem = pose(X, kernel, bandwidth, combine, memory, threads, progress)
    d = problem.rows.width
    with one_blas_thread():
        path = choose_path(problem, engine, [combinations(d, 1), combinations(d, order)])
    yield from _stream(path, d, order)


def independence_pvalues(
    X: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
) -> np.ndarray:
    """p-values of independence for all pairs of variables, by the gamma approximation of :func:`dagtune.hsic_test`.

    Parameters
    ----------
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    kernel, bandwidth
        As in :func:`measure_dependence`.

    Returns
    -------
    ndarray, shape (d, d)
        Symmetric; 0 on the diagonal.

    Raises
    ------
    InputError
        If the table or an option can't be used.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import independence_pvalues
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> independence_pvalues(np.column_stack([x, x[:, 0] ** 2])) < 0.01
    array([[ True, False,  True],
           [False,  True, False],
           [ True, False,  True]])
    """
    return measure_dependence(X, kernel=kernel, bandwidth=bandwidth, order=1).pvalues()


def _stream(path: Dense | LowRank, d: int, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (members, values) of one order, each computed when it is asked for."""
    with one_blas_thread():
        for members, found in path.blocks(combinations(d, order), order):
            yield members, found.values
