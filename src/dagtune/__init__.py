"""dagtune: causal graphs (DAGs) from observational tables.

Everywhere in this package ``A[i, j]`` true means ``i -> j``. Names are imported when they are first used, so that
``import dagtune`` and the help of the command line stay fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagtune import audit, baselines, datasets, experiments, graph, learners, metrics, report, simulate
    from dagtune.bootstrap import EdgeConfidence
    from dagtune.effects import Effect, Simulator, fit_mechanisms
    from dagtune.engine.dependence import (
        Dependence,
        dependence_blocks,
        independence_pvalues,
        measure_dependence,
    )
    from dagtune.engine.independence import hsic, hsic_test
    from dagtune.engine.kernels import KERNELS, Kernel, register_kernel
    from dagtune.estimators import ConditionalTuning, OptimalTuning
    from dagtune.knowledge import Knowledge
    from dagtune.learners import method
    from dagtune.result import Change, Check, Result
    from dagtune.validation import InputError

__version__ = "0.2.0.dev0"

#: Module of each public name; None for a name that is a module itself.
_HOMES = {
    "KERNELS": "engine.kernels",
    "Change": "result",
    "Check": "result",
    "ConditionalTuning": "estimators",
    "Dependence": "engine.dependence",
    "EdgeConfidence": "bootstrap",
    "Effect": "effects",
    "InputError": "validation",
    "Kernel": "engine.kernels",
    "Knowledge": "knowledge",
    "OptimalTuning": "estimators",
    "Result": "result",
    "Simulator": "effects",
    "audit": None,
    "baselines": None,
    "datasets": None,
    "dependence_blocks": "engine.dependence",
    "experiments": None,
    "fit_mechanisms": "effects",
    "graph": None,
    "hsic": "engine.independence",
    "hsic_test": "engine.independence",
    "independence_pvalues": "engine.dependence",
    "learners": None,
    "measure_dependence": "engine.dependence",
    "method": "learners",
    "metrics": None,
    "register_kernel": "engine.kernels",
    "report": None,
    "simulate": None,
}

__all__ = [
    "KERNELS",
    "Change",
    "Check",
    "ConditionalTuning",
    "Dependence",
    "EdgeConfidence",
    "Effect",
    "InputError",
    "Kernel",
    "Knowledge",
    "OptimalTuning",
    "Result",
    "Simulator",
    "__version__",
    "audit",
    "baselines",
    "datasets",
    "dependence_blocks",
    "experiments",
    "fit_mechanisms",
    "graph",
    "hsic",
    "hsic_test",
    "independence_pvalues",
    "learners",
    "measure_dependence",
    "method",
    "metrics",
    "register_kernel",
    "report",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dagtune' has no attribute {name!r}")
    home = _HOMES[name]
    if home is None:
        return import_module(f"dagtune.{name}")
    value = getattr(import_module(f"dagtune.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
