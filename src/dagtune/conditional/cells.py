"""All cells of one effect and one set of causes: mechanism x spread x distribution, each with its log evidence.

A target is a variable on one scale (its own, normal scores); its cells are, by position,

    0 additive    3 additive, bent link    6 additive, varying spread    9 joint    12 joint, varying spread

each followed by the same with a shaped and with any other distribution in place of the Gaussian. The varying spread is
that of what the likelier of the two additive fits leaves. The mean over cells is weighted by how common each is among
the variables of the table (:mod:`dagtune.conditional.shares`). Where a cell is not offered, or not possible (a link or
a spread without causes, a joint function of one), the simpler cell that it then is has its share.

An effect that is no number (:mod:`dagtune.conditional.discrete`) has the cells 0 sum, 1 sum on pooled levels (counts),
3 table, 9 joint, 10 joint on pooled levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagtune.compiled import compiled, far_call
from dagtune.conditional.apart import any_distribution, any_rows
from dagtune.conditional.discrete import COUNT, NUMBER, ORDERED, Discrete, by_family, by_table
from dagtune.conditional.mechanisms import FIRST, Kernel, Sums, additive, fitted, functions, joint, kernel
from dagtune.conditional.noise import link, shaped, spread
from dagtune.conditional.numbers import NEGLIGIBLE, SPREAD_BENDS
from dagtune.conditional.problem import Problem, Rows, Targets

__all__ = [
    "CELLS",
    "Evidence",
    "evidence",
    "evidence_and_changes",
    "log_mean",
    "log_shares",
    "of_other_kind",
    "one_evidence",
    "stands_for",
]

#: Most cells of a target, and which is which.
CELLS = 15
ADDITIVE, LINKED, UNEVEN, JOINT, UNEVEN_JOINT = 0, 3, 6, 9, 12
_NEVER = -1e300


@compiled
def stands_for(problem: Problem, target: int, causes: int) -> tuple[np.ndarray, np.ndarray]:
    """Which mechanism (5,) and which distribution (3,) each one is for this target: itself, or a simpler one.

    A joint function of one cause is a sum; without causes nothing is bent or varies.
    """
    offer, targets = problem.offer, problem.targets
    mechanism, distribution = np.arange(5), np.arange(3)
    if not (offer.link and causes > 0):
        mechanism[1] = 0
    if not (offer.joint and targets.joint[target] and causes > 1):
        mechanism[3], mechanism[4] = 0, 2
    if not (offer.varying_spread and targets.spread[target] and causes > 0):
        mechanism[2], mechanism[4] = 0, mechanism[3]
    if not (offer.any_distribution and targets.smooth[target]):
        distribution[:] = 0
    return mechanism, distribution


@compiled
def log_shares(problem: Problem, child: int, target: int, causes: int) -> np.ndarray:
    """(CELLS,) log prior probabilities of a target's cells with so many causes; -1e300 for what is not offered."""
    shares, starts = problem.shares, problem.targets.starts
    mechanism, distribution = stands_for(problem, target, causes)
    found = np.zeros(CELLS)
    for g in range(5):
        for k in range(3):
            found[3 * mechanism[g] + distribution[k]] += shares.mechanism[g] * shares.distribution[k]
    scale = 0.0
    if starts[child + 1] - starts[child] > 1:
        scale = np.log(shares.scale[0 if problem.targets.own[target] else 1])
    for k in range(CELLS):
        found[k] = np.log(found[k]) + scale if found[k] > 0 else _NEVER
    return found


@compiled
def log_mean(values: np.ndarray, count: int) -> float:
    """log(sum exp(values) / count)."""
    most = _NEVER
    for value in values:
        most = max(most, value)
    total = 0.0
    for value in values:
        total += np.exp(value - most)
    return most + np.log(total / count)


@compiled
def _distributions(
    discrete: Discrete, S: np.ndarray, e: np.ndarray, base: float, many: bool, cells: np.ndarray, at: int
) -> float:
    """Fill three cells from ``at`` on, the Gaussian's evidence being ``base``; the greatest of them."""
    cells[at] = base
    if many:
        cells[at + 1] = base + shaped(e)
        cells[at + 2] = base + any_distribution(discrete, S, e)
    return max(cells[at], cells[at + 1], cells[at + 2])


@compiled(inner=True)
def _of_fit(
    problem: Problem,
    target: int,
    S: np.ndarray,
    u: np.ndarray,
    base: float,
    cells: np.ndarray,
    at: int,
    left: np.ndarray,
) -> float:
    """Fill the cells of a fit u whose Gaussian evidence is ``base``, and what they leave; the fall of log V by a bent
    link."""
    sums, offer, discrete, wanted = problem.sums, problem.offer, problem.discrete, len(left) > 0
    many = offer.any_distribution and problem.targets.smooth[target]
    e = problem.rows.Y[target] - u
    best = _distributions(discrete, S, e, base, many, cells, at)
    fall = 0.0
    if wanted:
        left[at // 3] = e
    if len(S) == 0:
        return fall
    if at == ADDITIVE and offer.link:
        bent = np.empty_like(e)
        nats, lower = link(u, e, bent)
        if nats > -NEGLIGIBLE:
            linked = _distributions(discrete, S, bent, base + nats, many, cells, LINKED)
            if wanted:
                left[1] = bent
            if linked > best:
                e, base, fall, best = bent, base + nats, lower, linked
    if offer.varying_spread and problem.targets.spread[target]:
        even, idx = np.empty_like(e), spread_functions(S, sums)
        nats = spread(problem.rows.F, idx, e, sums.G, sums.rough, even)
        if nats > -NEGLIGIBLE:
            uneven = UNEVEN if at == ADDITIVE else UNEVEN_JOINT
            _distributions(discrete, S, even, base + nats, many, cells, uneven)
            if wanted:
                left[uneven // 3] = even
                left[5] = e if at == ADDITIVE else left[5]
    return fall


@compiled
def _all_functions(S: np.ndarray, starts: np.ndarray) -> np.ndarray:
    total = 0
    for j in S:
        total += starts[j + 1] - starts[j]
    found, total = np.empty(total, np.int64), 0
    for j in S:
        for k in range(starts[j], starts[j + 1]):
            found[total] = k
            total += 1
    return found


@compiled
def spread_functions(S: np.ndarray, sums: Sums) -> np.ndarray:
    """Which functions of the parents the log variance of the noise may have: lines, categories, the smoothest bends."""
    found = _all_functions(S, sums.starts)
    total, bends = 0, 0
    for k in found:
        if sums.rough[k] == 0.0:
            bends = 0
        else:
            bends += 1
        if bends <= SPREAD_BENDS:
            found[total] = k
            total += 1
    return found[:total]


@compiled
def kernel_of(problem: Problem, S: np.ndarray) -> Kernel:
    """The joint mechanism's kernel on the columns of S."""
    rows = problem.rows
    idx = _all_functions(S, rows.starts)
    X = np.empty((len(idx), rows.Z.shape[1]))
    for a in range(len(idx)):
        X[a] = rows.Z[idx[a]]
    return kernel(X, len(S), rows.marks)


@compiled(inner=True)
def additive_cells(
    problem: Problem, target: int, S: np.ndarray, cells: np.ndarray, left: np.ndarray
) -> tuple[float, float, int, int]:
    """Fill the additive cells of a target, and what they leave; mean and variance of log V; the best settings."""
    sums = problem.sums
    u = np.zeros(problem.rows.Y.shape[1])
    plain = additive(sums, target, S, problem.targets.first[target])
    if len(S) > 0:
        fitted(sums, target, S, plain.setting, problem.rows.F, u)
    fall = _of_fit(problem, target, S, u, plain.value, cells, ADDITIVE, left)
    return plain.log_v - fall, plain.vague, plain.setting, plain.other


@compiled(inner=True)
def joint_cells(
    problem: Problem, target: int, S: np.ndarray, given: Kernel, cells: np.ndarray, left: np.ndarray
) -> tuple[float, float]:
    """Fill the joint cells of a target, and what they leave; mean and variance of log V."""
    u = np.empty(problem.rows.Y.shape[1])
    value, log_v, vague = joint(given, problem.rows.Y[target], u)
    _of_fit(problem, target, S, u, value, cells, JOINT, left)
    return log_v, vague


class Evidence(NamedTuple):
    """Log evidence of (child, set) over all cells; mean and variance of log V on its own scale; the weight of other
    scales; likeliest target, its likeliest cell, and the additive settings."""

    value: float
    log_v: float
    vague: float
    free: float
    top: int
    cell: int
    setting: int
    other: int


_LIKE = Evidence(0.0, 0.0, 0.0, 0.0, 0, 0, 0, 0)


@compiled
def functions_of(problem: Problem, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The functions of the causes S at the rows (m, rows), and their roughness."""
    idx = _all_functions(S, problem.sums.starts)
    X, rough = np.empty((len(idx), problem.rows.Y.shape[1])), np.empty(len(idx))
    for a in range(len(idx)):
        X[a], rough[a] = problem.rows.F[idx[a]], problem.sums.rough[idx[a]]
    return X, rough


@compiled
def of_other_kind(problem: Problem, child: int, S: np.ndarray, cells: np.ndarray) -> Evidence:
    """L(child, S) of an effect that is no number; log V is minus twice its greatest log likelihood a row."""
    discrete, first = problem.discrete, problem.targets.starts[child]
    family, mine, count, top = discrete.family[child], cells[0], 0, _NEVER
    X, rough = functions_of(problem, S)
    for part in range(2):
        if part == 1:
            if len(S) < 2 or not problem.offer.joint or not problem.targets.joint[first]:
                break
            X = functions(kernel_of(problem, S))
            rough = np.zeros(len(X))
        at = ADDITIVE if part == 0 else JOINT
        mine[at], likelihood = by_family(discrete, child, family, X, rough)
        count, top = count + 1, max(top, likelihood)
        if family == COUNT:
            mine[at + 1], likelihood = by_family(discrete, child, ORDERED, X, rough)
            count, top = count + 1, max(top, likelihood)
    table = by_table(discrete, child, S)
    if not np.isnan(table):
        mine[LINKED] = table
        count += 1
    value = log_mean(mine, count)
    for k in range(CELLS):
        mine[k] -= np.log(count)
    return Evidence(value, -2 * top / discrete.level.shape[1], 0.0, 1.0, first, int(np.argmax(mine)), FIRST, FIRST)


@compiled(inner=True)
def _part(problem: Problem, p: int) -> Problem:
    """Part p of the rows as a problem of its own."""
    parts, sums, rows, targets = problem.parts, problem.sums, problem.rows, problem.targets
    a, b = parts.ends[p], parts.ends[p + 1]
    n, D, T, columns, d = b - a, len(sums.rough), len(targets.own), len(rows.Z), len(targets.starts) - 1
    return Problem(
        Sums(float(n), parts.G[p], parts.C[p], parts.power[p], sums.starts, sums.rough),
        Rows(
            parts.F[D * a : D * b].reshape((D, n)),
            parts.Z[columns * a : columns * b].reshape((columns, n)),
            rows.starts,
            parts.Y[T * a : T * b].reshape((T, n)),
            parts.marks[p],
            parts.Y[T * a : T * b].reshape((T, n)),  # no resample looks at parts
            rows.weights[:0],
        ),
        Targets(
            targets.starts,
            parts.jacobian[p],
            parts.smooth[p],
            targets.own,
            targets.joint,
            targets.spread,
            parts.first[p],
            targets.rough,
        ),
        problem.offer,
        Discrete(
            problem.discrete.family,
            parts.size[p],
            parts.level[d * a : d * b].reshape((d, n)),
            parts.times[d * a : d * b].reshape((d, n)),
            parts.fixed[p],
            parts.within[p],
        ),
        parts,
        problem.shares,
        problem.calls,
    )


def evidence(problem: Problem, child: int, S: np.ndarray, cells: np.ndarray) -> Evidence:
    """L(child, S), over all hypotheses about parts of the rows; all else is that of the problem's own rows."""
    return evidence_and_changes(problem, child, S, cells, np.empty(0))


@compiled
def evidence_and_changes(
    problem: Problem, child: int, S: np.ndarray, cells: np.ndarray, changes: np.ndarray
) -> Evidence:
    """The same; ``changes`` (resamples,), if not empty, become what each resample adds: see resamples.py.

    They are left as they are if the effect is no number.
    """
    parts, at = problem.parts, problem.calls.evidence
    found = far_call(at, _LIKE, (problem, child, S, cells, changes))
    hypotheses, count = parts.used.shape
    if count == 1:
        return found
    values, spare, nothing = np.empty(count), np.empty_like(cells), np.empty(0)
    values[0] = found.value
    for p in range(1, count):
        values[p] = far_call(at, _LIKE, (_part(problem, p - 1), child, S, spare, nothing)).value
    totals = parts.least.copy()
    for h in range(hypotheses):
        for p in range(count):
            if parts.used[h, p]:
                totals[h] += values[p]
    value = log_mean(totals, 1)
    return Evidence(value, found.log_v, found.vague, found.free, found.top, found.cell, found.setting, found.other)


@compiled(fastmath=True)
def of_rows(problem: Problem, S: np.ndarray, target: int, cell: int, left: np.ndarray, out: np.ndarray) -> None:
    """``out`` (rows,) becomes the log likelihood of each row under a cell, up to a constant of the child.

    ``left`` is what the five mechanisms leave, and in the last row what the varying spread of the additive one stands
    on. A shaped distribution is near enough to a smooth one.
    """
    e, plain = left[cell // 3], left[5] if cell < JOINT else left[JOINT // 3]
    if cell % 3 > 0:
        any_rows(problem.discrete, S, e, out)
    else:
        out[:] = 0.0
    uneven = UNEVEN <= cell < JOINT or cell >= UNEVEN_JOINT
    n, mean, square = float(len(e)), 0.0, 0.0
    for x in e:
        mean += x
        square += x * x
    mean /= n
    variance = max(square / n - mean * mean, 1e-300)
    constant, margin = 0.5 * np.log(variance), problem.rows.margin[target]
    for t in range(len(e)):
        out[t] += margin[t] - constant - 0.5 * (e[t] - mean) ** 2 / variance
        if uneven and plain[t] != 0.0:
            out[t] += np.log(abs(e[t] / plain[t]))


@compiled(inner=True)
def one_evidence(problem: Problem, child: int, S: np.ndarray, cells: np.ndarray, changes: np.ndarray) -> Evidence:
    """L(child, S); ``cells`` (targets of the child, CELLS) become the log evidence of each, with jacobian and prior."""
    if problem.discrete.family[child] != NUMBER:
        cells[:] = _NEVER
        return far_call(problem.calls.other_kind, _LIKE, (problem, child, S, cells))
    targets = problem.targets
    first, last = targets.starts[child], targets.starts[child + 1]
    values = np.empty(last - first)
    cells[:] = _NEVER
    log_v, vague, known, top, best = 0.0, 0.0, _NEVER, first, (FIRST, FIRST)
    nothing = np.empty((0, 0))
    given, known_kernel = Kernel(nothing, nothing, nothing), False
    left = kept = np.empty((0, 0))
    for t in range(first, last):
        mine = cells[t - first]
        if len(changes) > 0:
            left = np.empty((6, problem.rows.Y.shape[1]))
        v, w, setting, other = additive_cells(problem, t, S, mine, left)
        if len(S) > 1 and problem.offer.joint and targets.joint[t]:
            if not known_kernel:
                given, known_kernel = kernel_of(problem, S), True
            sums_best = max(mine[:JOINT])
            joint_v, joint_w = joint_cells(problem, t, S, given, mine, left)
            if max(mine[JOINT:]) > sums_best:
                v, w = joint_v, joint_w
        prior = log_shares(problem, child, t, len(S))
        for k in range(CELLS):
            mine[k] = max(mine[k] + prior[k] + targets.jacobian[t], _NEVER)
        values[t - first] = log_mean(mine, 1)
        if targets.own[t] and values[t - first] > known:
            log_v, vague, known = v, w, values[t - first]
        if values[t - first] >= values[top - first]:
            top, best, kept = t, (setting, other), left
    value = log_mean(values, 1)
    free = 0.0
    for t in range(first, last):
        if not targets.own[t]:
            free += np.exp(values[t - first] - value)
    cell = int(np.argmax(cells[top - first]))
    if len(changes) > 0:
        likely = np.empty(kept.shape[1])
        of_rows(problem, S, top, cell, kept, likely)
        changes[:] = np.dot(problem.rows.weights, likely)
    return Evidence(value, log_v, vague, min(free, 1.0), top, cell, best[0], best[1])
