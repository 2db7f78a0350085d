"""Parent sets within a prefix of an order: grow and shrink to the best one, then sum over its single flips.

    alpha_i(U) = log sum over S within U of exp(L(i, S)) prod over j in S of odds_ji

cannot be enumerated beyond some ten variables. The best set is found by growing and shrinking, from nothing and, where
edges are not rare, from all of U without what is not needed beside the rest. The sum over sets is taken as that of
independent flips around it,

    alpha_i(U) = L(i, S) + log prior(S) + sum over j of log(1 + exp(gain of flipping j)),

each flip close enough to matter with its evidence over all cells, the others with the Gaussian one. Every number is a
function of (child, set) alone and is kept by it, so a prefix asks for little that another has not asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagtune.compiled import compiled, far_call
from dagtune.conditional.cells import CELLS, evidence_and_changes
from dagtune.conditional.discrete import NUMBER
from dagtune.conditional.mechanisms import BENDS, FIRST, additive, flips
from dagtune.conditional.numbers import CLOSE, NEGLIGIBLE, TRIED
from dagtune.conditional.problem import Problem

__all__ = ["Prior", "Store", "empty_store", "grown", "local", "look_up"]


class Prior(NamedTuple):
    """What is known before the data; [j, i] is about j -> i.

    Parameters
    ----------
    odds : ndarray, shape (d, d)
        Log odds of an edge.
    allowed, required : ndarray of bool, shape (d, d)
    both : bool
        Whether sets are grown from nothing and shrunk from everything; where edges are rare growing is enough.
    exact : bool
        Whether flips are judged by all cells; a search can do with Gaussian evidence until it has the best set.
    resample : int
        Which resample of the rows counts; -1: the table itself.
    """

    odds: np.ndarray
    allowed: np.ndarray
    required: np.ndarray
    both: bool = True
    exact: bool = True
    resample: int = -1


class Store(NamedTuple):
    """What is known of (child, set), found by a hash: the exclusive or of a random code for the child and each parent.

    Parameters
    ----------
    codes : ndarray of uint64, shape (2, d)
        Codes of parents and of children.
    keys, where, used : ndarray
        The table with open addressing: key and position of its record, -1 if empty; and the number of records.
    plain : ndarray
        Evidence of sums with Gaussian noise alone, at two settings; NaN where it is not known.
    plain_flips : ndarray, shape (records, d)
        What each single flip adds to it.
    evidence, log_v, vague, free, top, cell, settings : ndarray
        Over all cells; see :class:`dagtune.conditional.cells.Evidence`. The first is NaN where only ``plain`` is known.
    changes : ndarray, shape (records, resamples)
        What each resample adds to the evidence; NaN first if it is not known.
    flips : ndarray, shape (records, d)
        Gains of Gaussian evidence by each single flip; NaN first if they are not known.
    """

    codes: np.ndarray
    keys: np.ndarray
    where: np.ndarray
    used: np.ndarray
    plain: np.ndarray
    plain_flips: np.ndarray
    evidence: np.ndarray
    log_v: np.ndarray
    vague: np.ndarray
    free: np.ndarray
    top: np.ndarray
    cell: np.ndarray
    settings: np.ndarray
    changes: np.ndarray
    flips: np.ndarray


def empty_store(codes: np.ndarray, capacity: int, resamples: int = 0) -> Store:
    """Room for so many records, a power of two, and resamples."""
    return Store(
        codes=codes,
        keys=np.zeros(2 * capacity, np.uint64),
        where=np.full(2 * capacity, -1),
        used=np.zeros(1, np.int64),
        plain=np.empty(capacity),
        plain_flips=np.empty((capacity, codes.shape[1]), np.float32),
        evidence=np.empty(capacity),
        log_v=np.empty(capacity),
        vague=np.empty(capacity),
        free=np.empty(capacity),
        top=np.empty(capacity, np.int64),
        cell=np.empty(capacity, np.int64),
        settings=np.empty((capacity, 2), np.int64),
        changes=np.full((capacity, resamples), np.nan),
        flips=np.full((capacity, codes.shape[1]), np.nan, np.float32),
    )


def grown(old: Store) -> Store:
    """The same records in twice the room."""
    count = int(old.used[0])
    new = empty_store(old.codes, 2 * len(old.evidence), old.changes.shape[1])
    new.used[0] = count
    for name in (
        "plain",
        "plain_flips",
        "evidence",
        "log_v",
        "vague",
        "free",
        "top",
        "cell",
        "settings",
        "changes",
        "flips",
    ):
        getattr(new, name)[:count] = getattr(old, name)[:count]
    _enter(new.keys, new.where, old.keys, old.where)
    return new


@compiled
def _enter(keys: np.ndarray, where: np.ndarray, old_keys: np.ndarray, old_where: np.ndarray) -> None:
    mask = np.uint64(len(keys) - 1)
    for k in range(len(old_keys)):
        if old_where[k] >= 0:
            at = old_keys[k] & mask
            while where[at] >= 0:
                at = (at + np.uint64(1)) & mask
            keys[at], where[at] = old_keys[k], old_where[k]


@compiled
def _slot(store: Store, child: int, member: np.ndarray) -> tuple[int, np.uint64]:
    """Where in the table (child, set) is, or would be; and its key."""
    key = store.codes[1, child]
    for j in range(len(member)):
        if member[j]:
            key ^= store.codes[0, j]
    mask = np.uint64(len(store.keys) - 1)
    at = key & mask
    while store.where[at] >= 0 and store.keys[at] != key:
        at = (at + np.uint64(1)) & mask
    return at, key


@compiled(inner=True)
def _known(store: Store, child: int, member: np.ndarray) -> bool:
    """Whether the evidence of (child, set) over all cells is there."""
    record = store.where[_slot(store, child, member)[0]]
    return record >= 0 and not np.isnan(store.evidence[record])


@compiled
def look_up(problem: Problem, store: Store, child: int, member: np.ndarray, whole: bool) -> int:
    """The record of (child, set), computed if it is not there; -1 if the store is full.

    Over all cells if ``whole``; else its ``plain`` evidence will do.
    """
    at, key = _slot(store, child, member)
    record = store.where[at]
    if record >= 0 and not np.isnan(store.evidence[record] if whole else store.plain[record]):
        return record
    S = np.flatnonzero(member)
    if record < 0:
        record = store.used[0]
        if record >= len(store.evidence):
            return -1
        store.keys[at], store.where[at] = key, record
        store.used[0] = record + 1
        store.evidence[record] = store.plain[record] = np.nan
    if whole or problem.discrete.family[child] != NUMBER:
        _whole(problem, store, child, S, record)
    else:
        _plain(problem, store, child, S, record)
    return record


@compiled(inner=True)
def _plain(problem: Problem, store: Store, child: int, S: np.ndarray, record: int) -> None:
    """Fill what a record says of sums with Gaussian noise, by two settings near the best: one bent, one straight."""
    target = problem.targets.rough[child]
    setting = problem.targets.first[target]
    out = np.empty(store.flips.shape[1])
    store.plain[record] = flips(problem.sums, target, S, (setting, setting // BENDS * BENDS), out)
    _keep(out, store.plain_flips[record])


@compiled(inner=True)
def _keep(gains: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(out)):
        out[j] = max(gains[j], -1e30)


@compiled(inner=True)
def _whole(problem: Problem, store: Store, child: int, S: np.ndarray, record: int) -> None:
    """Fill what a record says over all cells."""
    targets = problem.targets.starts[child + 1] - problem.targets.starts[child]
    resamples = store.changes[record]
    resamples[:1] = np.nan
    found = evidence_and_changes(problem, child, S, np.empty((targets, CELLS)), resamples)
    store.evidence[record], store.log_v[record], store.vague[record] = found.value, found.log_v, found.vague
    store.free[record] = found.free
    store.top[record], store.cell[record] = found.top, found.cell
    store.settings[record, 0], store.settings[record, 1] = found.setting, found.other
    store.flips[record, 0] = np.nan
    if problem.discrete.family[child] != NUMBER:
        store.plain[record] = found.value
        store.plain_flips[record] = _flips(problem, store, child, S, record)


@compiled(inner=True)
def _worth(problem: Problem, store: Store, prior: Prior, child: int, member: np.ndarray, record: int) -> float:
    """The evidence of a record, (child, set of members), in the table or in a resample of its rows."""
    resample = prior.resample
    if not prior.exact:
        return store.plain[record]
    if resample < 0:
        return store.evidence[record]
    found = store.changes[record]
    if np.isnan(found[0]):
        far_call(problem.calls.changes, None, (problem, child, np.flatnonzero(member), store.cell[record], found))
    return store.evidence[record] + found[resample]


@compiled(inner=True)
def _flips_of_target(problem: Problem, target: int, S: np.ndarray, settings: tuple[int, int], out: np.ndarray) -> None:
    """``out`` (d,) becomes the gains of a target's Gaussian evidence by each flip."""
    sums, start = problem.sums, problem.targets.first[target]
    if len(S) == 0:
        alone = additive(sums, target, S, start).value
        one = np.empty(1, np.int64)
        for j in range(len(out)):
            one[0] = j
            out[j] = additive(sums, target, one, start).value - alone
    else:
        flips(sums, target, S, settings, out)


@compiled(inner=True)
def _flips_of_codes(problem: Problem, child: int, S: np.ndarray, out: np.ndarray) -> None:
    """The same for an effect that is no number: the sum over its indicators, or of its scores."""
    starts, part = problem.targets.starts, np.empty(len(out))
    out[:] = 0.0
    for target in range(starts[child], starts[child + 1]):
        best = FIRST, FIRST
        if len(S) > 0:
            found = additive(problem.sums, target, S, problem.targets.first[target])
            best = found.setting, found.other
        _flips_of_target(problem, target, S, best, part)
        out += part


@compiled(inner=True)
def _flips(problem: Problem, store: Store, child: int, S: np.ndarray, record: int) -> np.ndarray:
    """(d,) gains of Gaussian evidence by each flip, on the likeliest scale; computed once."""
    found = store.flips[record]
    if np.isnan(found[0]):
        target = store.top[record]
        out = np.empty(len(found))
        if problem.discrete.family[child] == NUMBER:
            _flips_of_target(problem, target, S, (store.settings[record, 0], store.settings[record, 1]), out)
        else:
            _flips_of_codes(problem, child, S, out)
        _keep(out, found)
    return found


@compiled(inner=True)
def _climb(
    problem: Problem, store: Store, prior: Prior, child: int, free: np.ndarray, member: np.ndarray
) -> tuple[int, float]:
    """Flip the members among ``free`` as long as evidence and prior gain; the record, and both together. -1: full.

    The likeliest flips by Gaussian evidence are compared by the evidence over all cells, if the prior says so.
    """
    d, odds = len(member), prior.odds
    record = look_up(problem, store, child, member, prior.exact)
    tried = np.empty(d, np.bool_)
    for _ in range(4 * d):
        if record < 0:
            return -1, 0.0
        if prior.exact:
            ranked = _flips(problem, store, child, np.flatnonzero(member), record)
        else:
            ranked = store.plain_flips[record]
        now = _worth(problem, store, prior, child, member, record)
        best, most, next_record = -1, 1e-6, record
        for sort in range(2):
            tried[:] = False
            for _ in range(TRIED[sort] if prior.exact else 1):
                j, top = -1, -NEGLIGIBLE if prior.exact else -CLOSE
                for k in range(d):
                    if free[k] and not tried[k] and member[k] == (sort == 1):
                        f = ranked[k] + (-odds[k, child] if member[k] else odds[k, child])
                        if f > top:
                            j, top = k, f
                if j < 0:
                    break
                tried[j] = True
                member[j] = not member[j]
                if prior.resample >= 0 and top < -CLOSE and not _known(store, child, member):
                    member[j] = not member[j]  # a resample looks that far only where the table itself has
                    continue
                other = look_up(problem, store, child, member, prior.exact)
                if other < 0:
                    return -1, 0.0
                gain = _worth(problem, store, prior, child, member, other) - now
                member[j] = not member[j]
                gain += -odds[j, child] if member[j] else odds[j, child]
                if gain > most:
                    best, most, next_record = j, gain, other
        if best < 0:
            break
        member[best] = not member[best]
        record = next_record
    value = _worth(problem, store, prior, child, member, record)
    for j in range(d):
        if member[j]:
            value += odds[j, child]
    return record, value


@compiled(inner=True)
def _needed(problem: Problem, store: Store, prior: Prior, child: int, free: np.ndarray, record: int) -> np.ndarray:
    """Of all that may be parents together, those whose removal alone would cost evidence: where to climb from, too."""
    member = free | prior.required[:, child]
    gain = np.empty(len(free))
    if prior.exact:
        settings = (store.settings[record, 0], store.settings[record, 1])
        flips(problem.sums, store.top[record], np.flatnonzero(member), settings, gain)
    else:
        everything = look_up(problem, store, child, member, False)
        if everything < 0:
            return member  # the store is full, and the next to ask is told so
        gain[:] = store.plain_flips[everything]
    for j in range(len(free)):
        if free[j] and gain[j] - prior.odds[j, child] > 0:
            member[j] = False
    return member


@compiled
def local(
    problem: Problem, store: Store, prior: Prior, child: int, before: np.ndarray, parents: np.ndarray
) -> tuple[float, int]:
    """alpha_child(before) and the record of the best set; ``parents`` (d,) become the parents' probabilities.

    The record is -1 if the store is full: ask again with more room.
    """
    d = len(before)
    free, member = np.zeros(d, np.bool_), np.zeros(d, np.bool_)
    for j in range(d):
        free[j] = before[j] and prior.allowed[j, child] and not prior.required[j, child]
        member[j] = prior.required[j, child]
    record, value = _climb(problem, store, prior, child, free, member)
    if record < 0:
        return 0.0, -1
    if prior.both:
        far = _needed(problem, store, prior, child, free, record)
        other, more = _climb(problem, store, prior, child, free, far)
        if other < 0:
            return 0.0, -1
        if more > value:
            record, value, member = other, more, far
    if not prior.exact:
        record = look_up(problem, store, child, member, True)
        value += store.evidence[record] - store.plain[record]
    ranked = _flips(problem, store, child, np.flatnonzero(member), record)
    now = _worth(problem, store, prior, child, member, record)
    for j in range(d):
        parents[j] = 1.0 if member[j] else 0.0
        if not free[j]:
            continue
        change = -prior.odds[j, child] if member[j] else prior.odds[j, child]
        f = ranked[j] + change
        if not prior.exact:
            f = min(f, 0.0)  # no flip was worth making
        elif f > -CLOSE:
            member[j] = not member[j]
            if prior.resample < 0 or _known(store, child, member):
                other = look_up(problem, store, child, member, True)
                if other < 0:
                    return 0.0, -1
                f = _worth(problem, store, prior, child, member, other) - now + change
            member[j] = not member[j]
        f = min(max(f, -700.0), 30.0)
        value += np.log1p(np.exp(f))
        flipped = 1 / (1 + np.exp(-f))
        parents[j] = 1 - flipped if member[j] else flipped
    return value, record
