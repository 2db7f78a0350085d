"""What the paper ran, declared as data, and a runner that resumes.

>>> from dagtune.experiments import reproduce
>>> reproduce("table-tanh", sizes=[10], repeats=2, recipe="released", methods=["ot"], out="results")  # doctest: +SKIP
"""

from dagtune.experiments.cells import NO_RECIPE, RECIPES, SCALES, Cell, recipes_of
from dagtune.experiments.declared import ALWAYS, EXPERIMENTS, METHODS, PHASES, Experiment, Method, Published, published
from dagtune.experiments.runner import CELL_TIMEOUT, Summary, Tick, latest, reproduce
from dagtune.experiments.store import PACKED, RESULTS, Record, from_uncommitted_code, read_results

__all__ = [
    "ALWAYS",
    "CELL_TIMEOUT",
    "EXPERIMENTS",
    "METHODS",
    "NO_RECIPE",
    "PACKED",
    "PHASES",
    "RECIPES",
    "RESULTS",
    "SCALES",
    "Cell",
    "Experiment",
    "Method",
    "Published",
    "Record",
    "Summary",
    "Tick",
    "from_uncommitted_code",
    "latest",
    "published",
    "read_results",
    "recipes_of",
    "reproduce",
]
