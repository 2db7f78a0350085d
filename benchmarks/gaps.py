"""Missing values: F1 with all values, with rows left out, with medians, and with draws from what other columns tell.

"anywhere": 10 % of the cells are gone at random. "depending": every second column is gone in 40 % of the rows in which
the next column is above its median. Ten nodes, twenty edges, 1000 rows, standardised; development seeds from 0 on.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.generators import Setting
from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning
from dagtune.metrics import f1

MECHANISMS = ("linear-laplace", "linear-uniform", "additive-gp", "sigmoid", "quadratic", "network")
WAYS = ("anywhere", "depending")
METHODS = ("full", "drop", "impute", "model")


def with_gaps(X: np.ndarray, way: str, rng: np.random.Generator) -> np.ndarray:
    """The table with gaps."""
    Y = X.copy()
    if way == "anywhere":
        Y[rng.random(X.shape) < 0.1] = np.nan
        return Y
    for j in range(0, X.shape[1], 2):
        other = X[:, (j + 1) % X.shape[1]]
        Y[(rng.random(len(X)) < 0.4) & (other > np.median(other)), j] = np.nan
    return Y


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="tables a mechanism")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--mechanisms", default=",".join(MECHANISMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    given = parser.parse_args()
    methods = given.methods.split(",")
    for way in WAYS:
        lines, everything = [], []
        for mechanism in given.mechanisms.split(","):
            found = []
            for seed in range(given.first, given.first + given.seeds):
                X, truth = Setting(mechanism, "standardised").draw(seed)
                Y = with_gaps(X, way, np.random.default_rng(seed))
                found.append([_score(X, "error", truth) if m == "full" else _score(Y, m, truth) for m in methods])
            everything += found
            lines.append([mechanism, *np.mean(found, axis=0).tolist()])
        all_of = np.array(everything)
        lines.append(["all", *all_of.mean(axis=0).tolist()])
        print(f"**{way}**, {len(all_of)} tables\n\n{markdown(['F1', *methods], lines)}", flush=True)
        if {"model", "drop", "full"} <= set(methods):
            for other in ("full", "drop"):
                less = all_of[:, methods.index("model")] - all_of[:, methods.index(other)]
                error = less.std(ddof=1) / np.sqrt(len(less))
                print(f"model less {other}: {less.mean():.3f}, paired standard error {error:.3f}\n", flush=True)


def _score(X: np.ndarray, missing: str, truth: np.ndarray) -> float:
    result = ConditionalTuning(random_state=0, threads=1, missing=missing).fit(X).result_
    return float(np.nan_to_num(f1(truth, result.matrix)))


if __name__ == "__main__":
    main()
