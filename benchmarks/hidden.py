"""Are hidden common causes noticed? Tables with and without one, and whether any pair is suspected.

A table has eight variables of ``benchmarks.generators``. "With": a root with two or more children is drawn too and its
column left out. "Without": all columns are given. An alarm is what ``result.hidden_cause_test``
says of all pairs.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.generators import Setting
from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning

MECHANISMS = ("linear-gaussian", "linear-uniform", "linear-laplace", "linear-exponential", "additive-gp", "sigmoid")


def alarm(X: np.ndarray) -> bool:
    """Whether a hidden cause is suspected."""
    test = ConditionalTuning(random_state=0).fit(X).result_.hidden_cause_test
    return test is not None and test.suspected


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hidden", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="tables a mechanism")
    parser.add_argument("--first", type=int, default=100, help="first seed")
    parser.add_argument("--rows", type=int, default=1000)
    asked = parser.parse_args()
    rows, false, right = [], [], []
    for mechanism in MECHANISMS:
        without, with_hidden = [], []
        for seed in range(asked.first, asked.first + asked.seeds):
            X, truth = Setting(mechanism, "standardised", nodes=8, rows=asked.rows).draw(seed)
            without.append(alarm(X))
            forks = np.flatnonzero((truth.sum(axis=0) == 0) & (truth.sum(axis=1) > 1))
            if len(forks):
                with_hidden.append(alarm(np.delete(X, forks[0], axis=1)))
        rows.append([mechanism, f"{np.mean(without):.2f} of {len(without)}",
                     f"{np.mean(with_hidden):.2f} of {len(with_hidden)}"])  # fmt: skip
        false += without
        right += with_hidden
    rows.append(["all", f"{np.mean(false):.2f} of {len(false)}", f"{np.mean(right):.2f} of {len(right)}"])
    print(f"### Hidden common causes: a root with two or more children left out, 8 variables, {asked.rows} rows\n")
    print(markdown(["mechanism", "false alarms without", "alarms with"], rows))


if __name__ == "__main__":
    main()
