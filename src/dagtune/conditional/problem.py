"""A table as the score sees it: sums over all rows, a sample of rows, what variables are as effects, priors.

Plain data for compiled functions (:mod:`dagtune.conditional.cells`), which take tuples of arrays only.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np

from dagtune.conditional.discrete import Discrete
from dagtune.conditional.mechanisms import Sums

__all__ = ["EVEN", "NO_CALLS", "NO_PARTS", "Calls", "Offer", "Parts", "Problem", "Rows", "Shares", "Targets"]


class Offer(NamedTuple):
    """Which cells are averaged beside additive functions with Gaussian noise of one variance.

    Parameters
    ----------
    any_distribution, varying_spread, link, joint : bool
    """

    any_distribution: bool = True
    varying_spread: bool = True
    link: bool = True
    joint: bool = True


class Rows(NamedTuple):
    """A sample of rows: functions and columns of the causes, and the targets.

    Parameters
    ----------
    F : ndarray, shape (D, rows)
        Functions of all variables.
    Z : ndarray, shape (columns, rows)
        Standardised columns for the joint mechanism.
    starts : ndarray of int, shape (d + 1,)
        The columns of variable j in Z are those from starts[j] to starts[j + 1].
    Y : ndarray, shape (T, rows)
        The targets.
    marks : ndarray of int
        Rows that are landmarks.
    margin : ndarray, shape (T, rows)
        What the scale of a target adds to the log likelihood of each row, up to a constant.
    weights : ndarray, shape (resamples, rows)
        How often each resample has each row, less 1.
    """

    F: np.ndarray
    Z: np.ndarray
    starts: np.ndarray
    Y: np.ndarray
    marks: np.ndarray
    margin: np.ndarray
    weights: np.ndarray


class Targets(NamedTuple):
    """What the variables are as effects, each on one or more scales.

    Parameters
    ----------
    starts : ndarray of int, shape (d + 1,)
        The targets of variable i are those from starts[i] to starts[i + 1].
    jacobian : ndarray, shape (T,)
        What the scale adds to the log likelihood of all rows.
    smooth : ndarray of bool, shape (T,)
        Whether any distribution may be offered: the values are not a few that repeat.
    own : ndarray of bool, shape (T,)
        Whether it is the variable's own scale, so that its noise has the units of the table.
    joint, spread : ndarray of bool, shape (T,)
        Whether the joint mechanism and a varying spread are worth computing.
    first : ndarray of int, shape (T,)
        The setting of the additive mechanism where its climb begins: near the best, so that it is short.
    rough : ndarray of int, shape (d,)
        Of each variable the target that a first search looks at: on the scale that sums explain best.
    """

    starts: np.ndarray
    jacobian: np.ndarray
    smooth: np.ndarray
    own: np.ndarray
    joint: np.ndarray
    spread: np.ndarray
    first: np.ndarray
    rough: np.ndarray


class Shares(NamedTuple):
    """How common cells are among the variables of the table: prior probabilities, each array with sum 1.

    Parameters
    ----------
    mechanism : ndarray, shape (5,)
        Additive, linked, additive with varying spread, joint, joint with varying spread.
    distribution : ndarray, shape (3,)
        Gaussian, shaped, any.
    scale : ndarray, shape (2,)
        Own, another.
    """

    mechanism: np.ndarray
    distribution: np.ndarray
    scale: np.ndarray


#: All alike: what is believed before a table has been seen.
EVEN = Shares(np.full(5, 1 / 5), np.full(3, 1 / 3), np.full(2, 1 / 2))


class Parts(NamedTuple):
    """What else may count in the likelihood of one effect: other stretches of rows, each with its own parameters.

    The evidence is log sum over h of exp(least[h] + sum over the parts p that hypothesis h uses of L_p(child, S)), the
    first part being the problem itself: see :mod:`dagtune.conditional.environments`. Arrays of rows are flat, one part
    after the other, so that a part's own are contiguous.

    Parameters
    ----------
    used : ndarray of bool, shape (hypotheses, 1 + parts)
    least : ndarray, shape (hypotheses,)
    ends : ndarray of int, shape (parts + 1,)
        Rows of part p are those from ends[p] to ends[p + 1].
    G, C, power, F, Z, Y : ndarray
        See :class:`Sums` and :class:`Rows`.
    marks : ndarray of int, shape (parts, landmarks)
    jacobian, smooth, first : ndarray, shape (parts, T)
        See :class:`Targets`.
    size, level, times, fixed, within : ndarray
        See :class:`dagtune.conditional.discrete.Discrete`.
    """

    used: np.ndarray
    least: np.ndarray
    ends: np.ndarray
    G: np.ndarray
    C: np.ndarray
    power: np.ndarray
    F: np.ndarray
    Z: np.ndarray
    Y: np.ndarray
    marks: np.ndarray
    jacobian: np.ndarray
    smooth: np.ndarray
    first: np.ndarray
    size: np.ndarray
    level: np.ndarray
    times: np.ndarray
    fixed: np.ndarray
    within: np.ndarray


def _nothing(*shape: int, dtype: type = np.float64) -> np.ndarray:
    return np.zeros(shape, dtype=dtype)


#: One hypothesis: the problem itself is all that counts.
NO_PARTS = Parts(
    used=np.ones((1, 1), dtype=bool),
    least=_nothing(1),
    ends=_nothing(1, dtype=np.int64),
    G=_nothing(0, 0, 0),
    C=_nothing(0, 0, 0),
    power=_nothing(0, 0),
    F=_nothing(0),
    Z=_nothing(0),
    Y=_nothing(0),
    marks=_nothing(0, 0, dtype=np.int64),
    jacobian=_nothing(0, 0),
    smooth=_nothing(0, 0, dtype=bool),
    first=_nothing(0, 0, dtype=np.int64),
    size=_nothing(0, 0, dtype=np.int64),
    level=_nothing(0, dtype=np.int64),
    times=_nothing(0, dtype=np.int64),
    fixed=_nothing(0, 0, 0),
    within=_nothing(0, 0),
)


class Calls(NamedTuple):
    """Addresses of compiled functions (:func:`dagtune.compiled.far_call`); 0 where nothing can need the function.

    Parameters
    ----------
    evidence : int
        Of an effect of any kind on one stretch of rows.
    other_kind : int
        Of an effect that is no number.
    changes : int
        What resamples add to the evidence of an effect that is no number.
    """

    evidence: int = 0
    other_kind: int = 0
    changes: int = 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("addresses mean nothing in another process")


NO_CALLS = Calls()


class Problem(NamedTuple):
    """A table as the score sees it: sums over all rows, a sample of rows, the targets, the effects of other kinds.

    One effect's problem may be over fewer rows than another's, and have more parts.
    """

    sums: Sums
    rows: Rows
    targets: Targets
    offer: Offer
    discrete: Discrete
    parts: Parts = NO_PARTS
    shares: Shares = EVEN
    calls: Calls = NO_CALLS
