"""Kernels, by name in KERNELS, and rules for their bandwidth.

A kernel here sees data in units of the bandwidth: ``k(x / s, x' / s)``. That keeps each formula in one line and makes
the bandwidth a property of a sample, chosen by a named rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from dagtune.compiled import compiled
from dagtune.registry import Registry, plug_ins, tell_broken
from dagtune.validation import InputError, check_choice

__all__ = [
    "BANDWIDTH_RULES",
    "KERNELS",
    "MEDIAN_ROWS",
    "Kernel",
    "as_kernel",
    "bandwidth_of",
    "bandwidths_of",
    "check_bandwidth",
    "median_squared_distance",
    "register_kernel",
]

#: Up to this many rows the median distance is exact; above, it comes from a seeded sample of this many rows.
MEDIAN_ROWS = 100_000

BANDWIDTH_RULES = ("median", "paper", "unit")
_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Kernel:
    """A symmetric kernel of one variable, elementwise and vectorised.

    Parameters
    ----------
    name : str
        Name in :data:`dagtune.KERNELS` and on the command line.
    function : callable
        The kernel, of arguments in units of the bandwidth.
    of : {"difference", "product", "pair"}
        What ``function`` takes: the difference ``x - x'`` (then shifting the data changes nothing), the product
        ``x x'``, or the two arguments ``(x, x')``. For points of several columns the difference becomes the Euclidean
        distance and the product becomes the inner product.
    takes_bandwidth : bool
        False for kernels that see the data as they are.
    definite : bool
        Whether every kernel matrix is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import Kernel
    >>> cauchy = Kernel("cauchy", lambda u: 1 / (1 + u * u), of="difference", definite=True)
    >>> cauchy(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    array([0.5, 1. ])
    """

    name: str
    function: Callable[..., np.ndarray]
    of: Literal["difference", "product", "pair"] = "pair"
    takes_bandwidth: bool = True
    definite: bool = False

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """k(x, y), elementwise with broadcasting; the arguments are in units of the bandwidth."""
        if self.of == "difference":
            return self.function(x - y)
        if self.of == "product":
            return self.function(x * y)
        return self.function(x, y)

    def matrix(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """(a, b) kernel matrix of points (a, p) and (b, p); one column is the elementwise kernel."""
        if rows.shape[1] == 1:
            return self(rows, columns.T)
        if self.of == "difference":
            square = np.zeros((len(rows), len(columns)))
            for x, y in zip(rows.T, columns.T):
                square += np.subtract.outer(x, y) ** 2
            return self.function(np.sqrt(square))
        if self.of == "product":
            return self.function(rows @ columns.T)
        raise InputError(f"kernel {self.name!r} takes one column at a time: pass vectors, not matrices")


def _gaussian(difference: np.ndarray) -> np.ndarray:
    """exp(-(x - x')^2 / (2 s^2))"""
    return np.exp(-0.5 * difference * difference)


def _laplace(difference: np.ndarray) -> np.ndarray:
    """exp(-|x - x'| / s). Because of its kink it has no short series, so it always takes the dense path."""
    return np.exp(-np.abs(difference))


def _rational_quadratic(difference: np.ndarray) -> np.ndarray:
    """1 / (1 + (x - x')^2 / (2 s^2)), that is alpha = 1."""
    return 1.0 / (1.0 + 0.5 * difference * difference)


def _sigmoid(product: np.ndarray) -> np.ndarray:
    """tanh(a x x' + c) with a = 1, c = 0. Symmetric, not positive semi-definite: HSIC can be negative."""
    return np.tanh(product)


def _installed() -> Iterator[Kernel]:
    """Kernels of other packages: a :class:`Kernel`, or a function of the difference of two points."""
    for entry in plug_ins("dagtune.kernels"):
        try:
            found = entry.load()
            kernel = found if isinstance(found, Kernel) else Kernel(entry.name, found, of="difference")
            _check_kernel(kernel)
        except Exception as error:
            tell_broken(entry, error)
        else:
            yield kernel


#: The kernels by name; :func:`register_kernel` adds to them, and so does an entry point of the group "dagtune.kernels".
KERNELS = Registry(
    "kernel",
    (
        Kernel("gaussian", _gaussian, of="difference", definite=True),
        Kernel("sigmoid", _sigmoid, of="product", takes_bandwidth=False),
        Kernel("laplace", _laplace, of="difference", definite=True),
        Kernel("rational-quadratic", _rational_quadratic, of="difference", definite=True),
    ),
    outside=_installed,
)


def register_kernel(kernel: Kernel) -> Kernel:
    """Make a kernel known by its name, in Python and on the command line.

    Parameters
    ----------
    kernel : Kernel
        It must be elementwise, finite and symmetric, which is tried on a few points.

    Returns
    -------
    Kernel
        The same kernel.

    Raises
    ------
    InputError
        If the name is already registered, or the kernel fails on the points tried.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.engine.kernels import KERNELS, Kernel, register_kernel
    >>> cauchy = register_kernel(Kernel("cauchy", lambda u: 1 / (1 + u * u), of="difference", definite=True))
    >>> "cauchy" in KERNELS
    True
    >>> del KERNELS["cauchy"]
    """
    _check_kernel(kernel)
    return KERNELS.register(kernel)


def as_kernel(kernel: Any) -> Kernel:
    """Kernel from a name, a kernel or a function.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name in :data:`dagtune.KERNELS`, a :class:`Kernel`, or a function ``k(x, x')`` that is elementwise and
        symmetric.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError
        If there is no kernel of that name, or the function is not elementwise, finite and symmetric.

    Examples
    --------
    >>> as_kernel("sigmoid").takes_bandwidth
    False
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        own = Kernel(getattr(kernel, "__name__", "own"), kernel)
        _check_kernel(own)
        return own
    return KERNELS.find(kernel)


def _check_kernel(kernel: Kernel) -> None:
    """Refuse a kernel that is not elementwise, finite and symmetric on a few points."""
    points = np.array([-2.0, -0.3, 0.0, 0.7, 1.9])
    values = np.asarray(kernel(points[:, None], points[None, :]))
    if values.shape != (5, 5) or not np.issubdtype(values.dtype, np.floating) or not np.isfinite(values).all():
        raise InputError(
            f"kernel {kernel.name!r} must return finite numbers elementwise, with broadcasting: (5, 1) and (1, 5) "
            f"points gave shape {values.shape} of {values.dtype}"
        )
    if not np.allclose(values, values.T, rtol=1e-12, atol=1e-12):
        raise InputError(f"kernel {kernel.name!r} is not symmetric: k(x, x') must equal k(x', x)")


def check_bandwidth(bandwidth: str | float) -> str | float:
    """Check a bandwidth, or the name of a rule.

    Parameters
    ----------
    bandwidth : {"median", "paper", "unit"} or float

    Returns
    -------
    str or float
        The same name, or the number as a float.

    Raises
    ------
    InputError
        If it is neither the name of a rule nor a positive finite number.

    Examples
    --------
    >>> check_bandwidth("median"), check_bandwidth(2)
    ('median', 2.0)
    """
    if isinstance(bandwidth, str):
        return check_choice("bandwidth", bandwidth, BANDWIDTH_RULES)
    if (
        isinstance(bandwidth, (bool, np.bool_))
        or not isinstance(bandwidth, (int, float, np.number))
        or not 0 < float(bandwidth) < np.inf
    ):
        raise InputError(
            f"bandwidth must be a positive number or one of {', '.join(BANDWIDTH_RULES)}, not {bandwidth!r}"
        )
    return float(bandwidth)


def bandwidth_of(sample: np.ndarray, rule: str | float, *, ordered: bool = False) -> float:
    """Bandwidth s of a sample, by a rule.

    Parameters
    ----------
    sample : ndarray, shape (n,)
    rule : {"median", "paper", "unit"} or float
        "median": s^2 is the median of (x_i - x_j)^2 over i < j. "paper": s is that median. "unit": 2 s^2 = 1. A number
        is s itself.
    ordered : bool
        Whether the sample is sorted already.

    Returns
    -------
    float
        0.0 if the rule looks at the sample and all its values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> bandwidth_of(np.array([0.0, 1.0, 3.0]), "median"), bandwidth_of(np.array([0.0, 1.0, 3.0]), "paper")
    (2.0, 4.0)
    """
    x = sample if ordered else np.sort(np.asarray(sample, dtype=np.float64))
    return float(bandwidths_of(np.ascontiguousarray(x)[None], rule)[0])


def bandwidths_of(samples: np.ndarray, rule: str | float) -> np.ndarray:
    """Bandwidths of several sorted samples, (samples, n), by a rule; see :func:`bandwidth_of`.

    Parameters
    ----------
    samples : ndarray, shape (samples, n)
    rule : {"median", "paper", "unit"} or float

    Returns
    -------
    ndarray, shape (samples,)

    Examples
    --------
    >>> import numpy as np
    >>> bandwidths_of(np.array([[0.0, 1.0, 3.0], [0.0, 2.0, 6.0]]), "median").tolist()
    [2.0, 4.0]
    """
    if rule == "unit":
        return np.full(len(samples), np.sqrt(0.5))
    if not isinstance(rule, str):
        return np.full(len(samples), float(rule))
    medians = _median_squares(samples)
    return medians if rule == "paper" else np.sqrt(medians)


def median_squared_distance(sample: np.ndarray, *, ordered: bool = False) -> float:
    """Exact median of (x_i - x_j)^2 over i < j, in O(n log n) and without an n x n matrix.

    If ties make the median 0, it is taken over the nonzero distances instead. A distance within rounding of the values
    counts as a tie.

    Parameters
    ----------
    sample : ndarray, shape (n,)
    ordered : bool
        Whether the sample is sorted already.

    Returns
    -------
    float
        0.0 if all values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> median_squared_distance(np.array([3.0, 0.0, 1.0]))
    4.0
    """
    x = sample if ordered else np.sort(np.asarray(sample, dtype=np.float64))
    return float(_median_squares(np.ascontiguousarray(x)[None])[0])


@compiled
def _count_up_to(x: np.ndarray, v: float) -> tuple[int, float, float]:
    """How many distances are <= v; the largest of those; the smallest of the others. x is sorted."""
    n = len(x)
    count, below, above = 0, 0.0, np.inf
    i = j = 0
    while j + 1 < n:  # which of the two moves on can't be foretold: so without a branch
        gap = x[j + 1] - x[i]
        wider = gap <= v
        count += 0 if wider else j - i
        below = max(below, gap if wider else 0.0)
        above = min(above, np.inf if wider else gap)
        j += wider
        i += not wider
    return count + (n - 1 - i) * (n - i) // 2, below, above


class _Near(NamedTuple):
    """The few distances ``between`` which the k-th smallest is found.

    ``count_below`` distances are smaller than these, ``count_high`` are at most ``high``, and ``beyond`` is the next
    larger one. None are listed if all of them equal ``high``.
    """

    between: np.ndarray
    count_below: int
    count_high: int
    high: float
    beyond: float


@compiled
def _distances_near(x: np.ndarray, k: int) -> _Near:
    """A few distances of a sorted sample, the k-th smallest among them.

    The k-th lies in [low, high]. Every count moves one end to a distance that occurs, so ties end the search at once.
    The first guess is 0.7 times the interquartile range, the median distance of a Gaussian sample; the second is
    corrected in proportion; then the counts are interpolated, with bisections as a guard, until few distances are left.
    """
    n = len(x)
    low, high = 0.0, x[n - 1] - x[0]
    count_below, count_high = 0, n * (n - 1) // 2  # distances < low; distances <= high
    beyond = np.inf  # the smallest distance > high
    few = n + 64
    step = 0
    v = 0.7071 * (x[(3 * n) // 4] - x[n // 4])
    while low < high and count_high - count_below > few:
        if step > 1:
            share = (k + 0.5 - count_below) / (count_high - count_below)
            if step % 4 == 3:  # bisect now and then: the counts may be far from linear
                share = 0.5
            v = low + share * (high - low)
        if not low <= v < high:
            v = low
        step += 1
        count, below, above = _count_up_to(x, v)
        if step == 1:  # counts grow about like the distance; slightly too far brackets the answer
            v *= (k + 0.5) / max(count, 1) * (0.99 if count > k else 1.01)
        if count > k:
            high, count_high, beyond = below, count, above
        else:
            low, count_below = above, count
    if low >= high:
        return _Near(np.empty(0), count_below, count_high, high, beyond)
    found = np.empty(count_high - count_below)
    size = 0
    first = 0
    for i in range(n):
        if first < i + 1:
            first = i + 1
        while first < n and x[first] - x[i] < low:
            first += 1
        j = first
        while j < n and x[j] - x[i] <= high:
            found[size] = x[j] - x[i]
            size += 1
            j += 1
    return _Near(found[:size], count_below, count_high, high, beyond)


@compiled
def _two_distances(x: np.ndarray, k: int, next_k: int) -> tuple[float, float]:
    """The distances at positions k and ``next_k`` (k or k + 1) of all distances of a sorted sample, smallest first."""
    near = _distances_near(x, k)
    if not len(near.between):
        return near.high, near.high if next_k < near.count_high else near.beyond
    at = k - near.count_below
    found = np.partition(near.between, at)
    if next_k == k:
        return found[at], found[at]
    return found[at], found[at + 1 :].min() if next_k < near.count_high else near.beyond


@compiled
def _median_squares(samples: np.ndarray) -> np.ndarray:
    """The median of the squared distances of each sorted sample, (samples, n)."""
    n = samples.shape[1]
    pairs = n * (n - 1) // 2
    found = np.zeros(len(samples))
    if n < 2:
        return found
    for s in range(len(samples)):
        x = samples[s]
        low, high = _two_distances(x, (pairs - 1) // 2, pairs // 2)
        tie = 4 * _EPSILON * max(abs(x[0]), abs(x[n - 1]))
        if high <= tie:
            ties = _count_up_to(x, tie)[0]
            left = pairs - ties
            if left == 0:
                continue
            low, high = _two_distances(x, ties + (left - 1) // 2, ties + left // 2)
        found[s] = 0.5 * (low * low + high * high)
    return found
