"""GES: greedy equivalence search (Chickering 2002) with the Gaussian BIC, on the correlation matrix alone.

The score of a DAG is sum_y s(y, Pa(y)) with s(y, S) = -n/2 log var(y | S) - lambda |S|, and lambda = log(n) / 2 is the
BIC. Every operator changes one parent of y (turning: one of y and one of x), so all that is ever needed is

    s(y, S + x) - s(y, S) = -n/2 log(1 - rho(x, y | S)^2) - lambda,

the partial correlation given S. The sets S = Pa(y) + C that belong to one pair differ by cliques C of neighbours of y:
they are visited depth first, and each visit appends one row to a Cholesky factor of the covariance given Pa(y). What
breaks the clique condition is never visited; whether paths are blocked is asked only of what beats the best so far.

Phases are functions of the current CPDAG: ``A[i, j]`` alone is i -> j, both entries are i - j. Letters and operators
as in Chickering's Theorems 15 and 17; turning as in Hauser and Bühlmann (2012), Propositions 31 and 34.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagtune.baselines.common import Learned, read_knowledge
from dagtune.baselines.pdag import consistent_extension, cpdag_of_dag
from dagtune.compiled import compiled
from dagtune.graph import topological_order
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.tables import read_table
from dagtune.validation import InputError, check_choice

__all__ = ["PHASES", "learn_ges"]

#: The phases, in their usual order.
PHASES = ("forward", "backward", "turning")

#: An operator must gain more than this: as in the package `ges`, far above rounding and far below log(n) / 2.
_LEAST_GAIN = 1e-6

#: A variance, as a share of the marginal one, below which a variable counts as determined by those given.
_DETERMINED = 1e-13

_INSERT, _DELETE, _TURN_DIRECTED, _TURN_UNDIRECTED = range(4)


def learn_ges(
    X: Any,
    *,
    rng: Any = None,
    phases: Sequence[str] = PHASES,
    iterate: bool = False,
    penalty: float | None = None,
    forbidden: Any = None,
    required: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Greedy equivalence search: the CPDAG, and as graph one DAG of it; draws nothing from ``rng``.

    phases, iterate: which of PHASES run, in which order, and whether they are run again until none gains. The defaults
        are those of the package `ges`; Chickering's own algorithm is ("forward", "backward").
    penalty: lambda, the price of an edge; None is log(n) / 2, the BIC.
    forbidden: pairs that must stay apart, as a symmetric boolean matrix. An edge forbidden one way only, or a required
        one, is no property of an equivalence class and is refused.
    time_limit: seconds, looked at after each target y of each step. The sets an operator may choose are all visited:
        their number is exponential in the largest clique of undirected edges, which no data of ours made large.
    """
    table = read_table(X)
    n, d = table.values.shape
    phases = tuple(check_choice("phase", phase, PHASES) for phase in phases)
    if not phases:
        raise InputError(f"phases is empty: name at least one of {', '.join(PHASES)}")
    price = _read_penalty(penalty, n)
    allowed = ~_pairs_apart(d, required, forbidden)
    clock = Clock("ges", time_limit, progress)
    with one_blas_thread():
        R = np.corrcoef(table.values, rowvar=False)
        A, gained, steps = np.zeros((d, d), dtype=bool), 0.0, 0
        while True:
            before = gained
            for phase in phases:
                best_into = _PHASES[phase]
                while True:
                    gain, A_next = _step(best_into, A, R, float(n), price, allowed, clock, phase)
                    if gain <= _LEAST_GAIN:
                        break
                    A, gained, steps = cpdag_of_dag(_extension(A_next)), gained + gain, steps + 1
                    clock.tell(f"{phase}, step {steps}, {int((A | A.T).sum()) // 2} edges")
            if not iterate or gained <= before:
                break
        dag = _extension(A)
    return Learned(
        method="ges",
        graph=dag,
        names=table.names,
        order=topological_order(dag),
        seconds=clock.seconds,
        cpdag=A,
        settings={"phases": phases, "iterate": iterate, "penalty": price, "steps": steps},
    )


def _read_penalty(penalty: float | None, n: int) -> float:
    if penalty is None:
        return 0.5 * float(np.log(n))
    if not (np.isreal(penalty) and np.isfinite(penalty) and penalty >= 0):
        raise InputError(f"penalty must be a number of at least 0 or None (log(n) / 2, the BIC), not {penalty!r}")
    return float(penalty)


def _pairs_apart(d: int, required: Any, forbidden: Any) -> np.ndarray:
    """Symmetric boolean: which pairs may never be joined; knowledge that a class can't hold is refused."""
    needed, apart = read_knowledge(d, required, forbidden)
    if needed.any():
        raise InputError("ges searches classes of DAGs and can't require an edge: leave required out, or use ot")
    if (apart != apart.T).any():
        i, j = np.argwhere(apart & ~apart.T)[0]
        raise InputError(
            f"ges searches classes of DAGs and can't forbid {i} -> {j} alone: forbid both ways, which keeps them apart"
        )
    return apart


def _step(
    best_into: Callable[..., tuple[float, int, np.ndarray]],
    A: np.ndarray,
    R: np.ndarray,
    n: float,
    penalty: float,
    allowed: np.ndarray,
    clock: Clock,
    phase: str,
) -> tuple[float, np.ndarray]:
    """The best operator of a phase over all targets y: its gain and the PDAG it leaves."""
    best, best_x, best_y, best_C = 0.0, -1, -1, np.zeros(len(A), dtype=bool)
    for y in range(len(A)):
        gain, x, C = best_into(y, A, R, n, penalty, allowed, best)
        if gain > best:
            best, best_x, best_y, best_C = gain, x, y, C
        clock.check(f"in a {phase} step")
    if best_x < 0:
        return 0.0, A
    return best, _APPLY[phase](A, best_x, best_y, best_C)


def _extension(A: np.ndarray) -> np.ndarray:
    dag = consistent_extension(A)
    assert dag is not None, "a valid operator leaves a PDAG that has a consistent extension"
    return dag


# --- the operators: what they do to a CPDAG ---------------------------------------------------------------------------


def _insert(A: np.ndarray, x: int, y: int, C: np.ndarray) -> np.ndarray:
    """Insert(X, Y, T): x -> y, and t -> y for the t of C that were neighbours of y and not adjacent to x."""
    changed = A.copy()
    changed[x, y] = True
    changed[y, C & ~(A[x] | A[:, x])] = False
    return changed


def _delete(A: np.ndarray, x: int, y: int, C: np.ndarray) -> np.ndarray:
    """Delete(X, Y, H) with H = NA minus C: x and y apart, y -> h and (where undirected) x -> h."""
    H = A[:, y] & A[y] & (A[x] | A[:, x]) & ~C
    changed = A.copy()
    changed[x, y] = changed[y, x] = False
    changed[H, y] = False
    changed[H & A[x], x] = False
    return changed


def _turn(A: np.ndarray, x: int, y: int, C: np.ndarray) -> np.ndarray:
    """Turn(X, Y, C): x -> y instead of what was there, and c -> y for the c of C."""
    changed = A.copy()
    changed[x, y], changed[y, x] = True, False
    changed[y, C] = False
    return changed


_APPLY = {"forward": _insert, "backward": _delete, "turning": _turn}


# --- the search for the best operator into one y ----------------------------------------------------------------------


class _Pair(NamedTuple):
    """An operator of a kind for a pair (x, y): S is the covariance given Pa(y), A the PDAG."""

    kind: int
    S: np.ndarray
    A: np.ndarray
    x: int
    y: int
    n: int
    penalty: float


class _Grown(NamedTuple):
    """A clique C that grows member by member.

    Row m of L holds the Cholesky row of the m-th member, lx and ly those of x and y, so that after each member vx, vy,
    cxy are the (co)variances of x and y given Pa(y) and C.
    """

    L: np.ndarray
    lx: np.ndarray
    ly: np.ndarray
    vx: np.ndarray
    vy: np.ndarray
    cxy: np.ndarray
    members: np.ndarray


@compiled
def _best_insert_into(y, A, R, n, penalty, allowed, best):  # type: ignore[no-untyped-def]
    """Best Insert(x, y, T) over x and T that gains more than ``best``: (gain, x, NA + T)."""
    d = len(A)
    given = A[:, y] & ~A[y]
    neighbours = A[:, y] & A[y]
    S = _conditional(R, given)
    best_x, best_C = -1, np.zeros(d, dtype=np.bool_)
    for x in range(d):
        adjacent = A[x] | A[:, x]
        if x == y or adjacent[y] or not allowed[x, y]:
            continue
        NA = neighbours & adjacent
        if not _is_clique(A, NA) or not _blocked(A, y, x, neighbours):  # nothing blocks more than all neighbours
            continue
        best, found, C = _best_clique(_Pair(_INSERT, S, A, x, y, n, penalty), NA, neighbours & ~adjacent, 0.0, best)
        if found:
            best_x, best_C = x, C
    return best, best_x, best_C


@compiled
def _best_delete_into(y, A, R, n, penalty, allowed, best):  # type: ignore[no-untyped-def]
    """Best Delete(x, y, H) over x and H that gains more than ``best``: (gain, x, NA - H)."""
    d = len(A)
    parents = A[:, y] & ~A[y]
    neighbours = A[:, y] & A[y]
    S = _conditional(R, parents)
    nothing = np.zeros(d, dtype=np.bool_)
    best_x, best_C = -1, nothing
    for x in range(d):
        if not A[x, y] or (A[y, x] and x < y):  # x - y is one edge: both ways round score the same
            continue
        NA = neighbours & (A[x] | A[:, x])
        without = S
        if not A[y, x]:
            rest = parents.copy()
            rest[x] = False
            without = _conditional(R, rest)
        best, found, C = _best_clique(_Pair(_DELETE, without, A, x, y, n, penalty), nothing, NA, 0.0, best)
        if found:
            best_x, best_C = x, C
    return best, best_x, best_C


@compiled
def _best_turn_into(y, A, R, n, penalty, allowed, best):  # type: ignore[no-untyped-def]
    """Best Turn(x, y, C) of x <- y or x - y into x -> y that gains more than ``best``: (gain, x, C)."""
    d = len(A)
    neighbours = A[:, y] & A[y]
    S = _conditional(R, A[:, y] & ~A[y])
    nothing = np.zeros(d, dtype=np.bool_)
    best_x, best_C = -1, nothing
    for x in range(d):
        if not A[y, x]:
            continue
        adjacent = A[x] | A[:, x]
        NA = neighbours & adjacent
        if A[x, y]:
            free = neighbours.copy()
            free[x] = False
            best, found, C = _best_clique(_Pair(_TURN_UNDIRECTED, S, A, x, y, n, penalty), nothing, free, 0.0, best)
        else:
            if not _is_clique(A, NA) or not _blocked(A, y, x, neighbours | (A[x] & A[:, x])):
                continue
            rest = A[:, x] & ~A[x]
            rest[y] = False
            P = _conditional(R, rest)
            lost = 0.5 * n * _log_left(P[x, x], P[y, y], P[x, y]) + penalty  # s(x, Pa(x) - y) - s(x, Pa(x))
            free = neighbours & ~adjacent
            best, found, C = _best_clique(_Pair(_TURN_DIRECTED, S, A, x, y, n, penalty), NA, free, lost, best)
        if found:
            best_x, best_C = x, C
    return best, best_x, best_C


_PHASES: dict[str, Callable[..., tuple[float, int, np.ndarray]]] = {
    "forward": _best_insert_into,
    "backward": _best_delete_into,
    "turning": _best_turn_into,
}


@compiled
def _best_clique(pair, base, free, offset, best):  # type: ignore[no-untyped-def]
    """Best valid operator for a pair over the cliques C = base + some of ``free``.

    Gives (gain, whether it beats ``best``, C).
    """
    kind, S, A, x, y, n, penalty = pair
    d = len(A)
    members = np.empty(d, dtype=np.int64)
    vx, vy, cxy = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    grown = _Grown(np.empty((d, d)), np.empty(d), np.empty(d), vx, vy, cxy, members)
    C = np.zeros(d, dtype=np.bool_)
    best_C = np.zeros(d, dtype=np.bool_)
    found = False
    vx[0], vy[0], cxy[0] = S[x, x], S[y, y], S[x, y]
    m = 0
    for v in range(d):
        if base[v]:
            _append(pair, grown, m, v)
            C[v] = True
            m += 1
    first = m

    # The free nodes that are adjacent to all of the base; when turning x - y, those adjacent to x come first.
    adjacent = A | A.T
    order = np.empty(d, dtype=np.int64)
    shared, size = 0, 0
    for want in (True, False):
        for v in range(d):
            if free[v] and adjacent[x, v] == want:
                joined = True
                for k in range(first):
                    joined = joined and adjacent[v, members[k]]
                if joined:
                    order[size] = v
                    size += 1
        if want:
            shared = size
    position = np.empty(d + 1, dtype=np.int64)
    unshared_at = np.empty(d + 1)  # log(1 - rho^2) given the part of C that is adjacent to x
    chosen = np.empty(d + 1, dtype=np.int64)
    position[first] = 0

    entering = True
    while True:
        if entering:  # C is a clique not seen before
            left = _log_left(vx[m], vy[m], cxy[m])
            valid = True
            if kind == _DELETE:
                gain = 0.5 * n * left + penalty
            elif kind == _TURN_UNDIRECTED:
                valid = m > 0 and chosen[m] >= shared  # some member is not adjacent to x
                unshared_at[m] = unshared_at[m - 1] if valid else left
                gain = -0.5 * n * (left - unshared_at[m])
            else:
                gain = -0.5 * n * left - penalty + offset
            if valid and gain > best and _is_valid(kind, A, adjacent, x, y, C):
                best, found = gain, True
                best_C[:] = C
            entering = False
        if position[m] < size:
            at = position[m]
            position[m] += 1
            v = order[at]
            joined = True
            for k in range(first, m):
                if not adjacent[v, members[k]]:
                    joined = False
                    break
            if joined:
                _append(pair, grown, m, v)
                C[v] = True
                m += 1
                position[m], chosen[m] = at + 1, at
                entering = True
        elif m > first:
            m -= 1
            C[members[m]] = False
        else:
            return best, found, best_C


@compiled
def _append(pair, grown, m, v):  # type: ignore[no-untyped-def]
    """Condition on one more variable v: the next row of the Cholesky factor."""
    S, x, y = pair.S, pair.x, pair.y
    L, lx, ly, vx, vy, cxy, members = grown
    pivot = S[v, v]
    for k in range(m):
        row = S[v, members[k]]
        for j in range(k):
            row -= L[m, j] * L[k, j]
        row /= L[k, k]
        L[m, k] = row
        pivot -= row * row
    L[m, m] = np.sqrt(max(pivot, _DETERMINED))
    members[m] = v
    to_x, to_y = S[v, x], S[v, y]
    for k in range(m):
        to_x -= L[m, k] * lx[k]
        to_y -= L[m, k] * ly[k]
    lx[m], ly[m] = to_x / L[m, m], to_y / L[m, m]
    vx[m + 1] = vx[m] - lx[m] * lx[m]
    vy[m + 1] = vy[m] - ly[m] * ly[m]
    cxy[m + 1] = cxy[m] - lx[m] * ly[m]


@compiled
def _log_left(vx, vy, cxy):  # type: ignore[no-untyped-def]
    """log(1 - rho^2): how much of one variance the other variable leaves; 0 where one is determined already."""
    if vx <= _DETERMINED or vy <= _DETERMINED:
        return 0.0
    return np.log(max(vy - cxy * cxy / vx, _DETERMINED) / vy)


@compiled
def _conditional(R, given):  # type: ignore[no-untyped-def]
    """(d, d) covariance of all variables given some of them: R - R_g R_gg^-1 R_g^T."""
    S = R.copy()
    for v in range(len(R)):
        if given[v]:
            pivot = S[v, v]
            if pivot > _DETERMINED:
                row = S[v].copy()
                for i in range(len(R)):
                    scaled = row[i] / pivot
                    if scaled != 0.0:
                        for j in range(len(R)):
                            S[i, j] -= scaled * row[j]
    return S


@compiled
def _is_valid(kind, A, adjacent, x, y, C):  # type: ignore[no-untyped-def]
    """The second condition of each operator; that C is a clique is known."""
    if kind == _INSERT:  # Theorem 15: C blocks every semi-directed path from y to x
        return _blocked(A, y, x, C)
    if kind == _TURN_DIRECTED:  # as Insert, where the neighbours of x block too and y -> x itself is no path
        return _blocked(A, y, x, C | (A[x] & A[:, x]))
    if kind == _TURN_UNDIRECTED:  # x and y separate C from the rest of NA in the chain component
        undirected = A & A.T
        rest = undirected[y] & adjacent[x] & ~C
        return _separated(undirected, C, rest, x, y)
    return True


@compiled
def _is_clique(A, nodes):  # type: ignore[no-untyped-def]
    for i in range(len(A)):
        if nodes[i]:
            for j in range(i):
                if nodes[j] and not (A[i, j] or A[j, i]):
                    return False
    return True


@compiled
def _blocked(A, start, goal, block):  # type: ignore[no-untyped-def]
    """Whether every semi-directed path from start to goal, but the edge between the two, meets ``block``."""
    d = len(A)
    seen = block.copy()
    seen[start] = True
    seen[goal] = False
    queue = np.empty(d, dtype=np.int64)
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        if u != start and A[u, goal]:
            return False
        for v in range(d):
            if A[u, v] and not seen[v] and v != goal:
                seen[v] = True
                queue[tail] = v
                tail += 1
    return True


@compiled
def _separated(undirected, left, right, x, y):  # type: ignore[no-untyped-def]
    """Whether x and y separate two sets of nodes in an undirected graph."""
    d = len(undirected)
    seen = left.copy()
    seen[x] = seen[y] = True
    queue = np.empty(d, dtype=np.int64)
    tail = 0
    for v in range(d):
        if left[v]:
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        u = queue[head]
        head += 1
        if right[u]:
            return False
        for v in range(d):
            if undirected[u, v] and not seen[v]:
                seen[v] = True
                queue[tail] = v
                tail += 1
    return True
