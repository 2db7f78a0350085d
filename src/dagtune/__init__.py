"""dagtune: causal graphs from observational data by kernel dependence measures.

Everywhere in this package ``A[i, j]`` true means ``i -> j``.
"""

from dagtune import graph
from dagtune.validation import InputError

__version__ = "0.1.0"
__all__ = ["InputError", "__version__", "graph"]
