"""NOTEARS-MLP: its formulas network by network and by finite differences, the authors' data, a trace by jax."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dagtune.baselines import BASELINES, TimeLimitError, run
from dagtune.baselines.notears_mlp import _Networks, learn_notears_mlp
from dagtune.graph import is_dag
from dagtune.metrics import f1
from dagtune.simulate import SIZES, random_dag, sample
from dagtune.validation import InputError
from oracles import mlp_notears_by_loops

RHO, ALPHA = 3.0, 0.7


def networks_and_parameters(seed, n=12, d=4, hidden=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, (n, d))
    networks = _Networks(X, hidden, 0.01, 0.02)
    parameters = networks.start(rng)
    lower, upper = networks.bounds(np.eye(d, dtype=bool))
    return X, networks, np.clip(parameters, lower, upper)


def layers(parameters, d, hidden):
    """The documented layout, cut by hand."""
    units = d * hidden
    sizes = [units * d, units, units * d, units, units, d]
    shapes = [(d, hidden, d), (d, hidden), (d, hidden, d), (d, hidden), (d, hidden), (d,)]
    parts = np.split(parameters, np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes)]


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_is_the_papers_network_by_network(seed):
    X, networks, parameters = networks_and_parameters(seed)
    expected = mlp_notears_by_loops(X, *layers(parameters, 4, 3), 0.01, 0.02, RHO, ALPHA)
    assert networks.lagrangian(parameters, RHO, ALPHA)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_that_of_finite_differences(seed):
    _, networks, parameters = networks_and_parameters(seed)
    numeric = approx_fprime(parameters, lambda flat: networks.lagrangian(flat, RHO, ALPHA)[0], 1e-7)
    assert networks.lagrangian(parameters, RHO, ALPHA)[1] == pytest.approx(numeric, rel=1e-3, abs=1e-4)


def test_how_many_networks_are_worked_on_at_a_time_changes_nothing(monkeypatch):
    X, networks, parameters = networks_and_parameters(0, n=50, d=7, hidden=4)
    whole = networks.lagrangian(parameters, RHO, ALPHA)
    for block in (1, 500, 700):
        monkeypatch.setattr("dagtune.baselines.notears_mlp._BLOCK", block)
        value, gradient = _Networks(X, 4, 0.01, 0.02).lagrangian(parameters, RHO, ALPHA)
        assert value == pytest.approx(whole[0], rel=1e-12)
        assert gradient == pytest.approx(whole[1], rel=1e-9, abs=1e-12)


def test_any_number_of_threads_gives_the_same_numbers(monkeypatch):
    X, _, parameters = networks_and_parameters(0, n=50, d=7, hidden=4)
    monkeypatch.setattr("dagtune.baselines.notears_mlp._BLOCK", 250)
    monkeypatch.setattr("dagtune.baselines.notears_mlp._WORTH_A_THREAD", 0)
    found = []
    for threads in (1, 2, 3, 20):
        with _Networks(X, 4, 0.01, 0.02, threads) as networks:
            found.append(networks.lagrangian(parameters, RHO, ALPHA))
    for value, gradient in found:
        assert value == found[0][0]
        assert (gradient == found[0][1]).all()


@pytest.mark.slow
def test_the_gradient_is_that_of_jax():
    jax = pytest.importorskip("jax", reason="pip install 'dagtune[baselines]'")
    X, networks, parameters = networks_and_parameters(1, n=60, d=5, hidden=10)

    def objective(flat):
        pos, bias_pos, neg, bias_neg, second, bias = layers_jax(flat, 5, 10)
        first = pos - neg
        units = jax.nn.sigmoid(jax.numpy.einsum("jui,ni->nju", first, X) + bias_pos - bias_neg)
        left = X - (units * second).sum(axis=2) - bias
        h = jax.numpy.trace(jax.scipy.linalg.expm((first**2).sum(axis=1).T)) - 5
        penalties = 0.01 * (pos.sum() + neg.sum()) + 0.01 * ((first**2).sum() + (second**2).sum())
        return (left**2).sum() / (2 * len(X)) + penalties + RHO / 2 * h**2 + ALPHA * h

    def layers_jax(flat, d, hidden):
        units = d * hidden
        cuts = np.cumsum([units * d, units, units * d, units, units])
        shapes = [(d, hidden, d), (d, hidden), (d, hidden, d), (d, hidden), (d, hidden), (d,)]
        return [part.reshape(shape) for part, shape in zip(jax.numpy.split(flat, cuts), shapes)]

    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(objective)(jax.numpy.asarray(parameters))
    ours, our_gradient = networks.lagrangian(parameters, RHO, ALPHA)
    assert ours == pytest.approx(float(value), rel=1e-10)
    assert our_gradient == pytest.approx(np.asarray(gradient), rel=1e-8, abs=1e-10)


def test_an_edge_weighs_the_norm_of_the_weights_that_carry_it():
    _, networks, parameters = networks_and_parameters(2)
    pos, _, neg, *_ = layers(parameters, 4, 3)
    for i in range(4):
        for j in range(4):
            assert networks.strengths(parameters)[i, j] == pytest.approx(np.sum((pos - neg)[j, :, i] ** 2))


def test_the_start_is_torchs_and_held_weights_stay_at_zero():
    networks = _Networks(np.zeros((3, 9)), 16, 0.01, 0.01)
    pos, bias_pos, neg, bias_neg, second, bias = layers(networks.start(np.random.default_rng(0)), 9, 16)
    for part, bound in (
        (pos, 1 / 3),
        (bias_pos, 1 / 3),
        (neg, 1 / 3),
        (bias_neg, 1 / 3),
        (second, 1 / 4),
        (bias, 1 / 4),
    ):
        assert 0.7 * bound < np.abs(part).max() <= bound
    held = np.zeros((9, 9), dtype=bool)
    held[2, 5] = True
    upper = layers(networks.bounds(held)[1], 9, 16)
    assert (upper[0][5, :, 2] == 0).all()
    assert np.isinf(upper[0][2, :, 5]).all()


@pytest.mark.parametrize(("seed", "least"), [(4, 0.8)])
def test_it_recovers_the_authors_own_kind_of_data(seed, least):
    graph = random_dag(10, 10, rng=seed)
    learned = learn_notears_mlp(sample(graph, "mlp100", n=1000, rng=seed), rng=seed)
    assert learned.converged
    assert f1(graph, learned.graph) >= least


def small(seed=0, n=120):
    graph = random_dag(5, 5, rng=seed)
    return graph, sample(graph, "tanh", n=n, rng=seed)


def test_the_same_seed_gives_the_same_graph_and_weights():
    _, X = small()
    once, again = (learn_notears_mlp(X, rng=3) for _ in range(2))
    assert (once.weights == again.weights).all()
    assert is_dag(once.graph)
    assert ((once.weights != 0) == once.graph).all()


def test_forbidden_edges_are_never_there_and_required_ones_are_refused():
    _, X = small()
    found = learn_notears_mlp(X, rng=0).graph
    forbidden = np.zeros((5, 5), dtype=bool)
    forbidden[tuple(np.argwhere(found)[0])] = True
    assert not learn_notears_mlp(X, rng=0, forbidden=forbidden).graph[forbidden].any()
    with pytest.raises(InputError, match="can't require"):
        learn_notears_mlp(X, required=found)


def test_time_out_is_an_error_not_a_graph():
    _, X = small()
    with pytest.raises(TimeLimitError, match="notears-mlp did not finish"):
        learn_notears_mlp(X, rng=0, time_limit=0.01)


def test_huge_values_overflow_no_sigmoid():
    _, X = small()
    with np.errstate(all="raise", under="ignore", over="ignore"):
        value, gradient = _Networks(X.to_numpy() * 1e4, 10, 0.01, 0.01).lagrangian(
            np.random.default_rng(0).uniform(0, 1, 5 * 10 * 5 * 2 + 50 * 3 + 5), 1.0, 0.0
        )
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_bad_input_gets_the_house_errors():
    with pytest.raises(InputError, match="constant"):
        run("notears-mlp", np.ones((10, 3)))
    with pytest.raises(InputError, match="hidden"):
        learn_notears_mlp(np.eye(4), hidden=0)
    with pytest.raises(InputError, match="lambda2"):
        BASELINES["notears-mlp"](np.eye(4), lambda2=-1)


@pytest.mark.slow
def test_it_recovers_the_authors_own_kind_of_data_on_average():
    scores = []
    for seed in range(5):
        graph = random_dag(10, 10, rng=seed)
        scores.append(f1(graph, learn_notears_mlp(sample(graph, "mlp100", n=1000, rng=seed), rng=seed).graph))
    assert np.mean(scores) >= 0.8


@pytest.mark.slow
def test_the_papers_dense_20_nodes_converge():
    size = SIZES["d20"]
    graph = random_dag(size.nodes, size.edges, rng=0)
    assert learn_notears_mlp(sample(graph, "tanh", n=size.rows, rng=0), rng=0, time_limit=600).converged
