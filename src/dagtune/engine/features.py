"""Features of a column: the expansion of its kernel, compressed to the smallest rank that keeps the promised error.

An expansion gives functions phi of one row with signs s_a, ``k(x, x') = sum_a s_a phi_a(x) phi_a(x')``. The centred
Gram matrix of their values over the rows is small; :func:`compress` turns phi by its eigenvectors into features F with
``H K H = F^T diag(signs) F + error``, in the Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dagtune.engine.expansions import Expansion, Landmarks, Place, Series, moments, series_values

__all__ = ["TOLERANCE", "Column", "Features", "JointColumn", "SumColumn", "add_up", "compress", "stack"]

#: The promise: HSIC to this error, relative to sqrt(HSIC(x, x) HSIC(y, y)). Each side may spend half.
TOLERANCE = 1e-8


class Column(Protocol):
    """A function of the rows with a kernel of its own: one variable, or several combined."""

    @property
    def signs(self) -> np.ndarray: ...

    @property
    def error(self) -> float: ...

    @property
    def rounding(self) -> float: ...

    @property
    def landmarks(self) -> bool:
        """Whether the error is known only after a look at the rows."""
        ...

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Sums over the rows of a (d, n) chunk: of phi (r0,), of phi phi^T, of what they leave out of the diagonal."""
        ...

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        """out (r, n) = rotation^T phi - offset for a rotation (r0, r)."""
        ...


@dataclass(frozen=True)
class SumColumn:
    """X_j, or X_j + X_k + ..., through the kernel: ``members`` are the variables that are added."""

    members: tuple[int, ...]
    origin: float
    bandwidth: float
    expansion: Expansion

    @property
    def signs(self) -> np.ndarray:
        return self.expansion.signs

    @property
    def error(self) -> float:
        return self.expansion.error

    @property
    def rounding(self) -> float:
        return self.expansion.rounding

    @property
    def landmarks(self) -> bool:
        return self.expansion.diagonal is not None

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        combination = np.ascontiguousarray(self.expansion.weights.T)
        basis = self.expansion.basis
        if isinstance(basis, Series):
            phi = np.empty((len(combination), chunk.shape[1]))
            series_values(chunk, self._place(basis), combination, np.zeros(len(combination)), phi)
            return *moments(phi), 0.0
        phi = self._landmark_values(chunk, basis, combination)
        diagonal = self.expansion.diagonal or 0.0
        rest = float(np.maximum(diagonal - np.einsum("an,an->n", phi, phi), 0.0).sum())
        return phi.sum(axis=1), phi @ phi.T, rest

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        combination = rotation.T @ self.expansion.weights.T
        basis = self.expansion.basis
        if isinstance(basis, Series):
            series_values(chunk, self._place(basis), combination, offset, out)
        else:
            np.subtract(self._landmark_values(chunk, basis, combination), offset[:, None], out=out)

    def _place(self, basis: Series) -> Place:
        members = np.array(self.members)
        return Place(members, self.origin, 1.0 / self.bandwidth, basis.centre, basis.half, basis.floor)

    def _landmark_values(self, chunk: np.ndarray, basis: Landmarks, combination: np.ndarray) -> np.ndarray:
        x = (add_up(chunk, self.members) - self.origin) / self.bandwidth
        return combination @ basis.terms(x, combination.shape[1])


@dataclass(frozen=True)
class JointColumn:
    """(X_j, X_k) through the product of their kernels: the products of the uncentred features of each.

    ``left`` and ``right`` index the products that are large enough to matter; what the others would add is summed over
    the rows. ``error`` is what the two sides leave out: |K L - K' L'| <= |K - K'| |L| + |L - L'| |K'|, entry by entry.
    """

    parts: tuple[Features, Features]
    left: np.ndarray
    right: np.ndarray
    error: float
    rounding: float
    landmarks: bool = False

    @classmethod
    def of(cls, first: Features, second: Features, count: int, height: float) -> JointColumn:
        """``height`` bounds the kernel's absolute value, ``count`` is the number of rows."""
        sizes = np.multiply.outer(first.sizes, second.sizes)
        left, right = np.nonzero(sizes > 1e-4 * TOLERANCE * sizes.max(initial=0.0))
        error = height * sum(part.bound * part.norm for part in (first, second)) / count
        return cls((first, second), left, right, error, np.finfo(float).eps * height**2)

    @property
    def signs(self) -> np.ndarray:
        return self.parts[0].signs[self.left] * self.parts[1].signs[self.right]

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        first, second = (part.values(chunk) for part in self.parts)
        products = first[self.left] * second[self.right]
        everything = (first**2).sum(axis=0) @ (second**2).sum(axis=0)
        rest = max(float(everything - np.vdot(products, products)), 0.0)
        return products.sum(axis=1), products @ products.T, rest

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        first, second = (part.values(chunk) for part in self.parts)
        np.subtract(rotation.T @ (first[self.left] * second[self.right]), offset[:, None], out=out)


@dataclass(frozen=True)
class Features:
    """F (r, n) = rotation^T (phi - mean): ``F^T diag(signs) F`` is the (centred) kernel matrix up to ``bound``.

    ``norm`` is the Frobenius norm of that matrix, ``bound`` the error relative to it, ``sizes`` the absolute values of
    its r eigenvalues.
    """

    column: Column
    rotation: np.ndarray
    signs: np.ndarray
    offset: np.ndarray
    sizes: np.ndarray
    norm: float
    bound: float

    @property
    def rank(self) -> int:
        return len(self.signs)

    def values(self, chunk: np.ndarray) -> np.ndarray:
        """(r, n) features of the rows of a (d, n) chunk."""
        return stack([self], chunk)


def stack(features: Sequence[Features], chunk: np.ndarray) -> np.ndarray:
    """(sum of ranks, n): the features of several columns at the rows of a (d, n) chunk, one below the other."""
    out = np.empty((sum(one.rank for one in features), chunk.shape[1]))
    start = 0
    for one in features:
        if one.rank:
            one.column.rotated(chunk, one.rotation, one.offset, out[start : start + one.rank])
        start += one.rank
    return out


def add_up(chunk: np.ndarray, members: tuple[int, ...]) -> np.ndarray:
    """X_j + X_k + ... of the rows of a (d, n) chunk."""
    x = chunk[members[0]]
    for member in members[1:]:
        x = x + chunk[member]
    return x


def compress(
    column: Column,
    count: int,
    total: np.ndarray,
    gram: np.ndarray,
    left_out: float,
    *,
    centred: bool = True,
    tolerance: float = TOLERANCE,
) -> Features:
    """Features of the smallest rank whose error is within half the tolerance, from sums over ``count`` rows.

    ``total`` (r0,) is the sum of phi, ``gram`` (r0, r0) the sum of phi phi^T, and ``left_out`` the sum of what phi
    leaves out of the diagonal; see :meth:`Column.moments`.
    """
    mean = total / count if centred else np.zeros_like(total)
    moments = gram - count * np.outer(mean, mean)
    signs = column.signs
    squares, vectors = np.linalg.eigh(moments)
    squares = np.maximum(squares, 0.0)
    if (signs > 0).all():
        values, rotation = squares[::-1], vectors[:, ::-1]
    else:
        # K = Q (D^1/2 V^T S V D^1/2) Q^T with Q = phi V D^-1/2 orthonormal: the middle's eigenvalues are K's
        roots = np.sqrt(squares)
        inverse = np.where(squares > 1e-15 * squares.max(initial=0.0), 1.0 / np.maximum(roots, 1e-300), 0.0)
        middle = roots[:, None] * ((vectors.T * signs) @ vectors) * roots
        values, inner = np.linalg.eigh(middle)
        rotation = (vectors * inverse) @ (inner * np.sqrt(np.abs(values)))
        order = np.argsort(-np.abs(values), kind="stable")
        values, rotation = values[order], rotation[:, order]
    norm = float(np.linalg.norm(values))
    missing = count * (column.error + 8 * column.rounding) + left_out
    tails = np.append(np.sqrt(np.cumsum(values[::-1] ** 2)[::-1]), 0.0)
    allowed = max(0.49 * tolerance * norm - missing, 1e-15 * norm)
    if norm <= 64 * column.rounding * count:
        norm = 0.0  # constant up to rounding, so nothing depends on it
    rank = int(np.argmax(tails <= allowed)) if norm > 0 else 0
    return Features(
        column=column,
        rotation=np.ascontiguousarray(rotation[:, :rank]),
        signs=np.where(values[:rank] < 0, -1.0, 1.0),
        offset=mean @ rotation[:, :rank],
        sizes=np.abs(values[:rank]),
        norm=norm,
        bound=(float(tails[rank]) + missing) / norm if norm > 0 else 0.0,
    )
