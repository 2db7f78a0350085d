"""Does the first suggestion of "what next" help more than a random open pair? SID after the true answer is given.

The answer forbids what is not true of the pair: the reverse edge, or both directions. The fit is repeated with it.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.generators import Setting
from dagtune import ConditionalTuning, Knowledge
from dagtune.metrics import sid


def after(X: np.ndarray, truth: np.ndarray, pair: tuple[int, int]) -> float:
    """SID of the graph learned with the true answer about a pair."""
    wrong = [(f"x{i}", f"x{j}") for i, j in (pair, pair[::-1]) if not truth[i, j]]
    result = ConditionalTuning(random_state=0, knowledge=Knowledge(forbidden=wrong)).fit(X).result_
    return float(sid(truth, result.matrix))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--first", type=int, default=100, help="first seed")
    asked = parser.parse_args()
    gains, seed = [], asked.first
    while len(gains) < asked.tables:
        X, truth = Setting("linear-gaussian", "standardised", nodes=8, rows=500).draw(seed)
        result = ConditionalTuning(random_state=0).fit(X).result_
        questions = result.next_questions(most=1000)
        rng, seed = np.random.default_rng(seed), seed + 1
        if len(questions) < 2:
            continue
        pairs = [(result.names.index(q.cause), result.names.index(q.effect)) for q in questions]
        other = pairs[int(rng.integers(len(pairs)))]
        before = float(sid(truth, result.matrix))
        gains.append((before - after(X, truth, pairs[0]), before - after(X, truth, other)))
    first, random = np.array(gains).T
    half = 1.96 * (first - random).std(ddof=1) / np.sqrt(len(gains))
    print(
        f"### What next: fall of the SID by one answer, {len(gains)} tables, linear Gaussian, 8 variables, 500 rows\n"
    )
    print("| first suggestion | a random open pair | paired difference, 95 % interval |\n|---|---|---|")
    mean = float((first - random).mean())
    print(f"| {first.mean():.2f} | {random.mean():.2f} | {mean:.2f} ({mean - half:.2f} to {mean + half:.2f}) |")


if __name__ == "__main__":
    main()
