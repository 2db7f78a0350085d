"""The low-rank path: features of every column, one blocked matrix product, linear in rows, no n x n matrix.

Everything it needs from the data is a sum over rows; :mod:`dagtune.engine.moments` computes those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dagtune.engine.dense import Dense
from dagtune.engine.expansions import COARSE, FINE, NOTHING, USUAL, expand
from dagtune.engine.features import TOLERANCE, Features, JointColumn, SumColumn, add_up
from dagtune.engine.moments import BATCH, compress_columns, cross_products
from dagtune.engine.one_pass import measure_sums
from dagtune.engine.problem import Found, Problem, Scaled, bandwidths, notes, refuse_if_larger, scale
from dagtune.tables.rows import CHUNK_ROWS, Rows

__all__ = ["LowRank", "NoExpansionError"]

#: With more features of variables than this, the least rank of the sums is worth a second pass.
_MOST_RANKS = 2000


class NoExpansionError(Exception):
    """A variable has no short expansion."""

    def __init__(self, column: Scaled) -> None:
        super().__init__(column)
        self.column = column


class LowRank:
    """Features of every column, one blocked matrix product: linear in rows, no n x n matrix."""

    name = "lowrank"

    def __init__(self, problem: Problem, sample: np.ndarray, scaled: list[Scaled], reason: str) -> None:
        self.reason = reason
        self._problem = problem
        self._sample = sample
        self._scaled = scaled
        self.rows = problem.rows
        self.variables = self._features_of_variables(centred=True)
        self._parts = self._features_of_variables(centred=False) if problem.combine == "joint" else []
        self._rank = sum(child.rank for child in self.variables)
        self.rows = self._choose_chunks()
        self._plain = problem.combine == "sum" and problem.kernel.of == "difference"
        self._rough = 0  # sums that had to take the dense path

    @property
    def notes(self) -> tuple[str, ...]:
        rough = f"{self._rough} sums have no short expansion and were measured densely" if self._rough else ""
        return (*notes(self._problem), *([rough] if rough else []))

    def bandwidths(self) -> np.ndarray:
        return bandwidths(self._problem, self._scaled)

    def values(self, members: np.ndarray, done: Callable[[float], None] | None = None) -> Found:
        """All variables against the columns ``members``; ``done`` is told the share of the two passes that is done."""
        products, bounds, squares = self._in_one_pass(members, done)
        todo = np.flatnonzero(bounds > TOLERANCE / 2)
        if len(todo):
            products[:, todo], bounds[todo], squares = self._by_features(members[todo], done)
        return Found(
            values=products / (self._problem.rows.count - 1) ** 2,
            bound=max([*bounds, *(one.bound for one in self.variables)]),
            ranks=np.array([child.rank for child in self.variables]),
            traces=np.array([child.signs @ child.sizes for child in self.variables]),
            diagonal_squares=squares,
        )

    def _in_one_pass(
        self, members: np.ndarray, done: Callable[[float], None] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products, error bounds and squared diagonals, where compressing candidates does not pay; see one_pass."""
        if members.shape[1] == 1 or self._rank > _MOST_RANKS or not self._plain:
            return np.empty((len(self.variables), len(members))), np.full(len(members), np.inf), np.empty(0)
        found = measure_sums(
            self.rows,
            self.variables,
            scale(self._problem, members, self._sample, error=COARSE),
            self._problem.threads,
            done,
        )
        return found.products, found.bounds, found.diagonal_squares

    def _by_features(
        self, members: np.ndarray, done: Callable[[float], None] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same from features of the candidates, in two passes."""
        halves = (None, None) if done is None else (lambda share: done(share / 2), lambda share: done(0.5 + share / 2))
        found = self.features(members, halves[0])
        candidates = {c: one for c, one in enumerate(found) if one is not None}
        rough = [c for c, one in enumerate(found) if one is None]
        values, bounds = np.empty((len(self.variables), len(members))), np.zeros(len(members))
        values[:, list(candidates)], squares = cross_products(
            self.rows, self.variables, list(candidates.values()), self._problem.threads, halves[1]
        )
        bounds[list(candidates)] = [one.bound for one in candidates.values()]
        if rough:
            self._rough += len(rough)
            dense = Dense(self._problem, self._sample, "").values(members[rough]).values
            values[:, rough] = dense * (self._problem.rows.count - 1) ** 2
        return values, bounds, squares

    def blocks(self, members: np.ndarray, order: int) -> Iterator[tuple[np.ndarray, Found]]:
        """The columns ``members`` in blocks whose products fit into the memory allowed."""
        size = self._group_size()
        for start in range(0, len(members), size):
            some = members[start : start + size]

            def done(share: float, start: int = start, count: int = len(some)) -> None:
                self._problem.progress(f"order {order}", (start + share * count) / len(members))

            yield some, self.values(some, done)

    def features(self, members: np.ndarray, done: Callable[[float], None] | None = None) -> list[Features | None]:
        """Features of the columns ``members``; None for a sum that has no short expansion."""
        problem = self._problem
        if members.shape[1] == 1:
            return [self.variables[m] for m in members[:, 0]]
        if problem.combine == "sum":
            return self._features(scale(problem, members, self._sample), done=done)
        height = max(float(np.abs(problem.kernel(self._sample[:, :256], self._sample[:, :256])).max()), 1.0)
        columns = [JointColumn.of(self._parts[j], self._parts[k], problem.rows.count, height) for j, k in members]
        return [*compress_columns(self.rows, columns, problem.threads, done=done)]

    def _features_of_variables(self, *, centred: bool) -> list[Features]:
        found = self._features(self._scaled, centred=centred)
        for one, scaled in zip(found, self._scaled):
            if one is None:
                raise NoExpansionError(scaled)
        return [one for one in found if one is not None]

    def _features(
        self, scaled: Sequence[Scaled], *, centred: bool = True, done: Callable[[float], None] | None = None
    ) -> list[Features | None]:
        """Features of each column, from a finer expansion where the first one misses its bound.

        None for a column without an expansion, or whose landmarks miss some of the rows.
        """
        tolerance = TOLERANCE if centred else TOLERANCE / 20  # products of uncentred features need some room
        found: dict[int, Features] = {}
        todo = [c for c, one in enumerate(scaled) if one.expansion is not None]
        for fine in (False, True) if centred else (True,):
            columns = [self._column(scaled[c], centred=centred, fine=fine) for c in todo]
            better = compress_columns(
                self.rows, columns, self._problem.threads, centred=centred, tolerance=tolerance, done=done
            )
            found.update(zip(todo, better))
            todo = [c for c, one in zip(todo, better) if one.bound > tolerance / 2]
        for c in todo:
            if found[c].column.landmarks and found[c].bound > TOLERANCE:
                del found[c]
        return [found.get(c) for c in range(len(scaled))]

    def _column(self, one: Scaled, *, centred: bool, fine: bool) -> SumColumn:
        expansion = one.expansion
        if expansion is not NOTHING and (fine or not centred):
            sample = one.sample(add_up(self._sample, one.members))
            expansion = (
                expand(self._problem.kernel, sample, centred=centred, error=FINE if fine else USUAL) or expansion
            )
        assert expansion is not None
        return SumColumn(one.members, one.origin, one.bandwidth, expansion)

    def _choose_chunks(self) -> Rows:
        """Rows in chunks whose features fit into a third of the memory, refused if not even 256 rows do."""
        problem = self._problem
        a_row = 8 * (3 * self._rank + problem.threads * 2 * BATCH * self._widest())
        fits = int(problem.memory / 3 / a_row)
        if fits < min(256, problem.rows.count):
            refuse_if_larger(problem.memory, 3 * a_row * 256)
        return problem.rows.rechunked(max(min(CHUNK_ROWS, fits), 1))

    def _group_size(self) -> int:
        """How many candidates have products with all children that fit into a third of the memory."""
        a_candidate = 8 * 2 * max(self._rank, 1) * self._widest()
        size = int(self._problem.memory / 3 / a_candidate)
        if size < 1:
            refuse_if_larger(self._problem.memory, 3 * a_candidate)
        return max(size // BATCH * BATCH, size if size < BATCH else BATCH)

    def _widest(self) -> int:
        ranks = [child.rank for child in self.variables]
        if self._problem.combine == "joint":
            return max(max(ranks) ** 2 // 2, 1)
        return max(ranks) + 4
