"""How often, on real pairs, a direction with a given margin a row was right.

A posterior is too sure where none of its cells is true, as on real tables: more rows make it surer, not better. So a
result also says how often, on real pairs whose direction is known, a direction with such a margin m, in nats a row, was
right, fitted as

    P(right | m) = 1 / (1 + exp(-a sqrt(m))),

1/2 without a margin; margins beyond the largest of the record count as that. `python -m benchmarks.pairs --real PATH`
makes the number a and says how it does on sources left out: hardly better than a constant. The pairs are 44 of the
Tuebingen cause-effect collection (Mooij et al. 2016), from 17 sources, weighted so that a source with many pairs counts
as one, at most 1000 rows of each.
"""

from __future__ import annotations

import numpy as np
from scipy import special

__all__ = ["LARGEST", "SLOPE", "WORDS", "track_record"]

#: The a of the formula, and the largest margin of the record.
SLOPE, LARGEST = 6.62, 0.159
WORDS = (
    "how often a direction as clear as this one was right, on 44 real pairs of known direction; "
    "it does not say whether there is an edge"
)


def track_record(margin: np.ndarray) -> np.ndarray:
    """P(right) of each direction from its margin in nats a row; NaN on the diagonal.

    Parameters
    ----------
    margin : ndarray, shape (d, d)
        Nats a row for i -> j against j -> i, antisymmetric; infinite where knowledge decides.

    Examples
    --------
    >>> import numpy as np
    >>> track_record(np.array([[0.0, np.inf], [-np.inf, 0.0]])).round(2)
    array([[nan,  1.],
           [ 0., nan]])
    """
    size = np.minimum(np.abs(margin), LARGEST)
    found = special.expit(np.sign(margin) * SLOPE * np.sqrt(size))
    found = np.where(np.isfinite(margin), found, margin > 0)
    np.fill_diagonal(found, np.nan)
    return found
