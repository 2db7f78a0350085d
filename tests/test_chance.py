"""Chance: three guesses that learn nothing, and the levels that ALGORITHM.md's section 5 measured."""

import numpy as np
import pytest

from dagtune import InputError
from dagtune.baselines import BASELINES, CHANCE, run
from dagtune.graph import complete, is_dag
from dagtune.metrics import aupr, order_divergence, sid
from dagtune.simulate import SIZES, random_dag, sample

X = sample(random_dag(7, 10, rng=0), n=50, rng=0)

# Section 5: SID and AuPR of a random complete DAG, its number of repeats (not stated for 25 and 30: taken as 3).
MEASURED = {
    "d10": (67, 0.57, 10),
    "d20": (267, 0.45, 3),
    "d25": (424, 0.44, 3),
    "d30": (637, 0.46, 3),
    "d40": (1130, 0.45, 2),
}


def test_the_chance_levels_are_registered():
    assert set(CHANCE) <= set(BASELINES)
    assert CHANCE == ("empty", "random-complete", "variance-sorted")


@pytest.mark.parametrize("name", CHANCE)
@pytest.mark.parametrize("data", [X, X.to_numpy()])
def test_each_gives_a_boolean_dag_of_the_columns(name, data):
    guess = BASELINES[name](data, rng=0)
    assert guess.shape == (7, 7)
    assert guess.dtype == bool
    assert is_dag(guess)


def test_the_seed_of_the_graph_does_not_give_the_order_away():
    guesses = [(random_dag(10, 40, rng=seed), run("random-complete", np.eye(10), rng=seed)) for seed in range(30)]
    assert 55 < np.mean([sid(graph, guess) for graph, guess in guesses]) < 75  # 65 is chance


def test_empty_is_empty_and_random_complete_is_a_uniform_order():
    assert not run("empty", X).any()
    assert run("random-complete", X, rng=1).sum() == 21
    assert (run("random-complete", X, rng=1) == run("random-complete", X, rng=1)).all()
    rng = np.random.default_rng(0)
    share = np.mean([BASELINES["random-complete"](X, rng=rng) for _ in range(400)], axis=0)
    off = ~np.eye(7, dtype=bool)
    assert np.abs(share[off] - 0.5).max() < 5 * 0.5 / np.sqrt(400)


def test_variance_sorted_runs_from_small_to_large():
    data = np.array([[0.0, 5.0, 1.0], [1.0, -5.0, 3.0], [2.0, 0.0, -4.0]])  # variances 2/3, 50/3, 26/3
    np.testing.assert_array_equal(run("variance-sorted", data), complete([0, 2, 1]))


def test_variance_sorted_wins_where_variance_grows_along_the_order():
    graph = random_dag(10, 40, rng=3)
    X = sample(graph, "abs", 2000, "released", rng=3)
    guess = run("variance-sorted", X)
    assert order_divergence(graph, guess) == 0
    assert sid(graph, guess) == 0


def test_bad_names_data_and_answers_are_refused():
    with pytest.raises(InputError, match=r"unknown baseline 'emtpy'.*did you mean 'empty'"):
        run("emtpy", X)
    with pytest.raises(InputError, match="2 dimensions"):
        run("empty", np.zeros(5))
    BASELINES["broken-for-test"] = lambda X, rng=None: np.zeros((2, 2), dtype=bool)
    try:
        with pytest.raises(InputError, match="2 nodes for 7 columns"):
            run("broken-for-test", X)
    finally:
        del BASELINES["broken-for-test"]


def chance(name, repeats):
    """(repeats, 2): SID and AuPR of a random complete DAG at one of the paper's sizes."""
    size = SIZES[name]
    rows = []
    for seed in range(repeats):
        truth = random_dag(size.nodes, size.edges, rng=seed)
        guess = BASELINES["random-complete"](np.eye(size.nodes), rng=10_000 + seed)
        rows.append((sid(truth, guess), aupr(truth, guess)))
    return np.array(rows)


@pytest.mark.parametrize("name", SIZES)
def test_a_random_complete_dag_scores_what_section_5_says(name):
    expected_sid, expected_aupr, their_repeats = MEASURED[name]
    found = chance(name, 40)
    error = found.std(axis=0, ddof=1) * np.sqrt(1 / 40 + 1 / their_repeats)
    assert abs(found[:, 0].mean() - expected_sid) < 3 * error[0] + 0.5  # printed to whole numbers
    assert abs(found[:, 1].mean() - expected_aupr) < 3 * error[1] + 0.005


@pytest.mark.parametrize("name", SIZES)
def test_the_empty_graph_scores_what_section_5_says(name):
    """AuPR 0.62 to 0.70, from the formula (1 + e / d^2) / 2 alone."""
    size = SIZES[name]
    truth = random_dag(size.nodes, size.edges, rng=0)
    value = aupr(truth, BASELINES["empty"](np.eye(size.nodes)))
    assert value == pytest.approx((1 + size.edges / size.nodes**2) / 2)
    assert 0.62 <= value <= 0.70


def test_released_tanh_is_won_by_sorting_variances():
    """Section 5: 4.5 at d = 10 (10 repeats), 61 at d = 20 (3 repeats)."""
    for name, expected, their_repeats in (("d10", 4.5, 10), ("d20", 61, 3)):
        size = SIZES[name]
        found = []
        for seed in range(20):
            truth = random_dag(size.nodes, size.edges, rng=seed)
            X = sample(truth, "tanh", size.rows, "released", rng=seed)
            found.append(sid(truth, run("variance-sorted", X)))
        error = np.std(found, ddof=1) * np.sqrt(1 / 20 + 1 / their_repeats)
        assert abs(np.mean(found) - expected) < 3 * error


@pytest.mark.slow
def test_the_table_in_the_docs_comes_out_again():
    """docs/metrics.md: 400 repeats a size."""
    table = {
        "d10": (65.5, 0.572),
        "d20": (270.5, 0.446),
        "d25": (429.4, 0.437),
        "d30": (634.3, 0.466),
        "d40": (1138.7, 0.443),
    }
    for name, (expected_sid, expected_aupr) in table.items():
        found = chance(name, 400).mean(axis=0)
        assert found[0] == pytest.approx(expected_sid, abs=0.051)
        assert found[1] == pytest.approx(expected_aupr, abs=0.00051)
