"""Noise of every kind: edges at columns that have nothing to do with the table, and in real tables that were permuted.

``python -m benchmarks.kinds --real FOLDER`` prints

noise     six columns of noise of one kind added to 400 rows and 16 columns of mixed kinds: edges of the default graph
          at them (at most one in 19 of 20 tables)
permuted  all columns of a real table, text and levels too, permuted independently: edges of the default graph (none in
          19 of 20 draws)

Development seeds from 0 on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.mixed import MODELS, draw
from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning

ROWS, COLUMNS, NOISE = 400, 16, 6
Rng = np.random.Generator
NOISES: dict[str, Callable[[Rng], Any]] = {
    "continuous": lambda rng: rng.normal(size=ROWS) if rng.random() < 0.5 else rng.standard_t(2, size=ROWS),
    "binary": lambda rng: rng.choice(["yes", "no"], ROWS, p=_shares(rng, 2)),
    "ordinal": lambda rng: pd.Categorical(
        rng.choice(list("abcd"), ROWS, p=_shares(rng, 4)), categories=list("abcd"), ordered=True
    ),
    "count": lambda rng: rng.poisson(3 * rng.gamma(1.5, 1 / 1.5, size=ROWS)),
    "categorical": lambda rng: rng.choice(list("pqrst"), ROWS, p=_shares(rng, 5)),
}


def _shares(rng: Rng, count: int) -> np.ndarray:
    """Shares of levels, none below 5 %."""
    return 0.05 + (1 - 0.05 * count) * rng.dirichlet(np.ones(count))


def with_noise(kind: str, seed: int) -> tuple[pd.DataFrame, dict[str, str]]:
    """A table of mixed kinds with six columns of noise at its end, and the kinds of the others."""
    frame, kinds, _ = draw(MODELS[seed % 2], COLUMNS, ROWS, seed)
    rng = np.random.default_rng([seed, *kind.encode()])
    more = {f"noise{k}": NOISES[kind](rng) for k in range(NOISE)}
    kept = [name for name in frame if frame[name].nunique() > 1]
    return frame[kept].assign(**more), {name: kinds[name] for name in kept}


def _graph(frame: pd.DataFrame, **options: Any) -> np.ndarray:
    return ConditionalTuning(random_state=0, threads=1, **options).fit(frame).result_.matrix


def noise(draws: int) -> None:
    lines = []
    for kind in NOISES:
        found = []
        for seed in range(draws):
            frame, kinds = with_noise(kind, seed)
            graph = _graph(frame, kinds=kinds)
            found.append(int(graph[-NOISE:].sum() + graph[:-NOISE, -NOISE:].sum()))
        lines.append([kind, f"{sum(n <= 1 for n in found)} of {draws}", " ".join(map(str, found))])
        print(lines[-1], flush=True)
    print(markdown(["six columns of noise", "at most one edge", "edges at them, by draw"], lines), flush=True)


def permuted(folder: Path, draws: int) -> None:
    lines = []
    for path in (path for path in sorted(folder.glob("*.csv")) if not path.name.startswith("pairs")):
        frame, found = pd.read_csv(path), []
        for seed in range(draws):
            rng = np.random.default_rng([seed, *path.stem.encode()])
            mixed = frame.apply(lambda column, rng=rng: rng.permutation(column.to_numpy()))
            found.append(int(_graph(mixed, missing="model").sum()))
        lines.append([path.stem, f"{sum(n == 0 for n in found)} of {draws}", " ".join(map(str, found))])
        print(lines[-1], flush=True)
    print(markdown(["permuted table", "no edge", "edges, by draw"], lines), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kinds", description=__doc__.partition("\n")[0])
    parser.add_argument("--real", type=Path, metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    noise(given.draws)
    if given.real is not None:
        permuted(given.real, given.draws)


if __name__ == "__main__":
    main()
