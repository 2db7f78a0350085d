"""Graphs as asked for, data as the formulas say, the same on any machine."""

import hashlib
import math

import networkx as nx
import numpy as np
import pytest
from scipy import special, stats

from dagtune import InputError
from dagtune.graph import complete, is_dag, to_frame, topological_order
from dagtune.simulate import (
    MODELS,
    NOISES,
    SIZES,
    Mechanism,
    erdos_renyi_dag,
    portable,
    r2_sortability,
    random_dag,
    register_model,
    sample,
    scale_free_dag,
    simulate,
    var_sortability,
)

PAIRS = [(model, recipe) for model, recipes in MODELS.items() for recipe in recipes]


# --- graphs


def test_the_papers_sizes_are_named():
    assert {name: (s.nodes, s.edges, s.rows) for name, s in SIZES.items()} == {
        "d10": (10, 40, 100),
        "d20": (20, 100, 400),
        "d25": (25, 150, 600),
        "d30": (30, 250, 900),
        "d40": (40, 400, 1600),
    }


@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (2, 1), (10, 0), (10, 40), (10, 45), (40, 400)])
def test_random_dag_has_exactly_the_edges_asked_for(nodes, edges):
    graph = random_dag(nodes, edges, rng=0)
    assert graph.dtype == bool
    assert graph.sum() == edges
    assert is_dag(graph)


def test_random_dag_draws_order_and_pairs_uniformly():
    """3 nodes, 1 edge: 6 graphs, each with probability 1/6; 3 nodes, 3 edges: 6 orders alike."""
    rng = np.random.default_rng(0)
    for edges in (1, 3):
        counts = {}
        for _ in range(3000):
            key = random_dag(3, edges, rng=rng).tobytes()
            counts[key] = counts.get(key, 0) + 1
        assert len(counts) == 6
        assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_erdos_renyi_dag_has_the_asked_probability():
    graph = erdos_renyi_dag(100, 0.3, rng=0)
    assert is_dag(graph)
    assert abs(graph.sum() - 0.3 * 4950) < 4 * math.sqrt(4950 * 0.3 * 0.7)
    assert erdos_renyi_dag(6, 1.0, rng=0).sum() == 15
    assert erdos_renyi_dag(6, 0.0, rng=0).sum() == 0


def test_scale_free_dag_gives_each_node_its_links_and_has_hubs():
    graph = scale_free_dag(200, 2, rng=0)
    assert is_dag(graph)
    assert sorted(graph.sum(axis=0))[:3] == [0, 1, 2]  # the first has none, the second one, the rest two
    assert graph.sum() == 0 + 1 + 198 * 2
    even = max(random_dag(200, 397, rng=seed).sum(axis=1).max() for seed in range(20))
    assert graph.sum(axis=1).max() > 1.5 * even


@pytest.mark.parametrize("make", [random_dag, erdos_renyi_dag, scale_free_dag])
def test_a_fixed_order_is_kept(make):
    order = [4, 2, 0, 5, 1, 3]
    for seed in range(20):
        graph = make(6, {random_dag: 9, erdos_renyi_dag: 0.5, scale_free_dag: 2}[make], order=order, rng=seed)
        assert not (graph & ~complete(order)).any()


def test_bad_graph_requests_say_the_number_that_would_work():
    with pytest.raises(
        InputError, match=r"at most 10 \* 9 / 2 = 45 edges, not 46: ask for 45 or fewer, or for 11 nodes"
    ):
        random_dag(10, 46)
    with pytest.raises(InputError, match="nodes must be a whole number at least 1, not 0"):
        random_dag(0, 0)
    with pytest.raises(InputError, match="edges must be a whole number at least 0, not -1"):
        random_dag(5, -1)
    with pytest.raises(InputError, match=r"between 0 and 1, not 1\.5"):
        erdos_renyi_dag(5, 1.5)
    with pytest.raises(InputError, match="from 1 to 4, not 5"):
        scale_free_dag(5, 5)
    with pytest.raises(InputError, match="5 positions for 6 nodes: list each of 0 to 5 once"):
        random_dag(6, 3, order=[0, 1, 2, 3, 4])
    with pytest.raises(InputError, match="each position"):
        random_dag(3, 1, order=[0, 0, 1])


# --- the same on any machine


def test_the_same_seed_gives_these_graphs_weights_and_noise_everywhere():
    """Pinned to the last bit: a change here breaks everybody's stored experiments."""
    graph = random_dag(5, 6, rng=0)
    assert np.argwhere(graph).tolist() == PINNED_EDGES
    made = simulate(graph, "linear", 3, rng=7)
    assert {j: m.weights["alpha"].tolist() for j, m in enumerate(made.mechanisms)} == PINNED_WEIGHTS
    assert made.noise.tolist() == PINNED_NOISE


@pytest.mark.parametrize(("model", "recipe"), PAIRS)
def test_the_same_seed_gives_the_same_table_to_the_last_bit_everywhere(model, recipe):
    """At the paper's d = 20; the digests were made on x86-64 with numpy 2.4 and hold wherever IEEE 754 does."""
    size = SIZES["d20"]
    X = sample(random_dag(size.nodes, size.edges, rng=1), model, size.rows, recipe, rng=2).to_numpy()
    assert hashlib.sha256(X.tobytes()).hexdigest()[:16] == PINNED_TABLES[model, recipe]


def test_the_portable_functions_are_numpys_to_1e_15():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=20_000) * 10, rng.normal(size=1000) * 1e-6, [0.0, 700.0, -700.0]])
    np.testing.assert_allclose(portable.exp(x), np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(portable.sigmoid(x), special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(portable.tanh(x), np.tanh(x), rtol=0, atol=1e-15)
    for angle in (x, x[:20_000] * 1e3, x[:20_000] * 1e4):
        np.testing.assert_allclose(portable.sin(angle), np.sin(angle), rtol=0, atol=1e-15)
        np.testing.assert_allclose(portable.cos(angle), np.cos(angle), rtol=0, atol=1e-15)
    np.testing.assert_allclose(portable.sin(x * 1e6), np.sin(x * 1e6), rtol=0, atol=1e-7)
    assert np.abs(portable.cos(x * 1e200)).max() <= 1
    u = np.concatenate([rng.random(20_000), 2.0 ** -np.arange(60), 1 - 2.0 ** -np.arange(1, 53)])
    np.testing.assert_allclose(portable.log(u), np.log(u), rtol=1e-15)
    assert portable.left_sum(x[None, :100]) == pytest.approx(x[:100].sum())
    mean, spread = portable.mean_and_spread(x)
    assert (mean, spread) == pytest.approx((x.mean(), x.std()))


def test_seeds_and_generators_are_read():
    graph = random_dag(6, 8, rng=0)
    assert sample(graph, n=20, rng=1).equals(sample(graph, n=20, rng=np.random.default_rng(1)))
    assert not sample(graph, n=20, rng=1).equals(sample(graph, n=20, rng=2))
    rng = np.random.default_rng(1)
    assert not sample(graph, n=20, rng=rng).equals(sample(graph, n=20, rng=rng))
    assert not (random_dag(6, 8, rng=1) == random_dag(6, 8, rng=2)).all()


@pytest.mark.parametrize(("model", "recipe"), PAIRS)
def test_a_longer_table_starts_with_the_shorter_one(model, recipe):
    graph = random_dag(8, 12, rng=3)
    np.testing.assert_array_equal(sample(graph, model, 50, recipe, 4)[:20], sample(graph, model, 20, recipe, 4))


def test_options_do_not_move_each_others_draws():
    graph = random_dag(8, 12, rng=3)
    plain = simulate(graph, "linear", 30, rng=4)
    other = simulate(graph, "linear", 30, rng=4, noise="laplace", noise_scale=(0.5, 2.0), standardize=True)
    more = graph | complete(topological_order(graph))
    denser = simulate(more, "linear", 30, rng=4)
    scaled = simulate(graph, "linear", 30, rng=4, noise_scale=(0.5, 2.0))
    for j in range(8):
        np.testing.assert_array_equal(plain.mechanisms[j].weights["alpha"], other.mechanisms[j].weights["alpha"])
        kept = np.isin(np.flatnonzero(more[:, j]), np.flatnonzero(graph[:, j]))
        np.testing.assert_array_equal(plain.mechanisms[j].weights["alpha"], denser.mechanisms[j].weights["alpha"][kept])
    np.testing.assert_array_equal(plain.noise, denser.noise)
    np.testing.assert_allclose(scaled.noise, plain.noise * scaled.noise_scale)
    np.testing.assert_array_equal(scaled.noise_scale, other.noise_scale)


# --- data as the formulas say


def formulas(model, recipe, t, weights, kind):
    """Each node's signal f(PA), from ALGORITHM.md's section 4 and the paper's V-A, in numpy: the second road."""
    alpha, beta = weights.get("alpha"), weights.get("beta", [np.nan])[0]
    if recipe == "released":
        terms = {
            "tanh": lambda PA: np.tanh(PA),
            "abs": lambda PA: weights["b"] * np.abs(PA),
            "mlp-tanh": lambda PA: PA if t % 7 else np.tanh(PA) + np.cos(PA) + np.sin(PA),
            "abs-tanh": lambda PA: np.tanh(PA) if t % 2 else np.abs(PA),
        }[model]
        return lambda PA: terms(PA).sum(axis=1)
    single = {
        "linear": lambda PA: PA @ alpha,
        "tanh": lambda PA: np.tanh(PA @ alpha),
        "abs": lambda PA: np.abs(PA) @ alpha,
        "mlp": lambda PA: beta * special.expit(PA @ alpha),
    }
    if model in ("mlp-tanh", "abs-tanh"):
        assert kind in model
        return single[kind]
    if model.startswith("mlp"):
        return lambda PA: special.expit(PA @ weights["W1"]) @ weights["W2"]
    if model == "gp":
        return lambda PA: sum(
            np.sqrt(2 / 100) * np.cos(np.outer(PA[:, j], weights["omega"][j]) + weights["phi"][j]) @ weights["a"][j]
            for j in range(PA.shape[1])
        )
    if model == "gp-joint":
        return lambda PA: np.sqrt(2 / 100) * np.cos(PA @ weights["omega"] + weights["phi"]) @ weights["a"]
    return single[model]


@pytest.mark.parametrize(("model", "recipe"), [pair for pair in PAIRS if pair[0] != "sigmoid-mix"])
@pytest.mark.parametrize("standardize", [False, True, "internal"])
def test_each_column_is_its_formula_plus_its_noise(model, recipe, standardize):
    made = simulate(random_dag(12, 30, rng=5), model, 40, recipe, rng=6, standardize=standardize)
    made_values = made.X.to_numpy() * made.spread + made.centre
    seen = made.X.to_numpy() if standardize == "internal" else made_values
    for t, j in enumerate(made.order):
        parents = np.flatnonzero(made.graph[:, j])
        mechanism = made.mechanisms[j]
        if len(parents):
            signal = formulas(model, recipe, t, mechanism.weights, mechanism.kind)(seen[:, parents])
        else:
            signal = 0.0  # a root is its noise, in both recipes
        np.testing.assert_allclose(made_values[:, j], signal + made.noise[:, j], rtol=1e-9, atol=1e-9)


def test_sigmoid_mix_puts_the_noise_through_the_sigmoid():
    made = simulate(random_dag(12, 30, rng=5), "sigmoid-mix", 40, rng=6)
    for j in range(12):
        weights = made.mechanisms[j].weights
        inside = made.X.to_numpy()[:, np.flatnonzero(made.graph[:, j])] @ weights["alpha"] + made.noise[:, j]
        np.testing.assert_allclose(made.X.iloc[:, j], weights["beta"][0] * special.expit(inside), atol=1e-12)


@pytest.mark.parametrize(("model", "transform"), [("linear", lambda x: x), ("abs", np.abs)])
def test_regressing_on_the_known_functions_gives_back_the_weights(model, transform):
    made = simulate(random_dag(10, 20, rng=0), model, 20_000, rng=1)
    X = made.X.to_numpy()
    for j in range(10):
        parents = np.flatnonzero(made.graph[:, j])
        if len(parents):
            design = np.column_stack([np.ones(len(X)), transform(X[:, parents])])
            found, *_ = np.linalg.lstsq(design, X[:, j], rcond=None)
            errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
            np.testing.assert_array_less(np.abs(found[1:] - made.mechanisms[j].weights["alpha"]), 5 * errors[1:])


@pytest.mark.parametrize(
    ("model", "transform"),
    [("tanh", np.tanh), ("mlp-tanh", None), ("abs-tanh", None)],
)
def test_regressing_released_data_on_the_known_functions_gives_back_ones(model, transform):
    made = simulate(random_dag(9, 14, rng=0), model, 20_000, "released", rng=1)
    X = made.X.to_numpy()
    by_kind = {
        "tanh": np.tanh,
        "abs": np.abs,
        "sum": lambda x: x,
        "tanh-cos-sin": lambda x: np.tanh(x) + np.cos(x) + np.sin(x),
    }
    for j in range(9):
        parents = np.flatnonzero(made.graph[:, j])
        if len(parents):
            design = np.column_stack([np.ones(len(X)), (transform or by_kind[made.mechanisms[j].kind])(X[:, parents])])
            found, *_ = np.linalg.lstsq(design, X[:, j], rcond=None)
            errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
            np.testing.assert_array_less(np.abs(found[1:] - 1), 5 * errors[1:])
            exponential = made.mechanisms[j].noise == "raw-exponential"
            assert abs(found[0] - exponential) < 5 * errors[0]  # Exp(1) has mean 1


def test_the_weights_follow_their_distribution():
    """+-U(0.5, 2): |w| uniform on [0.5, 2], either sign alike."""
    made = simulate(complete(range(60)), "linear", 1, rng=0)
    weights = np.concatenate([m.weights["alpha"] for m in made.mechanisms])
    assert len(weights) == 1770
    assert stats.kstest(np.abs(weights), stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3
    assert stats.binomtest(int((weights > 0).sum()), 1770).pvalue > 1e-3


def test_released_abs_draws_its_weights_anew_for_every_row():
    made = simulate(complete(range(4)), "abs", 500, "released", rng=0)
    b = made.mechanisms[3].weights["b"]
    assert b.shape == (500, 3)
    assert len(np.unique(b)) == 1500
    assert stats.kstest(np.abs(b).ravel(), stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3


def test_the_mixes_choose_each_formula_half_of_the_time():
    for model, kinds in (("mlp-tanh", {"mlp", "tanh"}), ("abs-tanh", {"abs", "tanh"})):
        made = simulate(complete(range(100)), model, 1, rng=0, standardize=False)
        found = [m.kind for m in made.mechanisms]
        assert set(found) == kinds
        assert stats.binomtest(found.count("tanh"), 100).pvalue > 1e-3


def test_released_mixes_follow_the_topological_position():
    made = simulate(random_dag(15, 40, rng=0), "mlp-tanh", 5, "released", rng=0)
    assert [made.mechanisms[j].noise == "raw-exponential" for j in made.order] == [t % 7 == 0 for t in range(15)]
    made = simulate(random_dag(15, 40, rng=0), "abs-tanh", 5, "released", rng=0)
    assert [made.mechanisms[j].kind for j in made.order] == ["abs" if t % 2 == 0 else "tanh" for t in range(15)]


DISTRIBUTIONS = {
    "gaussian": stats.norm,
    "uniform": stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "exponential": stats.expon(-1),
    "laplace": stats.laplace(0, math.sqrt(0.5)),
    "t3": stats.t(3, scale=1 / math.sqrt(3)),
    "raw-exponential": stats.expon,
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_has_the_stated_distribution(name):
    made = simulate(np.zeros((2, 2)), "linear", 10_000, rng=11, noise=name, noise_scale=[1.0, 3.0])
    distribution = DISTRIBUTIONS[name]
    assert distribution.var() == pytest.approx(1)
    assert distribution.mean() == pytest.approx(1 if name.startswith("raw") else 0)
    for column, scale in ((0, 1.0), (1, 3.0)):
        assert stats.kstest(made.noise[:, column] / scale, distribution.cdf).pvalue > 1e-3
        np.testing.assert_array_equal(made.X.iloc[:, column], made.noise[:, column])
    assert abs(stats.spearmanr(made.noise).statistic) < 0.04


def test_each_recipe_states_its_noise():
    made = simulate(random_dag(4, 3, rng=0), "abs-tanh", 10_000, "released", rng=0)
    for t, j in enumerate(made.order):
        distribution = stats.expon if t % 2 else stats.norm
        assert stats.kstest(made.noise[:, j], distribution.cdf).pvalue > 1e-3


def test_noise_scale_is_a_number_a_range_or_one_value_a_node():
    graph = random_dag(200, 0, rng=0)
    assert (simulate(graph, "linear", 2, rng=0, noise_scale=2.5).noise_scale == 2.5).all()
    drawn = simulate(graph, "linear", 2, rng=0, noise_scale=(0.5, 2.0)).noise_scale
    assert stats.kstest(drawn, stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3
    own = np.linspace(1, 2, 200)
    np.testing.assert_array_equal(simulate(graph, "linear", 2, rng=0, noise_scale=own).noise_scale, own)
    with pytest.raises(InputError, match="3 values for 200 nodes: pass 200"):
        sample(graph, "linear", 2, noise_scale=[1, 2, 3])
    with pytest.raises(InputError, match=r"wrong order: pass \(0\.5, 2\)"):
        sample(graph, "linear", 2, noise_scale=(2.0, 0.5))
    for bad in (0, -1.0, "big", np.nan, (0.0, 1.0), []):
        with pytest.raises(InputError, match="must be positive"):
            sample(graph, "linear", 2, noise_scale=bad)


def test_a_gaussian_process_has_its_kernel_for_covariance():
    """f at two points, over many edges of one seed: covariance exp(-(x - x')^2 / 2), and normal enough."""
    made = simulate(complete(range(60)), "gp", 1, rng=0)
    at = np.array([-1.0, 0.0, 1.5])
    values = []
    for m in made.mechanisms:
        w = m.weights
        values.extend(
            np.sqrt(2 / 100) * np.cos(np.outer(at, o) + p) @ a for o, p, a in zip(w["omega"], w["phi"], w["a"])
        )
    values = np.array(values)
    assert len(values) == 1770
    expected = np.exp(-((at[:, None] - at[None, :]) ** 2) / 2)
    np.testing.assert_allclose(values.T @ values / len(values), expected, atol=0.15)
    assert stats.kstest(values[:, 0], stats.norm.cdf).pvalue > 1e-3


def test_standardize_scales_the_finished_table_and_internal_the_variables_as_they_are_made():
    graph = random_dag(12, 40, rng=0)
    plain, after = sample(graph, "linear", 500, rng=1), sample(graph, "linear", 500, rng=1, standardize=True)
    np.testing.assert_allclose(after, (plain - plain.mean()) / plain.std(ddof=0))
    inside = sample(graph, "linear", 500, rng=1, standardize="internal")
    np.testing.assert_allclose(inside.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(inside.std(ddof=0), 1)
    assert not np.allclose(inside, after)
    assert r2_sortability(after, graph) > 0.85 > 0.7 > r2_sortability(inside, graph)


def test_columns_carry_the_graphs_names():
    graph = random_dag(3, 2, rng=0)
    assert list(sample(graph, n=5, rng=0).columns) == ["x0", "x1", "x2"]
    assert list(sample(to_frame(graph, ["a", "b", "c"]), n=5, rng=0).columns) == ["a", "b", "c"]
    named = nx.relabel_nodes(nx.from_numpy_array(graph, create_using=nx.DiGraph), dict(enumerate("abc")))
    np.testing.assert_array_equal(sample(named, n=5, rng=0), sample(graph, n=5, rng=0))


def test_a_user_can_add_a_model_and_a_noise_distribution():
    @register_model("cubic-for-test")
    def cubic(node, rng):
        return Mechanism(lambda PA, e: (PA**3).sum(axis=1) + e)

    try:
        made = simulate(complete([0, 1]), "cubic-for-test", 10, rng=0, noise=lambda rng, rows: rng.random(rows))
        np.testing.assert_allclose(made.X["x1"], made.X["x0"] ** 3 + made.noise[:, 1])
        assert ((made.noise >= 0) & (made.noise < 1)).all()
        with pytest.raises(InputError, match="already"):
            register_model("cubic-for-test")(cubic)
    finally:
        del MODELS["cubic-for-test"]


def test_every_model_states_its_formula():
    for model, recipe in PAIRS:
        assert "X = " in MODELS[model][recipe].__doc__


def test_the_models_are_those_of_the_paper_and_two_more():
    printed = {model for model, recipe in PAIRS if recipe == "printed"}
    assert printed == {
        "mlp100",
        "mlp2",
        "tanh",
        "sigmoid-mix",
        "abs",
        "mlp-tanh",
        "abs-tanh",
        "linear",
        "gp",
        "gp-joint",
    }
    assert {model for model, recipe in PAIRS if recipe == "released"} == {"tanh", "abs", "mlp-tanh", "abs-tanh"}


def test_bad_requests_say_what_would_work():
    graph = random_dag(4, 3, rng=0)
    with pytest.raises(InputError, match=r"unknown model 'tahn'.*did you mean 'tanh'"):
        sample(graph, "tahn")
    with pytest.raises(
        InputError, match=r"'mlp100' has no recipe 'released'.*choose one of 'printed'.*exists for 'tanh'"
    ):
        sample(graph, "mlp100", recipe="released")
    with pytest.raises(InputError, match="n must be a whole number at least 1, not 0"):
        sample(graph, n=0)
    with pytest.raises(InputError, match=r"cycle \(0 -> 1 -> 0\)"):
        sample(np.array([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match=r"unknown noise 'gauss'.*did you mean 'gaussian'"):
        sample(graph, noise="gauss")
    with pytest.raises(InputError, match="True, False or 'internal', not 'inside'"):
        sample(graph, standardize="inside")
    with pytest.raises(InputError, match="at least 2 rows, not n = 1"):
        sample(graph, n=1, standardize=True)
    with pytest.raises(InputError, match=r"overflows.*standardize='internal'"):
        sample(complete(range(6)), "linear", 5, rng=0, noise_scale=1e308)
    with pytest.raises(InputError, match=r"constant.*smaller noise_scale"):
        sample(np.zeros((1, 1)), "sigmoid-mix", 2, rng=0, noise=lambda rng, rows: np.ones(rows), standardize=True)


# --- sortability


def paths_by_length(graph):
    """(i, j, k) for each length k at which a path joins i to j, by listing all paths."""
    g = nx.from_numpy_array(graph, create_using=nx.DiGraph)
    return {(i, j, len(p) - 1) for i in g for j in g if i != j for p in nx.all_simple_paths(g, i, j)}


def test_sortability_is_the_share_of_paths_along_which_the_score_rises():
    for seed in range(20):
        graph = random_dag(6, 8, rng=seed)
        X = sample(graph, "tanh", 200, rng=seed).to_numpy()
        paths = paths_by_length(graph)
        variance = X.var(axis=0)
        expected = sum(variance[i] < variance[j] for i, j, _ in paths) / len(paths)
        assert var_sortability(X, graph) == pytest.approx(expected)
        fit = []
        for j in range(6):
            design = np.column_stack([np.ones(200), np.delete(X, j, axis=1)])
            rest = X[:, j] - design @ np.linalg.lstsq(design, X[:, j], rcond=None)[0]
            fit.append(1 - rest.var() / variance[j])
        expected = sum(fit[i] < fit[j] for i, j, _ in paths) / len(paths)
        assert r2_sortability(X, graph) == pytest.approx(expected)


def test_sortability_ties_count_half_and_scale_plays_no_part_in_r2():
    chain = complete([0, 1, 2])
    X = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 4.0], [2.0, 0.0, 0.0]])
    assert var_sortability(X, chain) == pytest.approx((0.5 + 1 + 1 + 1) / 4)  # 0-1 ties; 0-2 at lengths 1 and 2; 1-2
    X = sample(random_dag(8, 12, rng=0), "tanh", 300, rng=0)
    graph = random_dag(8, 12, rng=0)
    assert r2_sortability(X * np.arange(1, 9), graph) == pytest.approx(r2_sortability(X, graph))
    assert np.isnan(var_sortability(X, np.zeros((8, 8))))


def test_sortability_matches_names_and_survives_a_singular_table():
    graph = to_frame(random_dag(5, 6, rng=0), list("abcde"))
    X = sample(graph, "linear", 100, rng=0)
    assert var_sortability(X[list("edcba")], graph) == var_sortability(X, graph)
    with pytest.raises(InputError, match=r"different variables \(e, z\)"):
        var_sortability(X.rename(columns={"e": "z"}), graph)
    with pytest.raises(InputError, match="5 nodes and the data 4 columns"):
        var_sortability(X.iloc[:, :4].to_numpy(), graph)
    X["e"] = X["a"] + X["b"]
    assert 0 <= r2_sortability(X, graph) <= 1
    assert 0 <= r2_sortability(X[:4], graph) <= 1


def test_the_released_tanh_data_can_be_sorted_by_variance():
    """What the docs warn of: ALGORITHM.md's section 5, sorting wins."""
    graph = random_dag(10, 40, rng=0)
    assert var_sortability(sample(graph, "tanh", 1000, "released", 0), graph) > 0.95


PINNED_EDGES = [[1, 0], [1, 4], [2, 0], [3, 0], [3, 2], [3, 4]]
PINNED_WEIGHTS = {
    0: [1.798661975543664, 1.5269415205822192, -1.8160392292637204],
    1: [],
    2: [0.9000969323367811],
    3: [],
    4: [-1.9350633076126584, -1.9058612231860237],
}
PINNED_NOISE = [
    [0.13689489924607834, 0.5409804502299799, 0.6247501879507791, -0.9066245454597729, -0.7643850687263661],
    [0.4584949705004188, 0.8174918312213675, -0.28562977953804425, 1.314632546131723, -0.5015274812715602],
    [1.1527025417392758, 1.587864945543074, 0.34357670352478625, 1.8273776488884574, -2.3921878174337663],
]
PINNED_TABLES = {
    ("abs", "printed"): "47e27eb5fea5b21f",
    ("abs", "released"): "9eb1cb77d956005b",
    ("abs-tanh", "printed"): "0feeb9e71ac6583f",
    ("abs-tanh", "released"): "d6bfd14783a135cd",
    ("gp", "printed"): "118c6265106eece3",
    ("gp-joint", "printed"): "5d368f7486258a4e",
    ("linear", "printed"): "40cf70a69e7f8295",
    ("mlp-tanh", "printed"): "5332037d77b80809",
    ("mlp-tanh", "released"): "51e0bd655f67ab41",
    ("mlp100", "printed"): "f1aab4027192614f",
    ("mlp2", "printed"): "afc74e543262bff9",
    ("sigmoid-mix", "printed"): "9a6d284308e8cc86",
    ("tanh", "printed"): "6958a15e9ab7481e",
    ("tanh", "released"): "557f2b314b9f1358",
}
