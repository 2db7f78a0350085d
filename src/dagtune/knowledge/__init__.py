"""Prior knowledge about a graph: required edges, forbidden edges, tiers, roots, and beliefs in edges."""

from dagtune.knowledge.knowledge import Knowledge

__all__ = ["Knowledge"]
