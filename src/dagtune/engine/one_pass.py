"""Sums of variables against all variables in one pass over the rows, without features of their own.

``tr(H K H L) = sum_ab s_a t_b (F phi^T)_ab^2`` needs the least rank, and the centre, of one side only: F are the
features of the variables, and the expansion phi of a sum serves as it is. The norm of its centred kernel matrix, which
the error bound needs, comes from the sums of phi and phi phi^T over the same rows. Within 1e-9 of the kernel an
expansion has about as many functions as the features that would come of it, so that compressing it would not pay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dagtune.compiled import compiled
from dagtune.engine.expansions import Expansion, Place, Series, series_values
from dagtune.engine.features import Features
from dagtune.engine.moments import BATCH, block_sums, diagonal_squares, signs_of, starts_of
from dagtune.engine.problem import Scaled
from dagtune.parallel import parallel_map
from dagtune.tables.rows import Rows

__all__ = ["InOnePass", "measure_sums"]


@dataclass(frozen=True)
class InOnePass:
    """tr(K_i L_c) for every child i and candidate c, the candidates' error bounds, the children's squared diagonals.

    The bound is infinite for a candidate that has no series.
    """

    products: np.ndarray
    bounds: np.ndarray
    diagonal_squares: np.ndarray


@dataclass(frozen=True)
class _Alike:
    """Candidates ``which`` that share an expansion."""

    which: np.ndarray
    members: np.ndarray
    origins: np.ndarray
    scales: np.ndarray
    expansion: Expansion

    def values(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """phi (c, r, n) of the rows of a (d, n) chunk, and sums over them: of phi (c, r), of phi phi^T (c, r, r)."""
        series = self.expansion.basis
        assert isinstance(series, Series)
        place = Place(self.members[0], 0.0, 1.0, series.centre, series.half, series.floor)
        return _values(chunk, self.members, self.origins, self.scales, place, self.expansion.weights.T.copy())


def measure_sums(
    rows: Rows,
    children: Sequence[Features],
    scaled: Sequence[Scaled],
    threads: int,
    done: Callable[[float], None] | None = None,
) -> InOnePass:
    """Products of the columns ``scaled`` with all children, from one pass over the rows."""
    batches = _alike(scaled)
    child_starts, child_signs = starts_of(children), signs_of(children)

    def statistic(chunk: np.ndarray) -> list[np.ndarray]:
        left = np.concatenate(parallel_map(lambda child: child.values(chunk), children, threads))

        def look(batch: _Alike) -> list[np.ndarray]:
            phi, total, gram = batch.values(chunk)
            return [left @ phi.reshape(-1, phi.shape[2]).T, total, gram]

        found = parallel_map(look, batches, threads)
        return [diagonal_squares(left, child_starts, child_signs), *(array for three in found for array in three)]

    squares, *sums = rows.sum(statistic, done)
    values, bounds = np.zeros((len(children), len(scaled))), np.full(len(scaled), np.inf)
    for c, one in enumerate(scaled):
        if one.expansion is not None and not len(one.expansion.signs):
            bounds[c] = 0.0  # a constant

    def finish(k: int) -> None:
        batch, (product, total, gram) = batches[k], sums[3 * k : 3 * k + 3]
        expansion, count = batch.expansion, len(batch.which)
        rank = len(expansion.signs)
        gram -= total[:, :, None] * total[:, None, :] / rows.count
        norms = np.sqrt(np.maximum((gram * gram) @ expansion.signs @ expansion.signs, 0.0))
        varies = norms > 64 * expansion.rounding * rows.count  # else constant up to rounding: nothing depends on it
        missing = rows.count * (expansion.error + 8 * expansion.rounding)
        bounds[batch.which] = np.where(varies, missing / np.where(varies, norms, 1.0), 0.0)
        of_each = np.arange(0, count * rank + 1, rank)
        found = block_sums(product, child_starts, of_each, child_signs, np.tile(expansion.signs, count))
        values[:, batch.which] = found * varies

    parallel_map(finish, range(len(batches)), threads)
    return InOnePass(values, bounds, squares)


def _alike(scaled: Sequence[Scaled]) -> list[_Alike]:
    """The columns that have a series, in batches that share one."""
    groups: dict[int, list[int]] = defaultdict(list)
    for c, one in enumerate(scaled):
        if one.expansion is not None and isinstance(one.expansion.basis, Series) and len(one.expansion.signs):
            groups[id(one.expansion)].append(c)
    batches = []
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            some = group[start : start + BATCH]
            expansion = scaled[some[0]].expansion
            assert expansion is not None
            batches.append(
                _Alike(
                    which=np.array(some),
                    members=np.array([scaled[c].members for c in some]),
                    origins=np.array([scaled[c].origin for c in some]),
                    scales=1.0 / np.array([scaled[c].bandwidth for c in some]),
                    expansion=expansion,
                )
            )
    return batches


@compiled
def _values(
    chunk: np.ndarray,
    members: np.ndarray,
    origins: np.ndarray,
    scales: np.ndarray,
    place: Place,
    combination: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See :meth:`_Alike.values`; of ``place`` only the interval counts."""
    count, r, n = len(members), len(combination), chunk.shape[1]
    phi, total, gram = np.empty((count, r, n)), np.empty((count, r)), np.empty((count, r, r))
    offset = np.zeros(r)
    for c in range(count):
        here = Place(members[c], origins[c], scales[c], place.centre, place.half, place.floor)
        series_values(chunk, here, combination, offset, phi[c])
        for a in range(r):
            total[c, a] = phi[c, a].sum()
        np.dot(phi[c], phi[c].T, gram[c])
    return phi, total, gram
