"""From a graph to a decision: total effects with intervals, and a simulator that answers what if."""

from dagtune.effects.adjusted import AdjustedEffects
from dagtune.effects.adjustment import optimal_adjustment
from dagtune.effects.estimates import Curve, Effect
from dagtune.effects.simulator import Counterfactual, Simulator, fit_mechanisms
from dagtune.effects.summary import Summary, summarize

__all__ = [
    "AdjustedEffects",
    "Counterfactual",
    "Curve",
    "Effect",
    "Simulator",
    "Summary",
    "fit_mechanisms",
    "optimal_adjustment",
    "summarize",
]
