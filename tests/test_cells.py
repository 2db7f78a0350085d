"""Cells: each is the sum of its parts, and the evidence is their mean over those that there are."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from dagtune.conditional.apart import any_distribution
from dagtune.conditional.cells import (
    ADDITIVE,
    CELLS,
    JOINT,
    LINKED,
    UNEVEN,
    UNEVEN_JOINT,
    evidence,
    kernel_of,
    log_mean,
)
from dagtune.conditional.columns import OWN
from dagtune.conditional.design import SCALES, measure
from dagtune.conditional.mechanisms import additive, fitted, functions, joint, kernel
from dagtune.conditional.noise import link, shaped, spread, spreading
from dagtune.conditional.numbers import NEGLIGIBLE, SPREAD_BENDS
from dagtune.conditional.problem import Offer, Shares
from dagtune.conditional.score import posed

NEVER = -1e299
ALL = Offer()


def make(kind="smooth", n=250, seed=0):
    """(n, 5): three causes, of which x2 has three categories; x3 their effect; x4 a count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 2] = rng.integers(0, 3, n)
    u = np.tanh(2 * X[:, 0]) + X[:, 1]
    X[:, 3] = {
        "smooth": u + 0.5 * rng.laplace(size=n),
        "linked": u**3 / 3 + 0.3 * rng.normal(size=n),
        "uneven": u + np.exp(X[:, 0]) * rng.normal(size=n),
        "product": X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n),
        "levels": 2 * (X[:, 2] == 1) + rng.normal(size=n),
    }[kind]
    X[:, 4] = rng.poisson(np.exp(0.5 * X[:, 0]))
    return X


KINDS = ["continuous", "continuous", "categorical", "continuous", "continuous"]


def problem_of(X, offer=ALL, scales=SCALES, joint=True):
    design = measure(X, KINDS, scales)
    design.targets.joint[:] = joint
    return posed(design, offer)


def cells_of(problem, child, S):
    starts = problem.targets.starts
    cells = np.empty((starts[child + 1] - starts[child], CELLS))
    return evidence(problem, child, np.array(S, dtype=np.int64), cells), cells


def by_parts(problem, target, S):
    """The cells of one target put together from the parts, without their prior."""
    S = np.array(S, dtype=np.int64)
    offer, sums, F, y = problem.offer, problem.sums, problem.rows.F, problem.rows.Y[target]
    many = offer.any_distribution and problem.targets.smooth[target]
    cells = np.full(CELLS, -np.inf)

    def distributions(e, base, at):
        more = (base + shaped(e), base + any_distribution(problem.discrete, S, e)) if many else (-np.inf, -np.inf)
        cells[at : at + 3] = base, *more

    smooth = [range(sums.starts[j], sums.starts[j + 1]) for j in S]
    idx = [k for own in smooth for k in own if sums.rough[k] == 0 or k - own[0] <= SPREAD_BENDS]
    fits = [(ADDITIVE, UNEVEN)]
    if offer.joint and len(S) > 1:
        fits.append((JOINT, UNEVEN_JOINT))
    for at, uneven in fits:
        u, out = np.zeros(len(y)), np.empty(len(y))
        if at == JOINT:
            base = joint(kernel_of(problem, S), y, u)[0]
        else:
            base, _, _, setting, _ = additive(sums, target, S, problem.targets.first[target])
            if len(S):
                fitted(sums, target, S, setting, F, u)
        e = y - u
        distributions(e, base, at)
        if not len(S):
            continue
        if at == ADDITIVE and offer.link:
            nats, _ = link(u, e, out)
            if nats > -NEGLIGIBLE:
                distributions(out.copy(), base + nats, LINKED)
                if cells[LINKED:UNEVEN].max() > cells[:LINKED].max():
                    e, base = out.copy(), base + nats
        if offer.varying_spread:
            nats = spread(F, spreading(np.array(idx), sums.G, sums.rough), e, out)
            if nats > -NEGLIGIBLE:
                distributions(out.copy(), base + nats, uneven)
    return cells


#: Shares of the mechanisms, distributions and scales that no accident makes right.
SHARES = Shares(np.array([0.31, 0.23, 0.19, 0.16, 0.11]), np.array([0.5, 0.2, 0.3]), np.array([0.7, 0.3]))


def prior_by_names(offer, many, causes, joint=True):
    """(CELLS,) prior of the cells: what is not offered, or needs more causes, is given to the cell without that."""
    names = [("sum", False), ("link", False), ("sum", True), ("joint", False), ("joint", True)]
    prior = np.zeros((5, 3))
    for (mechanism, uneven), g in zip(names, SHARES.mechanism):
        if mechanism == "link" and not (offer.link and causes):
            mechanism = "sum"
        if mechanism == "joint" and not (offer.joint and joint and causes > 1):
            mechanism = "sum"
        uneven = uneven and offer.varying_spread and causes > 0
        for k, h in enumerate(SHARES.distribution):
            prior[names.index((mechanism, uneven)), k if many else 0] += g * h
    return prior.ravel()


def test_log_mean_counts_what_it_is_told():
    values = np.array([-1000.0, -1001.0, -1e300])
    assert log_mean(values, 2) == pytest.approx(special.logsumexp(values) - np.log(2))
    assert log_mean(values, 5) == pytest.approx(special.logsumexp(values) - np.log(5))


@pytest.mark.parametrize("kind", ["smooth", "linked", "uneven", "product", "levels"])
@pytest.mark.parametrize("S", [(), (0,), (0, 1), (0, 1, 2)])
def test_cells_are_the_sums_of_their_parts(kind, S):
    problem = problem_of(make(kind))._replace(shares=SHARES)
    found, cells = cells_of(problem, 3, S)
    values = []
    first = problem.targets.starts[3]
    for k in range(2):
        prior = prior_by_names(problem.offer, problem.targets.smooth[first + k], len(S))
        expected = by_parts(problem, first + k, S) + problem.targets.jacobian[first + k]
        there = np.isfinite(expected)
        expected[there] += np.log(prior[there] * SHARES.scale[k])
        np.testing.assert_array_equal(cells[k] > NEVER, there)
        np.testing.assert_allclose(cells[k][there], expected[there], atol=1e-6)
        values.append(special.logsumexp(expected[there]))
    assert found.value == pytest.approx(special.logsumexp(values), abs=1e-6)
    weight = special.softmax(values)
    assert found.free == pytest.approx(weight[~problem.targets.own[first : first + 2]].sum(), abs=1e-6)
    assert found.top == first + np.argmax(values)


@pytest.mark.parametrize("flags", list(product([False, True], repeat=4)))
def test_only_what_is_offered_is_counted(flags):
    offer = Offer(*flags)
    problem = problem_of(make(), offer, (OWN,))._replace(shares=SHARES)
    for S in ((), (0,), (0, 1)):
        found, cells = cells_of(problem, 3, S)
        target = problem.targets.starts[3]
        expected = by_parts(problem, target, S)
        there = np.isfinite(expected)
        np.testing.assert_array_equal(cells[0] > NEVER, there)
        prior = prior_by_names(offer, offer.any_distribution and problem.targets.smooth[target], len(S))
        assert prior.sum() == pytest.approx(1)
        expected[there] += np.log(prior[there])
        assert found.value == pytest.approx(special.logsumexp(expected[there]), abs=1e-6)
        assert found.free == 0


def test_a_count_has_no_density_of_its_noise():
    problem = problem_of(make())
    _, cells = cells_of(problem, 4, (0, 1))
    assert (cells.reshape(-1, 3)[:, 1:] < NEVER).all()
    assert (cells[0, [ADDITIVE, JOINT]] > NEVER).all()


def test_the_joint_mechanism_is_computed_where_it_is_worth_it():
    problem = problem_of(make("product"), joint=False)
    found, cells = cells_of(problem, 3, (0, 1))
    assert (cells[:, JOINT:] < NEVER).all()
    problem.targets.joint[problem.targets.starts[3]] = True
    more, cells = cells_of(problem, 3, (0, 1))
    assert (cells[0, JOINT:UNEVEN_JOINT] > NEVER).all()
    assert (cells[1:, JOINT:] < NEVER).all()
    assert more.value > found.value + 50
    assert more.log_v < found.log_v - 1


@pytest.mark.parametrize(("kind", "at"), [("smooth", ADDITIVE), ("uneven", UNEVEN), ("product", JOINT)])
def test_the_true_kind_of_mechanism_wins(kind, at):
    """Among sums where there is one: a joint function can be much the same."""
    _, cells = cells_of(problem_of(make(kind, n=600), joint=kind == "product"), 3, (0, 1))
    assert int(np.argmax(cells[0])) // 3 == at // 3


def test_a_bent_link_is_seen():
    _, cells = cells_of(problem_of(make("linked", n=600)), 3, (0, 1))
    assert cells[0, LINKED:UNEVEN].max() > cells[0, :LINKED].max() + 50


def test_log_v_is_that_of_the_residuals_on_the_own_scale():
    X = make("smooth", n=600)
    problem = problem_of(X)
    found, _ = cells_of(problem, 3, (0, 1))
    sums, target = problem.sums, problem.targets.starts[3]
    log_v = additive(sums, target, np.array([0, 1]), problem.targets.first[target])[1]
    u = np.empty(600)
    fitted(
        sums,
        target,
        np.array([0, 1]),
        found.setting if found.top == target else problem.targets.first[target],
        problem.rows.F,
        u,
    )
    assert found.log_v == pytest.approx(log_v, abs=1e-9)
    assert found.log_v == pytest.approx(np.log(np.var(problem.rows.Y[target] - u)), abs=0.1)


def test_what_a_link_explains_is_no_noise():
    X = make("linked", n=600)
    problem = problem_of(X, joint=False)
    linked, _ = cells_of(problem, 3, (0, 1))
    plain, _ = cells_of(problem_of(X, Offer(link=False), joint=False), 3, (0, 1))
    target, S = problem.targets.starts[3], np.array([0, 1])
    u, out = np.empty(600), np.empty(600)
    _, log_v, _, setting, _ = additive(problem.sums, target, S, problem.targets.first[target])
    fitted(problem.sums, target, S, setting, problem.rows.F, u)
    fall = link(u, problem.rows.Y[target] - u, out)[1]
    assert fall > 0.1
    assert plain.log_v == pytest.approx(log_v)
    assert linked.log_v == pytest.approx(log_v - fall)


def test_categories_enter_the_kernel_by_their_functions():
    problem = problem_of(make())
    rows = problem.rows
    given = kernel_of(problem, np.array([0, 2]))
    X = rows.Z[[0, 2, 3]]  # x0, and two functions of three categories
    assert rows.starts.tolist() == [0, 1, 2, 4, 5, 6]
    np.testing.assert_array_equal(functions(given), functions(kernel(np.ascontiguousarray(X), 2, rows.marks)))


def test_units_are_no_matter_for_the_evidence():
    X = make("uneven")
    scale = np.array([1e-6, 1e6, 1.0, 1e3, 1.0])
    for child, S in ((3, (0, 1)), (0, (1, 3)), (1, ())):
        one = cells_of(problem_of(X), child, S)[0]
        other = cells_of(
            problem_of(X * scale + 3 * scale * np.array([kind == "continuous" for kind in KINDS])), child, S
        )[0]
        assert other.value == pytest.approx(one.value, abs=1e-3)
        assert other.log_v == pytest.approx(one.log_v, abs=1e-4)


def test_the_order_of_rows_is_no_matter_for_the_evidence():
    X = make("product")
    p = np.random.default_rng(0).permutation(len(X))
    here, there = problem_of(X), problem_of(X[p])
    for S in ((), (0, 1), (0, 1, 2)):
        assert cells_of(there, 3, S)[0].value == pytest.approx(cells_of(here, 3, S)[0].value, abs=1e-4)


@pytest.mark.parametrize("noise", ["normal", "uniform", "exponential", "laplace"])
def test_causes_that_are_none_cost_evidence(noise):
    """Over twenty tables of independent columns. A joint function of two costs less than a sum of two."""
    gains = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = getattr(rng, noise)(size=(300, 5))
        X[:, 2] = rng.integers(0, 3, 300)
        problem = problem_of(X, joint=False)
        alone, one, two = (cells_of(problem, 3, S)[0].value for S in ((), (0,), (0, 1)))
        gains.append((one - alone, two - alone, cells_of(problem_of(X), 3, (0, 1))[0].value - alone))
    one, two, joined = np.mean(gains, axis=0)
    assert two < one - 1 < -4
    assert joined < -3
    assert np.max(gains) < 4


def test_evidence_of_a_chain_prefers_its_true_direction():
    """Uniform noise: the whole likelihood of x0 -> x1 against x1 -> x0."""
    right = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(1000, 5))
        X[:, 1] += X[:, 0]
        X[:, 2] = rng.integers(0, 3, 1000)
        problem = problem_of(X)
        forward = cells_of(problem, 0, ())[0].value + cells_of(problem, 1, (0,))[0].value
        backward = cells_of(problem, 1, ())[0].value + cells_of(problem, 0, (1,))[0].value
        right += forward > backward + 3
    assert right >= 9
