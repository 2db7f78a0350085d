"""What a screen of candidate neighbours would lose: `python -m benchmarks.screen --nodes 100,200`.

Nothing in the learner uses such a screen yet. For each variable half of the candidates are those with the largest
partial correlation given all others (straight lines), half those whose curves correlate most with its own curves, and
candidates are mutual. Printed is the share of true edges between candidates, for tables of benchmarks.generators.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import rankdata

from benchmarks.fair import LARGE
from benchmarks.generators import Setting

#: What of an inverse correlation matrix would otherwise be noise, in units of a variance.
RIDGE = 1e-3


def curves(x: np.ndarray) -> np.ndarray:
    """(rows, 4) orthonormal: the line, then three cosines of the ranks."""
    u = np.pi * rankdata(x) / (len(x) + 1)
    return np.linalg.qr(np.column_stack([np.ones(len(x)), x - x.mean(), *np.cos(np.outer([2, 3, 4], u))]))[0][:, 1:]


def lines_given_all(X: np.ndarray) -> np.ndarray:
    """(d, d) absolute partial correlations."""
    precision = np.linalg.inv(np.corrcoef(X.T) + RIDGE * np.eye(X.shape[1]))
    scale = np.sqrt(np.diag(precision))
    return np.abs(precision / np.outer(scale, scale)) * ~np.eye(len(scale), dtype=bool)


def curves_alone(X: np.ndarray) -> np.ndarray:
    """(d, d) sums of squared correlations between the curves of two variables."""
    F = np.concatenate([curves(x) for x in X.T], axis=1)
    d = X.shape[1]
    return ((F.T @ F).reshape(d, 4, d, 4) ** 2).sum(axis=(1, 3)) * ~np.eye(d, dtype=bool)


def candidates(X: np.ndarray, count: int) -> np.ndarray:
    """(d, d) boolean, symmetric: ``count`` of each variable's own choice, and who chose it."""
    chosen = np.zeros((X.shape[1],) * 2, dtype=bool)
    for score in (lines_given_all(X), curves_alone(X)):
        np.put_along_axis(chosen, np.argsort(-score, axis=1)[:, : count // 2], True, axis=1)
    return chosen | chosen.T


def main() -> None:
    """Print recall and the mean number of candidates."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--nodes", default="50,100,200,500")
    asked.add_argument("--counts", default="10,20,30,40")
    asked.add_argument("--seeds", type=int, default=3, help="from seed 0 on")
    given = asked.parse_args()
    counts = list(map(int, given.counts.split(",")))
    print("| d | mechanism | " + " | ".join(f"{count} of each" for count in counts) + " |")
    print("|---|---|" + "---|" * len(counts))
    for d in map(int, given.nodes.split(",")):
        for mechanism in LARGE:
            cells = []
            for count in counts:
                found = []
                for seed in range(given.seeds):
                    X, truth = Setting(mechanism, "standardised", nodes=d).draw(seed)
                    chosen = candidates(X, count)
                    found.append((chosen[truth.astype(bool)].mean(), chosen.sum(axis=1).mean()))
                recall = [one for one, _ in found]
                cells.append(f"{np.mean(recall):.3f} ({min(recall):.3f}; {np.mean([many for _, many in found]):.0f})")
            print(f"| {d} | {mechanism} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nShare of true edges among candidates: mean of {given.seeds} tables (least; candidates of a variable).")


if __name__ == "__main__":
    main()
