"""A whole fit of OptimalTuning against its engine time."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import data
from benchmarks.measure import in_child, seconds_of, with_memory


def against_engine() -> dict[str, Any]:
    """d = 40, n = 1600: fit and engine take turns."""
    from dagtune import OptimalTuning, measure_dependence

    X = data(40, 400, 1600)
    OptimalTuning().fit(X)  # compiled now
    fit, engine = seconds_of(lambda: OptimalTuning().fit(X), lambda: measure_dependence(X), repeats=7)
    return {"fit": fit, "engine": engine, "ratio": fit / engine}


def wide() -> dict[str, Any]:
    """d = 200, n = 1000, two edges a node."""
    from dagtune import OptimalTuning

    X = data(200, 400, 1000)
    OptimalTuning().fit(X[:, :5])
    seconds, megabytes, fitted = with_memory(lambda: OptimalTuning().fit(X))
    return {"seconds": seconds, "MiB": megabytes, "edges": int(fitted.adjacency_matrix_.to_numpy().sum())}


def measure() -> dict[str, Any]:
    return {"against_engine": in_child(against_engine), "wide": in_child(wide)}


def render(found: dict[str, Any]) -> str:
    some, wide_one = found["against_engine"], found["wide"]
    return (
        "## The OT learner\n\n"
        f"d = 40, n = 1600: a fit takes {some['fit']:.2f} s, its engine alone {some['engine']:.2f} s: "
        f"**{some['ratio']:.2f}** times (medians of 7, taking turns). d = 200, n = 1000: {wide_one['seconds']:.0f} s, "
        f"{wide_one['MiB']:.0f} MiB over the data, {wide_one['edges']} edges.\n"
    )
