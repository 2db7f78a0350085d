"""Resampled rows: what the evidence of (child, set) would be if other rows had been drawn.

A posterior is too sure where no cell is true: its margins grow with the rows, while what they vary by from sample to
sample may be as large. The mean of the posteriors of resampled tables (the bagged posterior of Huggins and Miller 2023)
says of an order only what other rows of the same origin would say too. A resample that has row t w_t times changes the
log evidence by about

    sum over t of (w_t - 1) l_t,

l_t the log likelihood of the row under the likeliest cell: its parameters are not fitted again. So all resamples
together cost hardly more than one more look at the rows of a set (RELL; Kishino, Miyata and Hasegawa 1990, who so
resample phylogenetic trees).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from dagtune.compiled import compiled
from dagtune.conditional.cells import JOINT, LINKED, functions_of, kernel_of
from dagtune.conditional.discrete import COUNT, ORDERED, rows_by_family, rows_by_table
from dagtune.conditional.mechanisms import functions
from dagtune.conditional.problem import Problem

__all__ = ["changes_of_other_kind", "draw_weights", "row_likelihoods", "sorted_rows"]


def sorted_rows(rows: np.ndarray) -> np.ndarray:
    """Positions of the rows of (d, rows) by their values: neither the rows' order nor the columns' plays a part."""
    return np.lexsort([rows.max(axis=0), rows.min(axis=0), rankdata(rows, axis=1).sum(axis=0)])


def draw_weights(
    rows: np.ndarray, count: int, rng: np.random.Generator, together: np.ndarray | None = None
) -> np.ndarray:
    """(count, rows): how often each of so many resamples of the rows has each of them, less 1.

    Rows with the same number in ``together`` (rows,) are drawn together: a resample has as many such blocks as there
    are, some several times.
    """
    n = rows.shape[1]
    place = np.empty(n, dtype=np.intp)
    place[sorted_rows(rows)] = np.arange(n)
    if together is not None:
        block = np.unique(together, return_inverse=True)[1]
        first = np.full(block.max() + 1, n)
        np.minimum.at(first, block, place)
        place = np.argsort(np.argsort(first))[block]
    blocks = int(place.max()) + 1
    return np.ascontiguousarray((rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=count) - 1.0)[:, place])


@compiled
def changes_of_other_kind(problem: Problem, child: int, S: np.ndarray, cell: int, out: np.ndarray) -> None:
    """``out`` (resamples,) becomes what each resample adds to the log evidence of (child, S); child is no number.

    Those of numbers come with the evidence (:func:`dagtune.conditional.cells.evidence_and_changes`).
    """
    likely = np.empty(problem.rows.Y.shape[1])
    row_likelihoods(problem, child, S, cell, likely)
    out[:] = np.dot(problem.rows.weights, likely)


@compiled
def row_likelihoods(problem: Problem, child: int, S: np.ndarray, cell: int, out: np.ndarray) -> None:
    """``out`` (rows,) becomes the log likelihood of each row of an effect that is no number, up to a constant."""
    if cell == LINKED:
        rows_by_table(problem.discrete, child, S, out)
        return
    X, rough = functions_of(problem, S)
    if cell >= JOINT:
        X = functions(kernel_of(problem, S))
        rough = np.zeros(len(X))
    family = problem.discrete.family[child]
    if family == COUNT and cell % 3 == 1:
        family = ORDERED
    rows_by_family(problem.discrete, child, family, X, rough, out)
