"""dagtune: causal graphs from observational data by kernel dependence measures.

Everywhere in this package ``A[i, j]`` true means ``i -> j``.
"""

from dagtune import graph
from dagtune.dependence import Dependence, dependence_blocks, hsic, hsic_test, independence_pvalues, measure_dependence
from dagtune.kernels import KERNELS, Kernel, register_kernel
from dagtune.validation import InputError

__version__ = "0.1.0"
__all__ = [
    "KERNELS",
    "Dependence",
    "InputError",
    "Kernel",
    "__version__",
    "dependence_blocks",
    "graph",
    "hsic",
    "hsic_test",
    "independence_pvalues",
    "measure_dependence",
    "register_kernel",
]
