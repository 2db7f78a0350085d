"""The sorting controls, against scikit-learn's regressions and every DAG that obeys what is known."""

import numpy as np
import pytest
from sklearn.linear_model import LassoLarsIC, LinearRegression

import oracles
from dagtune import InputError
from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError, run
from dagtune.baselines.sorting import precedence, r2_of_each, sort_columns
from dagtune.graph import complete, is_dag, reachability
from dagtune.metrics import f1
from dagtune.simulate import random_dag, sample

GRAPH = random_dag(8, 12, rng=1)
X = sample(GRAPH, "linear", 400, rng=1).to_numpy()
NAMES = ("sortnregress", "r2-sortnregress", "r2-sorted")


@pytest.mark.parametrize("name", NAMES)
def test_each_gives_the_same_dag_twice_and_within_its_order(name):
    found = LEARNERS[name](X, rng=0)
    assert is_dag(found.graph)
    assert not (found.graph & ~complete(found.order)).any()
    np.testing.assert_array_equal(found.graph, run(name, X, rng=5))
    assert found.method == name


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("sortnregress", lambda j: X[:, j].var()),
        (
            "r2-sortnregress",
            lambda j: LinearRegression().fit(np.delete(X, j, 1), X[:, j]).score(np.delete(X, j, 1), X[:, j]),
        ),
    ],
)
def test_order_and_edges_are_those_of_scikit_learns_regressions(name, score):
    """The recipe of the authors' package: weights by least squares, then a Lasso on the weighted columns by BIC."""
    found = LEARNERS[name](X)
    order = sorted(range(8), key=score)
    assert list(found.order) == order
    for k in range(1, 8):
        before, child = order[:k], order[k]
        weight = np.abs(LinearRegression().fit(X[:, before], X[:, child]).coef_)
        expected = LassoLarsIC(criterion="bic").fit(X[:, before] * weight, X[:, child]).coef_ * weight
        np.testing.assert_allclose(found.weights[before, child], expected, atol=1e-8)
        np.testing.assert_array_equal(found.graph[before, child], expected != 0)


def test_r2_sorted_is_complete_and_blind_to_scale():
    found = LEARNERS["r2-sorted"](X)
    np.testing.assert_array_equal(found.graph, complete(found.order))
    moved = X * np.geomspace(1e-3, 1e3, 8) + 5
    np.testing.assert_array_equal(run("r2-sorted", moved), found.graph)
    np.testing.assert_array_equal(run("r2-sortnregress", moved), run("r2-sortnregress", X))
    assert (run("sortnregress", moved) != run("sortnregress", X)).any()


def test_sortnregress_wins_on_raw_linear_data_and_not_on_standardised():
    raw, standardised = [], []
    for seed in range(5):
        truth = random_dag(10, 15, rng=seed)
        data = sample(truth, "linear", 1000, rng=seed)
        raw.append(f1(truth, run("sortnregress", data)))
        standardised.append(f1(truth, run("sortnregress", data / data.std())))
    assert np.mean(raw) > 0.85
    assert np.mean(standardised) < 0.7


def test_r2_of_copies_is_one():
    copies = np.column_stack([X[:, :3], X[:, 0]])
    values = r2_of_each(copies)
    np.testing.assert_allclose(values[[0, 3]], 1)
    expected = LinearRegression().fit(X[:, [0, 2]], X[:, 1]).score(X[:, [0, 2]], X[:, 1])
    assert values[1] == pytest.approx(expected)
    assert is_dag(run("r2-sortnregress", copies))


def obeying(required, forbidden):
    return [g for g in oracles.all_dags(len(required)) if (g >= required).all() and not (g & forbidden).any()]


@pytest.mark.parametrize("seed", range(8))
def test_precedence_holds_in_every_dag_that_obeys(seed):
    rng = np.random.default_rng(seed)
    off = ~np.eye(4, dtype=bool)
    required = random_dag(4, 1, rng=seed).astype(bool)
    forbidden = (rng.random((4, 4)) < 0.5) & off & ~required | required.T
    before = precedence(required, forbidden)
    paths = [reachability(g) for g in obeying(required, forbidden)]
    never = ~np.any(paths, axis=0).T  # [i, j]: no DAG leads from j to i
    assert (before <= never).all()


@pytest.mark.parametrize("seed", range(8))
def test_precedence_is_all_that_forbidden_edges_say(seed):
    rng = np.random.default_rng(seed)
    none = np.zeros((4, 4), dtype=bool)
    forbidden = (rng.random((4, 4)) < 0.6) & ~np.eye(4, dtype=bool)
    some = np.any([reachability(g) for g in obeying(none, forbidden)], axis=0)
    np.testing.assert_array_equal(precedence(none, forbidden), some & ~some.T)


def test_sorting_obeys_precedence_and_is_by_score_otherwise():
    before = np.zeros((4, 4), dtype=bool)
    assert list(sort_columns(np.array([3.0, 1.0, 1.0, 0.0]), before)) == [3, 1, 2, 0]
    before[0, 3] = True
    assert list(sort_columns(np.array([3.0, 1.0, 1.0, 0.0]), before)) == [1, 2, 0, 3]


@pytest.mark.parametrize("name", NAMES)
def test_knowledge_is_obeyed(name):
    required, forbidden = np.zeros((2, 8, 8), dtype=bool)
    order = LEARNERS[name](X).order
    required[order[-1], order[0]] = True
    forbidden[order[1], :] = True
    forbidden[order[1], order[1]] = False
    found = LEARNERS[name](X, required=required, forbidden=forbidden)
    assert found.graph[order[-1], order[0]]
    assert not found.graph[order[1]].any()
    assert is_dag(found.graph)


def test_bad_input_is_refused_like_everywhere():
    for name in NAMES:
        with pytest.raises(InputError, match="2 dimensions"):
            BASELINES[name](np.zeros(5))
        with pytest.raises(InputError, match="missing"):
            BASELINES[name](np.where(X > 1, np.nan, X))
    with pytest.raises(InputError, match="at least 10 rows for 8 columns, not 9"):
        run("sortnregress", X[:9])
    with pytest.raises(TimeLimitError, match="sortnregress did not finish"):
        BASELINES["sortnregress"](X, time_limit=1e-9)
