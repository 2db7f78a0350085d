"""Second order HSIC of many variables: taken from blocks as they come, each pair held once.

S_ijk is symmetric in j and k, so of d^3 numbers half are enough: 257 MB for 400 variables. The rules of OT look at one
child at a time, whose (d, d) matrix is unpacked when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dagtune.engine.dependence import Dependence
from dagtune.engine.problem import refuse_if_larger

__all__ = ["Packed", "packed_bytes", "with_second"]


def packed_bytes(d: int) -> int:
    """Memory of the second order of d variables."""
    return 8 * d * (d * (d + 1) // 2)


class Packed:
    """A (d, d, d) array that is symmetric in its last two axes, with each pair held once.

    It is indexed by a child, which gives its (d, d) matrix, or by a child and two positions or arrays of them.

    Parameters
    ----------
    values : ndarray, shape (d, d (d + 1) / 2)
        For each child the pairs j <= k, lexicographic.

    Examples
    --------
    >>> packed = Packed(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    >>> packed[1].tolist()
    [[4.0, 5.0], [5.0, 6.0]]
    >>> float(packed[0, 1, 0])
    2.0
    """

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self._d = d = len(values)
        self.shape = (d, d, d)

    def _place(self, j: Any, k: Any) -> Any:
        """Where a pair is."""
        low, high = np.minimum(j, k), np.maximum(j, k)
        return low * self._d - low * (low - 1) // 2 + high - low

    def __getitem__(self, key: Any) -> Any:
        every = np.arange(self._d)
        if not isinstance(key, tuple):
            return self._values[key][self._place(every[:, None], every)]
        if len(key) == 2:
            return self._values[key[0]][self._place(key[1], every)]
        i, j, k = key
        place = self._place(np.asarray(j), np.asarray(k))
        return self._values[:, place] if isinstance(i, slice) else self._values[i, place]

    def sum(self, axis: tuple[int, int]) -> np.ndarray:
        """Sums over two axes, of which the last is one."""
        matrices = (self[i] for i in range(self._d))
        if axis == (1, 2):
            return np.array([matrix.sum() for matrix in matrices])
        if axis == (0, 2):
            return np.sum([matrix.sum(axis=1) for matrix in matrices], axis=0)
        raise ValueError(f"sums over the axes {axis} are not kept")


def with_second(dependence: Dependence, memory: int) -> Dependence:
    """The same with all second orders, computed block by block; refused if they do not fit into the memory.

    Parameters
    ----------
    dependence : Dependence
        Of more variables than :func:`dagtune.measure_dependence` forms the second order of.
    memory : int
        Bytes allowed.
    """
    d = len(dependence.names)
    refuse_if_larger(memory, packed_bytes(d))
    values = np.empty((d, d * (d + 1) // 2))
    start = 0
    blocks: Sequence[tuple[np.ndarray, np.ndarray]] | Any = dependence.blocks(2)
    for members, block in blocks:
        values[:, start : start + len(members)] = block
        start += len(members)
    return replace(dependence, higher={**dependence.higher, 2: Packed(values)})  # type: ignore[dict-item]
