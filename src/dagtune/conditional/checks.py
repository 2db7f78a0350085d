"""After the fit: does the model hold? Residuals must be independent of the parents, or noise is not additive.

For each variable with parents, the HSIC of its residuals with each parent, the p-value of independence (gamma
approximation), the least of them times their number; then Holm's rule over the variables. The residuals were fitted to
the same rows, which makes the test a little lenient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dagtune.engine.dependence import measure_dependence
from dagtune.result import Check
from dagtune.text import printable

__all__ = ["LEVEL", "check_residuals"]

#: Chance of a false alarm over all variables together.
LEVEL = 0.05
#: Rows looked at, evenly spread (a table may be sorted): enough to see what matters, few enough to be done at once.
_ROWS = 2000
_FEW = 200


def check_residuals(
    residuals: np.ndarray, values: np.ndarray, graph: np.ndarray, names: Sequence[str]
) -> tuple[Check, ...]:
    """One check for each variable with parents: (d, rows) residuals against (d, rows) values of its parents.

    ``graph`` is boolean (d, d), ``A[i, j]`` meaning ``i -> j``.
    """
    d = len(graph)
    count = residuals.shape[1]
    seen = np.unique(np.linspace(0, count - 1, min(count, _ROWS)).astype(np.intp))
    left, causes = residuals[:, seen], values[:, seen]
    varied = causes.min(axis=1) < causes.max(axis=1)  # a rare event may not be among the rows looked at
    graph = graph & varied[:, None]
    children = [j for j in range(d) if graph[:, j].any() and left[j].std() > 1e-9]
    if not children or count < 8:
        return ()
    causes = np.where(varied[:, None], causes, np.arange(len(seen)))  # no parent of anyone: any numbers will do
    columns = np.concatenate([left[children], causes])
    # So few rows are done before the engine has weighed its paths or a second thread has begun.
    few = len(seen) <= _FEW
    measured = measure_dependence(columns.T, order=1, engine="dense" if few else "auto", threads=1 if few else None)
    p_values = measured.pvalues()[: len(children), len(children) :]
    statistics = measured.first[: len(children), len(children) :]
    found = []
    for row, child in enumerate(children):
        parents = np.flatnonzero(graph[:, child])
        worst = int(parents[int(np.argmin(p_values[row, parents]))])
        p = min(1.0, float(p_values[row, worst]) * len(parents))
        found.append((child, parents, worst, float(statistics[row, worst]), p))
    fails = _holm([p for *_, p in found])
    return tuple(
        Check(
            child=names[child],
            against=tuple(names[int(j)] for j in parents),
            statistic=statistic,
            p_value=p,
            holds=not wrong,
            words=_words(names[child], names[worst], p, wrong),
        )
        for (child, parents, worst, statistic, p), wrong in zip(found, fails)
    )


def _holm(p_values: Sequence[float]) -> list[bool]:
    """Which hypotheses fall, by Holm's step-down rule at LEVEL."""
    falls = [False] * len(p_values)
    for step, k in enumerate(np.argsort(p_values)):
        if p_values[k] > LEVEL / (len(p_values) - step):
            break
        falls[k] = True
    return falls


def _words(child: str, worst: str, p: float, wrong: bool) -> str:
    child, worst = printable(child), printable(worst)
    if not wrong:
        return f"what is left of {child} looks independent of its causes (p = {p:.2g})"
    return (
        f"what is left of {child} still depends on {worst} (p = {p:.2g}): its noise is not additive, a cause is "
        "missing, or an edge points the wrong way"
    )
