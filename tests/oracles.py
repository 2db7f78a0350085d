"""Slow and obvious: the second road to every answer."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy import interpolate

# --- graphs and SID -------------------------------------------------------------------------------------------------


def all_dags(d):
    """Every DAG of d nodes, boolean, row causes column; for d up to 4."""
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    for states in product((None, True, False), repeat=len(pairs)):
        graph = np.zeros((d, d), dtype=bool)
        for (i, j), forward in zip(pairs, states):
            if forward is not None:
                graph[(i, j) if forward else (j, i)] = True
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(graph, create_using=nx.DiGraph)):
            yield graph


def sid_mistakes_by_paths(truth, parent_sets):
    """Pairs (i, j) whose effect is wrong with parent_sets[i] as parents of i: the definition, path by path.

    With j among the parents the guess says "no effect": wrong if a causal path leads from i to j. Otherwise the set
    must hold no descendant of a node on a causal path from i to j (other than i), and block every other path: some node
    of the path is a collider without descendant (itself included) in the set, or no collider and in the set.
    """
    graph = nx.from_numpy_array(truth, create_using=nx.DiGraph)
    undirected = graph.to_undirected()
    below = {node: nx.descendants(graph, node) | {node} for node in graph}
    wrong = set()
    for i in graph:
        Z = set(parent_sets[i])
        for j in set(graph) - {i}:
            if j in Z:
                if j in below[i]:
                    wrong.add((i, j))
                continue
            for path in nx.all_simple_paths(undirected, i, j):
                if all(graph.has_edge(a, b) for a, b in pairwise(path)):
                    bad = any(Z & below[node] for node in path[1:])
                else:
                    bad = not any(_blocks(graph, below, Z, *triple) for triple in zip(path, path[1:], path[2:]))
                if bad:
                    wrong.add((i, j))
                    break
    return wrong


def _blocks(graph, below, Z, before, node, after):
    collider = graph.has_edge(before, node) and graph.has_edge(after, node)
    return not (Z & below[node]) if collider else node in Z


def sid_by_paths(truth, guess):
    """SID from the definition; the guess may be cyclic, only its parent sets count."""
    return len(sid_mistakes_by_paths(truth, [np.flatnonzero(guess[:, i]) for i in range(len(guess))]))


def sid_by_linear_gaussian(truth, guess, rng):
    """SID by what it means: with generic linear weights, is the adjusted slope the true total effect?"""
    d = len(truth)
    weights = truth * rng.uniform(0.5, 2.0, (d, d)) * rng.choice((-1.0, 1.0), (d, d))
    total = np.linalg.inv(np.eye(d) - weights)  # total[i, j]: effect of i on j
    covariance = total.T @ np.diag(rng.uniform(0.5, 2.0, d)) @ total
    wrong = 0
    for i in range(d):
        parents = np.flatnonzero(guess[:, i])
        for j in range(d):
            if j == i:
                continue
            claimed = 0.0
            if j not in parents:
                given = [i, *parents]
                claimed = np.linalg.solve(covariance[np.ix_(given, given)], covariance[given, j])[0]
            wrong += abs(claimed - total[i, j]) > 1e-8
    return wrong


def dags_of_cpdag(cpdag):
    """Every DAG of a CPDAG: orient the undirected edges in all ways, keep the acyclic ones without new v-structures."""
    undirected = [(i, j) for i, j in np.argwhere(cpdag & cpdag.T) if i < j]
    adjacent = cpdag | cpdag.T
    compelled = v_structures(cpdag & ~cpdag.T, adjacent)
    for choice in product((True, False), repeat=len(undirected)):
        dag = cpdag.copy()
        for (i, j), forward in zip(undirected, choice):
            dag[(j, i) if forward else (i, j)] = False
        acyclic = nx.is_directed_acyclic_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph))
        if acyclic and v_structures(dag, adjacent) == compelled:
            yield dag


def v_structures(graph, adjacent):
    """{(i, k, j)}: i -> k <- j with i < j not adjacent."""
    found = set()
    for k in range(len(graph)):
        parents = np.flatnonzero(graph[:, k])
        found |= {(int(i), k, int(j)) for i in parents for j in parents if i < j and not adjacent[i, j]}
    return found


# --- end of graphs and SID ------------------------------------------------------------------------------------------


# --- dependence -----------------------------------------------------------------------------------------------------


def median_of_squares(x):
    """Median of (x_i - x_j)^2 over i < j by forming them all; over the nonzero ones where it would be 0."""
    x = np.asarray(x)
    squares = (np.subtract.outer(x, x) ** 2)[np.triu_indices(len(x), 1)]
    median = np.median(squares)
    return median if median > 0 else np.median(squares[squares > 0])


def kernel_matrix(x, kernel, rule="median"):
    """(n, n) kernel matrix of a vector, straight from the formulas; x may be longdouble."""
    x = np.asarray(x)
    if kernel == "sigmoid":
        return np.tanh(np.multiply.outer(x, x).astype(float))
    squares = (np.subtract.outer(x, x) ** 2).astype(float)
    above = squares[np.triu_indices(len(x), 1)]
    median = np.median(above) if np.median(above) > 0 else np.median(above[above > 0])
    s = {"median": np.sqrt(median), "paper": median, "unit": np.sqrt(0.5)}.get(rule, rule)
    if kernel == "gaussian":
        return np.exp(-squares / (2 * s**2))
    if kernel == "laplace":
        return np.exp(-np.sqrt(squares) / s)
    assert kernel == "rational-quadratic"
    return 1 / (1 + squares / (2 * s**2))


def hsic_by_trace(K, L):
    """tr(K H L H) / (n - 1)^2 with the centring matrix written out."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


# --- the OT algorithm -----------------------------------------------------------------------------------------------


class Measured:
    """Any first and higher orders, shaped as the engine's Dependence has them, for rules that only compare."""

    def __init__(self, first, second, third=None):
        self.first, self.combine = first, "sum"
        self.higher = {2: second} if third is None else {2: second, 3: third}

    second = property(lambda self: self.higher[2])
    third = property(lambda self: self.higher[3])


def random_dependence(d, rng, levels=None, order=2):
    """Symmetric random numbers; few ``levels`` make ties."""

    def draw(shape):
        return rng.integers(levels, size=shape).astype(float) if levels else rng.random(shape)

    first, second, third = draw((d, d)), draw((d, d, d)), draw((d, d, d, d))
    second = np.maximum(second, second.transpose(0, 2, 1))
    orders = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1))
    third = np.max([third.transpose(axes) for axes in orders], axis=0)
    return Measured(np.maximum(first, first.T), second, third if order == 3 else None)


def problem_ten(W, A, penalty):
    """The paper's loss as printed, W a matrix: squared Euclidean norm and spectral norm from linear algebra."""
    rest = (np.ones_like(W) - W) @ A
    return rest @ rest + penalty * np.linalg.norm(W, 2)


def best_selection_loss(A, penalty):
    """The least loss of problem (10), over every W with one-hot rows."""
    s = len(A)
    return min(problem_ten(np.eye(s)[list(picks)], A, penalty) for picks in product(range(s), repeat=s))


def delete_by_loops(graph, dependence, reading="min"):
    """Lines 4 to 8 of Algorithm 1, triple by triple, in the states 1 present, 0 absent, -1 marked."""
    state = graph.astype(int)
    for i, j, k in _triples(len(graph)):
        f_j, f_k, s = dependence.first[i, j], dependence.first[i, k], dependence.second[i, j, k]
        fires = min(f_j, f_k) >= s if reading == "min" else max(f_j, f_k) > s
        if state[j, i] != 0 and state[k, i] != 0 and fires:
            state[j, i] = state[k, i] = -1
    return state


def add_by_loops(state, dependence, ranks):
    """Lines 9 to 13 of Algorithm 1, for each child the pair that gains most first."""
    state = state.copy()
    F, S = dependence.first, dependence.second

    def turn(triple):
        i, j, k = triple
        return i, max(F[i, j], F[i, k]) - S[i, j, k], -S[i, j, k], sorted([ranks[j], ranks[k]])

    for i, j, k in sorted(_triples(len(state)), key=turn):
        stronger = max(F[i, j], F[i, k]) < S[i, j, k]
        if state[j, i] != 1 and state[k, i] != 1 and stronger:
            state[j, i] = state[k, i] = 1
    return state == 1


def shortest_cycles(graph):
    """All cycles of the smallest length, as lists of edges."""
    cycles = list(nx.simple_cycles(nx.DiGraph(list(map(tuple, np.argwhere(graph).tolist())))))
    least = min(map(len, cycles), default=0)
    return [list(zip(cycle, [*cycle[1:], cycle[0]])) for cycle in cycles if len(cycle) == least]


def formalize_by_cycles(graph, dependence, ranks, score=max):
    """Lines 14 to 17 of Algorithm 1: list the shortest cycles anew after each removal, take the weakest edge."""
    graph = graph.copy()
    while cycles := shortest_cycles(graph):
        scored = []
        for j, i in {edge for cycle in cycles for edge in cycle}:
            others = [k for k in range(len(graph)) if graph[k, i] and k != j]
            values = [dependence.second[i, j, k] for k in others] or [dependence.first[i, j]]
            scored.append((score(values), dependence.first[i, j], ranks[j], ranks[i], j, i))
        *_, j, i = min(scored)
        graph[j, i] = False
    return graph


def released_by_loops(graph, dependence):
    """The released script's deletion, addition and two-cycles, triple by triple: the three states one after another."""
    F, S = dependence.first, dependence.second
    d = len(graph)
    state = graph.astype(int)
    for i, j, k in _triples(d):
        low, high, together = min(F[i, j], F[i, k]), max(F[i, j], F[i, k]), S[i, j, k]
        if state[j, i] == 1 and state[k, i] == 1 and low > together:
            state[j, i] = state[k, i] = -1
        larger = j if F[i, j] > F[i, k] else k
        largest = max(F[i, x] for x in range(d) if x != i)
        if high > together > low and state[larger, i] == 1 and high != largest:
            state[larger, i] = -1
    deleted = state.copy()
    for i, j, k in _triples(d):
        if max(F[i, j], F[i, k]) < S[i, j, k] and state[j, i] + state[k, i] <= 0:
            state[j, i] = state[k, i] = 1
    added = state == 1
    resolved = added.copy()
    for a in range(d):
        for b in range(a + 1, d):
            if added[a, b] and added[b, a]:
                others = [k for k in range(d) if k not in (a, b)]
                forward = max([S[b, a, k] for k in others], default=F[a, b])
                backward = max([S[a, b, k] for k in others], default=F[a, b])
                resolved[(a, b) if forward <= backward else (b, a)] = False
    return deleted, added, resolved


def _triples(d):
    """Child ascending, then pairs j < k in lexicographic order."""
    for i in range(d):
        for j in range(d):
            for k in range(j + 1, d):
                if i not in (j, k):
                    yield i, j, k


# --- additive regressions, on the rows ------------------------------------------------------------------------------


def spline_design(x, splines):
    """(n, splines) cubic B-splines on uniform knots over the range widened by a thousandth, by scipy."""
    margin = 0.001 * np.ptp(x)
    step = (np.ptp(x) + 2 * margin) / (splines - 3)
    knots = x.min() - margin + step * np.arange(-3, splines + 1)
    return interpolate.BSpline.design_matrix(x, knots, 3).toarray()


def additive_hat(X, penalty, splines=10):
    """(n, n) hat matrix of a penalised additive regression on the columns of X, the mean included.

    Minimises |y - f|^2 + penalty * sum of squared second differences of each column's coefficients: least squares
    with the penalty as more rows.
    """
    n, p = X.shape
    designs = [spline_design(column, splines) for column in X.T]
    design = np.hstack([np.ones((n, 1)), *(B - B.mean(axis=0) for B in designs)])
    rows = np.zeros((p * (splines - 2), design.shape[1]))
    for k in range(p):
        block = np.diff(np.eye(splines), n=2, axis=0) * np.sqrt(penalty)
        rows[k * (splines - 2) : (k + 1) * (splines - 2), 1 + k * splines : 1 + (k + 1) * splines] = block
    return design @ np.linalg.pinv(np.vstack([design, rows]), rcond=1e-12)[:, :n]


def npvar_order(X, sp=0.6):
    """NPVAR's order, one column at a time, from hat matrices; mgcv divides the penalty of ten P-splines by 16."""
    left, order = list(range(X.shape[1])), []
    while left:
        fits = additive_hat(X[:, order], sp / 16) @ X if order else np.zeros_like(X)
        best = min(left, key=lambda j: X[:, j].var() - fits[:, j].var())
        order.append(best)
        left.remove(best)
    return order


def boosting_counts(X, child, steps=100, rate=0.1, df=4.0, splines=24):
    """How often each column is taken when ``child`` is boosted on the others, with n x n smoothers."""
    d = X.shape[1]
    smoothers = {}
    for j in set(range(d)) - {child}:
        low, high = -30.0, 30.0
        for _ in range(80):
            middle = (low + high) / 2
            S = additive_hat(X[:, [j]], np.exp(middle), splines)
            low, high = (middle, high) if np.trace(2 * S - S @ S.T) > df else (low, middle)
        smoothers[j] = S
    u = X[:, child] - X[:, child].mean()
    counts = np.zeros(d, dtype=int)
    for _ in range(steps):
        best = min(smoothers, key=lambda j: np.sum((u - smoothers[j] @ u) ** 2))
        counts[best] += 1
        u = u - rate * smoothers[best] @ u
    return counts


def include_edges(variance_of, d):
    """CAM's greedy search by trying every edge anew at every step; variance_of(child, parents) is a regression's."""
    graph = np.zeros((d, d), dtype=bool)
    added = []
    while True:
        gains = {}
        for i, j in product(range(d), repeat=2):
            wider = graph.copy()
            wider[i, j] = True
            if i != j and not graph[i, j] and nx.is_directed_acyclic_graph(nx.DiGraph(wider.astype(int))):
                parents = tuple(np.flatnonzero(graph[:, j]))
                gains[i, j] = np.log(variance_of(j, parents)) - np.log(variance_of(j, (*parents, i)))
        if not gains:
            return graph, added
        best = max(gains, key=gains.get)
        graph[best] = True
        added.append(best)


# --- searches over DAGs and their gradients ---------------------------------------------------------------------------


def gaussian_bic(X, dag):
    """-n/2 sum_j log of the residual variance of X_j on its parents - log(n)/2 edges, by least squares on the rows."""
    n = len(X)
    centred = X - X.mean(axis=0)
    total = -0.5 * np.log(n) * dag.sum()
    for j in range(len(dag)):
        parents = centred[:, dag[:, j]]
        slopes = np.linalg.lstsq(parents, centred[:, j], rcond=None)[0]
        total -= 0.5 * n * np.log(np.mean((centred[:, j] - parents @ slopes) ** 2))
    return total


def acyclicity_by_walks(A, longest=30):
    """tr(exp(A)) - d as a sum over closed walks: sum_k tr(A^k) / k!."""
    power, factorial, total = np.eye(len(A)), 1.0, 0.0
    for k in range(1, longest + 1):
        power, factorial = power @ A, factorial * k
        total += np.trace(power) / factorial
    return total


def linear_notears_by_rows(X, W, lambda1, rho, alpha):
    """NOTEARS' augmented Lagrangian written as in its paper, on centred rows."""
    centred = X - X.mean(axis=0)
    h = acyclicity_by_walks(W**2)
    loss = np.sum((centred - centred @ W) ** 2) / (2 * len(X))
    return loss + lambda1 * np.abs(W).sum() + rho / 2 * h**2 + alpha * h


def mlp_notears_by_loops(X, first_pos, bias_pos, first_neg, bias_neg, second, bias, lambda1, lambda2, rho, alpha):
    """NOTEARS-MLP's augmented Lagrangian, network by network and row by row; first layers are (d, hidden, d)."""
    n, d = X.shape
    first = first_pos - first_neg
    loss = 0.0
    for row in X:
        for j in range(d):
            units = [
                1 / (1 + np.exp(-(first[j, u] @ row + bias_pos[j, u] - bias_neg[j, u]))) for u in range(len(first[j]))
            ]
            loss += (row[j] - np.dot(second[j], units) - bias[j]) ** 2 / (2 * n)
    A = np.array([[sum(first[j, u, i] ** 2 for u in range(first.shape[1])) for j in range(d)] for i in range(d)])
    h = acyclicity_by_walks(A)
    penalties = lambda1 * (first_pos.sum() + first_neg.sum()) + lambda2 / 2 * ((first**2).sum() + (second**2).sum())
    return loss + penalties + rho / 2 * h**2 + alpha * h


# --- scores of orders, and their posterior by every order -------------------------------------------------------------


class Local(NamedTuple):
    """What a score says of a variable with a prefix."""

    value: float
    parents: np.ndarray
    scale: np.ndarray


class TableScore:
    """A score of orders from a table: ``L[i, S]`` nats of variable i with exactly the parents of mask S.

    ``scale[i, P]`` is the (H,) row of variable i with the prefix P; the order's share of it is the log of the sum over
    the grid of the exponentials of the variables' sums.
    """

    def __init__(self, L, scale=None, must_precede=None):
        self.L, self.width = L, len(L)
        self.scale = np.zeros((self.width, L.shape[1], 0)) if scale is None else scale
        none = np.zeros((self.width, self.width), dtype=bool)
        self.must_precede = none if must_precede is None else must_precede
        self.memo = {}
        self.lookups = 0

    def local(self, child, before):
        self.lookups += 1
        if (child, before) not in self.memo:
            assert not before >> child & 1, "a variable is not before itself"
            needed = sum(1 << int(i) for i in np.flatnonzero(self.must_precede[:, child]))
            assert not needed & ~before, "a prefix holds what must precede"
            subsets = [S for S in range(self.L.shape[1]) if not S & ~before]
            top = max(self.L[child, S] for S in subsets)
            weights = [np.exp(self.L[child, S] - top) for S in subsets]
            parents = [sum(w for w, S in zip(weights, subsets) if S >> j & 1) for j in range(self.width)]
            found = Local(top + np.log(sum(weights)), np.array(parents) / sum(weights), self.scale[child, before])
            self.memo[child, before] = found
        return self.memo[child, before]

    def shared(self, total):
        if not total.shape[-1]:
            return np.zeros(total.shape[:-1])
        top = total.max(axis=-1)
        return top + np.log(np.exp(total - top[..., None]).sum(axis=-1))

    def renamed(self, names):
        """The same score with variable ``names[i]`` in the place of i."""
        back = np.argsort(names)
        masks = [sum(1 << int(back[j]) for j in range(self.width) if S >> j & 1) for S in range(self.L.shape[1])]
        return TableScore(self.L[back][:, masks], self.scale[back][:, masks], self.must_precede[np.ix_(back, back)])


def random_score(seed, d, spread=2.0, grid=0, constrained=False):
    """A random table; with a grid, scales that favour a common value; with constraints, 0 < 1 < 2 and 0 < 3."""
    rng = np.random.default_rng(seed)
    scale = -0.5 * np.square(rng.normal(0, 2, (d, 1 << d, 1)) - np.linspace(-3, 3, grid)) if grid else None
    must = np.zeros((d, d), dtype=bool)
    if constrained:
        must[[0, 0, 1, 0], [1, 2, 2, 3]] = True
    return TableScore(rng.normal(0, spread, (d, 1 << d)), scale, must)


def every_order(score):
    """All orders that a score allows, with their scores, by the definition."""
    for order in permutations(range(score.width)):
        place = np.argsort(order)
        if all(place[i] < place[j] for i, j in np.argwhere(score.must_precede)):
            terms = [score.local(i, sum(1 << j for j in order[:k])) for k, i in enumerate(order)]
            yield order, sum(term.value for term in terms) + float(score.shared(sum(term.scale for term in terms)))


def posterior_by_every_order(score):
    """P(i -> j), P(i before j) and the best score for each of the two, by all d! orders."""
    d = score.width
    orders, values = zip(*every_order(score))
    weights = np.exp(np.array(values) - max(values))
    weights /= weights.sum()
    edges, ancestry, best = np.zeros((d, d)), np.zeros((d, d)), np.full((d, d), -np.inf)
    for order, value, weight in zip(orders, values, weights):
        for k, j in enumerate(order):
            edges[:, j] += weight * score.local(j, sum(1 << i for i in order[:k])).parents
            for i in order[:k]:
                ancestry[i, j] += weight
                best[i, j] = max(best[i, j], value)
    return edges, ancestry, best


def edges_by_subsets(L):
    """P(i -> j) by dynamic programming over subsets, without a shared scale or constraints.

    With f(U) and b(U) the sums over the orders of U and of the rest after U, the weight of "j has the prefix U and the
    parents S" is ``f(U) exp(L[j, S]) b(U + j)``.
    """
    d = len(L)
    every = range(1 << d)
    weight = np.exp(L - L.max(axis=1, keepdims=True))
    alpha = [[sum(weight[i, S] for S in every if not S & ~U and not U >> i & 1) for U in every] for i in range(d)]
    first, last = [1.0] + [0.0] * (len(every) - 1), [0.0] * (len(every) - 1) + [1.0]
    for U in every[1:]:
        first[U] = sum(first[U ^ 1 << i] * alpha[i][U ^ 1 << i] for i in range(d) if U >> i & 1)
    for U in reversed(every[:-1]):
        last[U] = sum(last[U | 1 << i] * alpha[i][U] for i in range(d) if not U >> i & 1)
    edges = np.zeros((d, d))
    for j in range(d):
        for U in every:
            for S in every:
                if not U >> j & 1 and not S & ~U:
                    mass = first[U] * weight[j, S] * last[U | 1 << j] / first[-1]
                    edges[[i for i in range(d) if S >> i & 1], j] += mass
    return edges
