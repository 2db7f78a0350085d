"""Large tables for the measurements of docs/scale.md: twenty columns, as many rows as asked, written a piece at a time.

`python -m benchmarks.large FOLDER --rows 10000000 --files 10` writes Parquet files. The graph is the same whatever the
number of rows: 20 variables, 40 edges, sums of tanh and squares with uniform noise, standardised by fixed numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

WIDTH, EDGES = 20, 40
#: Rows drawn at once, each piece with its own seed: so a table of 10^6 rows is the beginning of one of 10^7.
PIECE = 100_000


def graph(width: int = WIDTH, edges: int = EDGES) -> np.ndarray:
    """(d, d) weights of a fixed graph; ``W[i, j]`` is not 0 for ``i -> j``, and i < j."""
    rng = np.random.default_rng(7)
    above = np.argwhere(np.triu(np.ones((width, width)), 1))
    weights = np.zeros((width, width))
    for i, j in above[rng.choice(len(above), edges, replace=False)]:
        weights[i, j] = rng.choice([-1, 1]) * rng.uniform(0.8, 1.6)
    return weights


def piece(number: int, rows: int = PIECE, weights: np.ndarray | None = None) -> np.ndarray:
    """(rows, d) of one piece."""
    weights = graph() if weights is None else weights
    rng = np.random.default_rng([11, number])
    X = rng.uniform(-1.7, 1.7, size=(rows, len(weights)))
    for j in range(len(weights)):
        for i in np.flatnonzero(weights[:, j]):
            X[:, j] += weights[i, j] * (np.tanh(2 * X[:, i]) if (i + j) % 2 else 0.7 * np.abs(X[:, i]))
        X[:, j] /= 1.5
    return X


def write(folder: Path, rows: int, files: int) -> None:
    """A folder of Parquet files, row groups of 100 000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    each = -(-rows // files // PIECE) * PIECE  # whole pieces: no row is in two files
    names = [f"v{j}" for j in range(WIDTH)]
    for file in range(files):
        writer = None
        for start in range(file * each, min((file + 1) * each, rows), PIECE):
            count = min(PIECE, min((file + 1) * each, rows) - start)
            table = pa.table(dict(zip(names, piece(start // PIECE)[:count].T)))
            if writer is None:
                writer = pq.ParquetWriter(folder / f"part-{file:03d}.parquet", table.schema, compression="snappy")
            writer.write_table(table)
        if writer is not None:
            writer.close()


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--rows", type=int, default=10_000_000)
    asked.add_argument("--files", type=int, default=10)
    given = asked.parse_args()
    write(given.folder, given.rows, given.files)
