"""Named tables to judge learners on: drawn, bundled, and real ones from a folder that is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.generators import MECHANISMS, Setting

#: The seven models of the paper.
PAPER_MODELS = ("mlp100", "mlp2", "tanh", "sigmoid-mix", "abs", "mlp-tanh", "abs-tanh")
Make = Callable[[], pd.DataFrame]


def paper_table(model: str, size: str, seed: int, *, standardize: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """A dense table of the paper, printed recipe, and its graph."""
    from dagtune.simulate import SIZES, random_dag, sample

    truth = random_dag(SIZES[size].nodes, SIZES[size].edges, rng=seed)
    return sample(truth, model, n=SIZES[size].rows, rng=seed, standardize=standardize), truth


def drawn_tables(seed: int) -> dict[str, Make]:
    """Eighteen: twelve mechanisms, d = 10, n = 1000, raw and standardised in turn; six of the paper's models, d = 20.

    Left out are "mixed" of the mechanisms, which holds the others, and "mlp2" of the models.
    """
    found: dict[str, Make] = {}
    for k, mechanism in enumerate(name for name in MECHANISMS if name != "mixed"):
        scale = ("raw", "standardised")[k % 2]
        found[f"{mechanism}, {scale}"] = lambda m=mechanism, s=scale: _frame(Setting(m, s).draw(seed)[0])
    for k, model in enumerate(name for name in PAPER_MODELS if name != "mlp2"):
        standardize = bool(k % 2)
        name = f"paper {model}, {'standardised' if standardize else 'raw'}"
        found[name] = lambda m=model, s=standardize: paper_table(m, "d20", seed, standardize=s)[0]
    return found


def bundled_tables() -> dict[str, Make]:
    """The data sets in the package."""
    from dagtune.datasets import DATASETS, load

    return {name: lambda name=name: load(name).X for name in DATASETS}


def real_tables(folder: str | None) -> dict[str, Make]:
    """The tables of a folder of CSV files (not its pairs), numeric columns only; none without a folder."""
    if folder is None:
        return {}
    paths = sorted(path for path in Path(folder).glob("*.csv") if not path.name.startswith("pairs"))
    return {path.stem: lambda path=path: pd.read_csv(path).select_dtypes("number") for path in paths}


def _frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
