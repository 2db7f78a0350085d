"""Do 90 % intervals of total effects hold the truth? Simulated tables with known effects.

The truth of a step is found by setting the cause in the generator itself, with the same noise. Each table gives all
ordered pairs: those with a directed path in the true graph have a non-zero effect, the others none. Beside our interval
stand two that take the learned DAG as known: our own regression in it alone, and, with ``--dowhy`` in an environment
that has the package (``make handover`` makes one), DoWhy's linear regression. In the last model causes multiply, which
the effects' regression can't hold: there the result must say so (``Effect.caution``).
"""

from __future__ import annotations

import argparse
import logging
import warnings
from typing import Any, NamedTuple

import numpy as np

from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning
from dagtune.effects.adjusted import AdjustedEffects
from dagtune.graph import reachability, topological_order
from dagtune.simulate import random_dag

#: Well-specified models: every mechanism is one that the learner averages over and the effects' regression can hold.
MODELS = ("linear-gaussian", "linear-laplace", "linear-uniform", "smooth-sum")
#: Beside those, for what the result says where its intervals do not apply.
OTHERS = ("products",)


class Model:
    """A drawn graph with its functions; ``rows`` generates a table, with a variable set if asked."""

    def __init__(self, name: str, seed: int, nodes: int = 6, edges: int = 8) -> None:
        self.name, self.nodes = name, nodes
        rng = np.random.default_rng([2027, (*MODELS, *OTHERS).index(name), seed])
        self.graph = np.asarray(random_dag(nodes, edges, rng=rng), dtype=bool)
        self.weight = rng.uniform(0.5, 1.5, (nodes, nodes)) * rng.choice([-1.0, 1.0], (nodes, nodes))
        self.sigma = rng.uniform(0.5, 1.5, nodes)
        self.bend = rng.uniform(0.5, 1.5, (nodes, nodes))

    def noise(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        draw = {
            "linear-laplace": lambda: rng.laplace(size=(rows, self.nodes)) / np.sqrt(2),
            "linear-uniform": lambda: rng.uniform(-np.sqrt(3), np.sqrt(3), (rows, self.nodes)),
        }.get(self.name, lambda: rng.normal(size=(rows, self.nodes)))
        return self.sigma * draw()

    def rows(self, noise: np.ndarray, do: tuple[int, float] | None = None) -> np.ndarray:
        X = np.zeros_like(noise)
        for j in topological_order(self.graph):
            causes = np.flatnonzero(self.graph[:, j])
            bent = X[:, causes] if self.name.startswith("linear") else np.tanh(self.bend[causes, j] * X[:, causes])
            X[:, j] = noise[:, j] + bent @ self.weight[causes, j]
            if self.name == "products" and len(causes) > 1:
                X[:, j] += 2 * bent[:, 0] * bent[:, 1]
            if do is not None and do[0] == j:
                X[:, j] = do[1]
        return X


class Row(NamedTuple):
    """One ordered pair of a table: whether there is an effect, which intervals hold it, and their widths."""

    table: int
    there: bool
    held: tuple[bool, ...]
    width: tuple[float, ...]
    cautioned: bool


def one(name: str, seed: int, rows: int, dowhy: bool = False) -> list[Row]:
    """Fit a table and compare the intervals of all ordered pairs with the truth."""
    model = Model(name, seed)
    rng = np.random.default_rng([2028, seed])
    X = model.rows(model.noise(rng, rows))
    result = ConditionalTuning(random_state=seed).fit(X).result_
    summary = result.simulator.summary
    single = AdjustedEffects(summary, result.matrix[None])
    noise = model.noise(rng, 20_000)
    reach = reachability(model.graph)
    found = []
    for x in range(model.nodes):
        a, b = summary.step(x)
        change = (model.rows(noise, (x, b)) - model.rows(noise, (x, a))).mean(axis=0)
        for y in range(model.nodes):
            if x == y:
                continue
            pair = (f"x{x}", f"x{y}")
            ours = result.effect(*pair)
            intervals = [ours.interval, single.effect(*pair).interval]
            if dowhy:
                intervals.append(_dowhy(result, X, pair, a, b))
            slack = 1e-9 + 4e-3 * abs(change[y])  # error of the simulated truth
            held = tuple(bool(low - slack <= change[y] <= high + slack) for low, high in intervals)
            width = tuple(high - low for low, high in intervals)
            found.append(Row(seed, bool(reach[x, y]), held, width, bool(ours.caution)))
    return found


def _dowhy(result: Any, X: np.ndarray, pair: tuple[str, str], a: float, b: float) -> tuple[float, float]:
    """The 90 % interval of DoWhy's linear regression, given the learned DAG."""
    import pandas as pd

    model = result.to_dowhy(pd.DataFrame(X, columns=list(result.names)), *pair)
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    if estimand.no_directed_path:
        return 0.0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = model.estimate_effect(
            estimand,
            method_name="backdoor.linear_regression",
            control_value=a,
            treatment_value=b,
            effect_modifiers=[],  # with them the interval is bootstrapped, which takes seconds a pair
        )
        low, high = np.ravel(estimate.get_confidence_intervals(confidence_level=0.9))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="tables a model")
    parser.add_argument("--first", type=int, default=100, help="first seed")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--dowhy", action="store_true", help="also DoWhy's interval; needs the package dowhy")
    asked = parser.parse_args()
    if asked.dowhy:
        logging.getLogger("dowhy").setLevel(logging.ERROR)
    seeds = range(asked.first, asked.first + asked.seeds)
    found = {
        name: [row for seed in seeds for row in one(name, seed, asked.rows, asked.dowhy)] for name in MODELS + OTHERS
    }
    found["the first four"] = [row for name in MODELS for row in found[name]]
    whose = ["ours", "best single graph", *(["DoWhy"] if asked.dowhy else [])]
    print(
        f"### 90 % intervals of total effects, {asked.seeds} tables a model from seed {asked.first}, 6 variables, "
        f"{asked.rows} rows\n"
    )
    head = ["model", *(f"{what}: {who}" for what in ("non-zero", "zero") for who in whose), "median width",
            "pairs with a caution", "non-zero: ours, without a caution"]  # fmt: skip
    print(markdown(head, [_row(name, found[name]) for name in (*MODELS, "the first four", *OTHERS)]))


def _row(name: str, found: list[Row]) -> list[str]:
    there = np.array([row.there for row in found])
    held, width = np.array([row.held for row in found]), np.array([row.width for row in found])
    cautioned = np.array([row.cautioned for row in found])
    table = np.array([row.table for row in found])
    shares = [_share(held[at, k], table[at]) for at in (there, ~there) for k in range(held.shape[1])]
    trusted = there & ~cautioned
    return [
        name,
        *shares,
        " / ".join(f"{one:.2f}" for one in np.median(width[there], axis=0)),
        f"{cautioned[there].mean():.2f}",
        _share(held[trusted, 0], table[trusted]) if trusted.any() else "",
    ]


def _share(held: np.ndarray, table: np.ndarray) -> str:
    """A share, its standard error (pairs of one table go together), and of how many pairs."""
    mean = held.mean()
    sums = [np.sum(held[table == one] - mean) for one in np.unique(table)]
    return f"{mean:.3f} ± {np.linalg.norm(sums) / len(held):.3f} of {len(held)}"


if __name__ == "__main__":
    main()
