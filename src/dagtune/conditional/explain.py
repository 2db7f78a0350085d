"""What the score found of one variable and its causes: the likeliest cell in words, and what that cell leaves over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from dagtune.conditional.apart import parts, tilt_apart
from dagtune.conditional.cells import (
    CELLS,
    JOINT,
    LINKED,
    UNEVEN,
    UNEVEN_JOINT,
    functions_of,
    kernel_of,
    spread_functions,
)
from dagtune.conditional.columns import OTHER_KINDS, SCORES
from dagtune.conditional.discrete import COUNT, ORDERED, Fitted, fit_rows, log_likelihoods, quantile_residuals
from dagtune.conditional.mechanisms import BENDS, additive, fitted, functions, joint
from dagtune.conditional.noise import link, spread, tilt
from dagtune.conditional.score import Score
from dagtune.text import printable

__all__ = ["cell_words", "leftover", "rows"]

_ON = {SCORES: ", on the scale of normal scores"}
#: How an effect that is no number follows from an index of its causes, by its kind.
_LIKELIHOODS = {
    "binary": "logit",
    "ordinal": "cumulative logit",
    "categorical": "logit of one category after the other",
    "count": "negative binomial",
}


def cell_words(score: Score, child: int, S: Sequence[int], name: str) -> str:
    """The likeliest kind of mechanism and noise, and its posterior weight: "erk: smooth sum, heavy-tailed noise, 0.93".

    Kinds are told apart as far as the words do; weights of cells with the same words are added up.
    """
    cells = score.cells(child, S)
    weight = np.exp(cells - special.logsumexp(cells))
    column = score.design.columns[child]
    if column.kind in OTHER_KINDS:
        return f"{printable(name)}: {_words_of_kind(column.kind, weight[0], S)}"
    found: dict[str, float] = {}
    for k, effect in enumerate(column.effects):
        for cell in np.flatnonzero(weight[k] > 1e-3):
            words = _mechanism(score, child, k, int(cell), S) + _noise(score, child, k, int(cell), S)
            words += _ON.get(effect.scale, "")
            found[words] = found.get(words, 0.0) + float(weight[k, cell])
    words = max(found, key=found.__getitem__)
    return f"{printable(name)}: {words}, {found[words]:.2f}"


def _words_of_kind(kind: str, weight: np.ndarray, S: Sequence[int]) -> str:
    """The likeliest cell of an effect that is no number, in words."""
    if not len(S):
        return f"{kind}, no causes, 1.00"
    how = {
        0: "sum",
        1: "sum",
        LINKED: "table of all combinations",
        JOINT: "joint function",
        JOINT + 1: "joint function",
    }
    found: dict[str, float] = {}
    for cell, mechanism in how.items():
        through = "cumulative logit of stretches" if cell % JOINT == 1 else _LIKELIHOODS[kind]
        words = f"{kind}, {mechanism}" if cell == LINKED else f"{kind}, {mechanism} through a {through}"
        found[words] = found.get(words, 0.0) + float(weight[cell])
    words = max(found, key=found.__getitem__)
    return f"{words}, {found[words]:.2f}"


def _fitted(score: Score, child: int, S: Sequence[int]) -> tuple[Fitted, np.ndarray]:
    """The likeliest distribution of an effect that is no number, tables left aside, and the functions it is made of."""
    cells, parents = score.cells(child, S)[0], np.array(sorted(S), dtype=np.int64)
    cells[LINKED] = -np.inf
    cell = int(np.argmax(cells))
    X, rough = functions_of(score.problems[child], parents)
    if cell >= JOINT:
        X = functions(kernel_of(score.problems[child], parents))
        rough = np.zeros(len(X))
    discrete = score.problems[child].discrete
    family = int(discrete.family[child])
    if family == COUNT and cell % JOINT == 1:
        family = ORDERED
    return fit_rows(discrete, child, family, X, rough), X


def rows(score: Score, child: int, S: Sequence[int]) -> np.ndarray:
    """(rows,) log likelihood of each sampled row of an effect that is no number, under its likeliest distribution."""
    fitted, X = _fitted(score, child, S)
    return log_likelihoods(score.problems[child].discrete, child, fitted, X)


def _mechanism(score: Score, child: int, k: int, cell: int, S: Sequence[int]) -> str:
    if not len(S):
        return "no causes"
    if cell >= JOINT:
        return "joint function"
    target = int(score.problems[child].targets.starts[child]) + k
    setting = additive(
        score.problems[child].sums,
        target,
        np.array(sorted(S), dtype=np.int64),
        score.problems[child].targets.first[target],
    ).setting
    plain = "smooth sum" if setting % BENDS else "straight lines"
    return f"{plain} through a bent link" if LINKED <= cell < UNEVEN else plain


def _noise(score: Score, child: int, k: int, cell: int, S: Sequence[int]) -> str:
    uneven = ", spread that varies with the causes" if cell >= UNEVEN_JOINT or UNEVEN <= cell < JOINT else ""
    if cell % 3 == 0:
        return f", Gaussian noise{uneven}"
    e = _residual(score, child, k, cell, S)
    if cell % 3 == 2 and _parting(score, child, S, e) >= 0:
        return f", noise of its own form in each category{uneven}"
    skewness, kurtosis = stats.skew(e), stats.kurtosis(e)
    if abs(skewness) > 0.5 * max(1.0, kurtosis**0.5 if kurtosis > 0 else 1.0):
        return f", skewed noise{uneven}"
    return f", {'heavy-tailed' if kurtosis > 0 else 'light-tailed'} noise{uneven}"


def leftover(score: Score, child: int, S: Sequence[int]) -> np.ndarray:
    """(rows,) what the likeliest cell leaves of a variable: independent of the causes if the cell is true.

    Of an effect that is no number: randomised quantile residuals. Rows that do not count for it have draws of others.
    """
    found = _leftover(score, child, S)
    if child not in score.design.own:
        return found
    kept = score.design.own[child].kept
    everywhere = np.random.default_rng(child).choice(found, len(kept))
    everywhere[kept] = found
    return everywhere


def _leftover(score: Score, child: int, S: Sequence[int]) -> np.ndarray:
    if score.design.columns[child].kind in OTHER_KINDS:
        fitted, X = _fitted(score, child, S)
        return quantile_residuals(score.problems[child].discrete, child, fitted, X, np.random.default_rng(child))
    cells = score.cells(child, S)
    k, cell = np.unravel_index(int(np.argmax(cells)), cells.shape)
    e = _residual(score, child, int(k), int(cell), S)
    parting = _parting(score, child, S, e) if cell % 3 == 2 else -1
    return e if parting < 0 else _of_one_form(e, score.problems[child].discrete.level[parting])


def _parting(score: Score, child: int, S: Sequence[int], e: np.ndarray) -> int:
    """The cause in each of whose categories the noise has a form of its own, by its evidence; -1 if there is none."""
    discrete = score.problems[child].discrete
    best, found = tilt(e), -1
    for j in S:
        if parts(discrete, j):
            value = tilt_apart(e, discrete.level[j], discrete.size[j], np.empty(0))
            if value > best:
                best, found = value, j
    return found


def _of_one_form(e: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Normal scores within each category: what other causes explain is still in them."""
    found = np.empty_like(e)
    for k in np.unique(level):
        rows = level == k
        found[rows] = special.ndtri((stats.rankdata(e[rows]) - 0.5) / rows.sum())
    return found


def _residual(score: Score, child: int, k: int, cell: int, S: Sequence[int]) -> np.ndarray:
    """Residuals of a cell at the sampled rows, brought to one variance where the cell has a varying spread."""
    problem = score.problems[child]
    target = int(problem.targets.starts[child]) + k
    sums, rows = problem.sums, problem.rows
    y, parents = rows.Y[target], np.array(sorted(S), dtype=np.int64)
    if not len(parents):
        return y
    u, out = np.empty(len(y)), np.empty(len(y))
    if cell >= JOINT:
        joint(kernel_of(problem, parents), y, u)
    else:
        fitted(sums, target, parents, additive(sums, target, parents, problem.targets.first[target]).setting, rows.F, u)
    e = y - u
    if LINKED <= cell < UNEVEN or (UNEVEN <= cell < JOINT and _bent(score, child, k, parents)):
        link(u, e, out)
        e = out.copy()
    if cell >= UNEVEN_JOINT or UNEVEN <= cell < JOINT:
        spread(rows.F, spread_functions(parents, sums), e, sums.G, sums.rough, out)
        e = out
    return e


def _bent(score: Score, child: int, k: int, parents: np.ndarray) -> bool:
    """Whether the cell of a varying spread stands on the linked fit, as in cells.py."""
    cells = score.cells(child, parents.tolist())[k]
    assert len(cells) == CELLS
    return bool(cells[LINKED:UNEVEN].max() > cells[:LINKED].max())
