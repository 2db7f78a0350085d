"""Random graphs, data from named models, and how much sorting alone reveals about such data.

Examples
--------
>>> graph = random_dag(10, 40, rng=0)
>>> X = sample(graph, model="tanh", n=100, recipe="printed", rng=0)
>>> X.shape
(100, 10)
"""

from dagtune.simulate.generate import Simulation, sample, simulate
from dagtune.simulate.graphs import SIZES, Size, erdos_renyi_dag, random_dag, scale_free_dag
from dagtune.simulate.models import MODELS, Mechanism, Node, register_model, signed_uniform
from dagtune.simulate.noise import NOISES
from dagtune.simulate.sortability import r2_sortability, var_sortability

__all__ = [
    "MODELS",
    "NOISES",
    "SIZES",
    "Mechanism",
    "Node",
    "Simulation",
    "Size",
    "erdos_renyi_dag",
    "r2_sortability",
    "random_dag",
    "register_model",
    "sample",
    "scale_free_dag",
    "signed_uniform",
    "simulate",
    "var_sortability",
]
