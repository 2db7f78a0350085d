"""Other ways to guess a graph, chance included: BASELINES[name](X, rng=) -> boolean DAG, ``A[i, j]`` means ``i -> j``.

A method that needs an extra library imports it inside its function, and says which ``pip install`` line mends its lack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dagtune.baselines import adapters, cam, chance, ges, notears, notears_mlp, npvar, score_matching, sorting
from dagtune.baselines.common import Learned, Learner, TimeLimitError, graph_of
from dagtune.graph import as_matrix, topological_order
from dagtune.validation import InputError, check_choice

__all__ = ["BASELINES", "CHANCE", "EXTERNAL", "LEARNERS", "Baseline", "Learned", "TimeLimitError", "run"]

#: (data, rng=) -> boolean (d, d) DAG.
Baseline = Callable[..., np.ndarray]

#: The richer call of each method that has one: (data, rng=, time_limit=, progress=, ...) -> Learned.
LEARNERS: dict[str, Learner] = {
    "ges": ges.learn_ges,
    "notears-linear": notears.learn_notears_linear,
    "notears-mlp": notears_mlp.learn_notears_mlp,
    "npvar": npvar.learn_npvar,
    "score": score_matching.learn_score,
    "nogam": score_matching.learn_nogam,
    "cam": cam.learn_cam,
    "cam-no-selection": cam.learn_cam_no_selection,
    "cam-r-defaults": cam.learn_cam_r_defaults,
    "sortnregress": sorting.learn_sortnregress,
    "r2-sortnregress": sorting.learn_r2_sortnregress,
    "r2-sorted": sorting.learn_r2_sorted,
}

#: The same for methods of packages that only the user can bring.
EXTERNAL: dict[str, Learner] = {
    "pc": adapters.learn_pc,
    "grasp": adapters.learn_grasp,
    "boss": adapters.learn_boss,
    "direct-lingam": adapters.learn_direct_lingam,
    "resit": adapters.learn_resit,
    "dagma-linear": adapters.learn_dagma_linear,
}

#: The methods by name; open to a user's own.
BASELINES: dict[str, Baseline] = {
    "empty": chance.empty,
    "random-complete": chance.random_complete,
    "variance-sorted": chance.variance_sorted,
    **{name: graph_of(learn) for name, learn in LEARNERS.items()},
}

#: What stands beside every method in every table.
CHANCE = ("empty", "random-complete", "variance-sorted")


def run(name: str, X: Any, *, rng: Any = None) -> np.ndarray:
    """The named method's DAG, from BASELINES or EXTERNAL.

    An unknown name is refused, and so is an answer that is no DAG of the data's columns.
    """
    methods = {**{external: graph_of(learn) for external, learn in EXTERNAL.items()}, **BASELINES}
    guess = as_matrix(methods[check_choice("baseline", name, methods)](X, rng=rng))
    columns = np.shape(X)[1]
    if len(guess) != columns:
        raise InputError(f"baseline {name!r} gave a graph of {len(guess)} nodes for {columns} columns: mend the method")
    topological_order(guess)
    return guess
