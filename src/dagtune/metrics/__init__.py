"""How close a guessed graph is to the true one. The truth comes first everywhere; ``A[i, j]`` true means ``i -> j``.

Graphs are matrices, DataFrames or networkx DiGraphs. Names are matched if both sides have them.

Examples
--------
>>> truth = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
>>> guess = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
>>> shd(truth, guess), sid(truth, guess)
(2, 3)
"""

from dagtune.metrics.cpdag import cpdag
from dagtune.metrics.edges import aupr, average_precision, f1, precision, recall, shd
from dagtune.metrics.evaluation import Evaluation, evaluate
from dagtune.metrics.intervention import SidBounds, sid, sid_bounds, sid_mistakes
from dagtune.metrics.orders import order_divergence
from dagtune.metrics.probabilities import Calibration, brier, calibration

__all__ = [
    "Calibration",
    "Evaluation",
    "SidBounds",
    "aupr",
    "average_precision",
    "brier",
    "calibration",
    "cpdag",
    "evaluate",
    "f1",
    "order_divergence",
    "precision",
    "recall",
    "shd",
    "sid",
    "sid_bounds",
    "sid_mistakes",
]
