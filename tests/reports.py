"""Results that the tests of pictures, page and browser show."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dagtune import graph
from dagtune.ot.algorithm import optimal_tuning
from dagtune.result import Change, Measured, Result
from dagtune.simulate import random_dag

#: Column names that would do harm or hide if they were taken for anything but text.
HOSTILE = (
    "<script>window.ran = 1</script>",
    '"><img src=x onerror="window.ran = 2">',
    "</script><script>window.ran = 3</script>",
    "<!--<script>",
    "]]>&lt;b&gt;{{DATA}}",
    "javascript:window.ran=4",
    "${window.ran = 5}`",
    "bell\x07\x1b[31mred\x00",
    "\u202egnp.exe",
    "\u2028line\u2029paragraph",
    "",
    " ",
    "\u3164",
    "__proto__",
    "constructor",
    "$\\frac{$ _^",
    "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{GRINNING FACE}",
    "\u05d0\u05d1\u05d2",
    "long " * 80,
)


def learned(names=("a", "b", "c", "d", "e"), seed=0, **options):
    """(result, X) of the OT algorithm over tanh variables in a chain of sums."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, len(names)))
    for j in range(1, len(names)):
        X[:, j] += np.tanh(X[:, max(0, j - 2) : j]).sum(axis=1)
    X = pd.DataFrame(X, columns=list(names))
    return optimal_tuning(X, kernel="sigmoid", threads=1, **options), X


def believed(d, edges, seed=0, names=None):
    """The result of ``drawn`` with probabilities: 0.95 for each edge but the first, whose direction is open."""
    result = drawn(d, edges, seed, names)
    probability = np.where(result.matrix, 0.95, 0.0)
    i, j = np.argwhere(result.matrix)[0]
    probability[i, j], probability[j, i] = 0.6, 0.38
    record = np.where(np.eye(d), np.nan, 0.76)
    words = {"probability_words": "drawn <b>", "track_record_words": "invented <b>"}
    return replace(result, probability=probability, track_record=record, **words)


def drawn(d, edges, seed=0, names=None):
    """A result over a random DAG: an undirected skeleton, its orientation, and a repair that takes some edges out."""
    rng = np.random.default_rng(seed)
    names = tuple(names or (f"gene_{i:02d}" for i in range(d)))
    dag = graph.as_matrix(random_dag(d, edges, rng=seed))
    later = graph.complete(graph.topological_order(dag))
    wrong = later & ~dag & (rng.random((d, d)) < 1.5 / d)
    oriented = dag | wrong
    back = [
        Change("deletion", "delete", (names[j], names[i]), "it runs against the order", None, ())
        for i, j in np.argwhere(oriented)
    ]
    out = [
        Change("repair", "remove", (names[i], names[j]), "it says nothing new", (names[j], names[i]), (number,))
        for i, j in np.argwhere(wrong)
        for number in [Measured("gain", names[j], (names[i],), 0.0123)]
    ]
    return Result(
        names=names,
        history={"optimal": oriented | oriented.T, "deletion": oriented, "repair": dag},
        changes=(*back, *out),
        strength=np.where(dag, rng.gamma(2.0, size=(d, d)), np.nan),
        strength_words="strength: invented",
        opening=rng.random((d, d)),
        opening_words="score is",
        assumptions=("no cycles",),
        warnings=("these numbers were drawn",),
        settings={"learner": "invented", "rows": 400},
    )
