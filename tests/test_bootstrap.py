"""Edge confidence is the mean of graphs that can be fitted by hand, whatever the number of workers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from dagtune.bootstrap import Resampled, bootstrap, drop_columns
from dagtune.engine.dependence import measure_dependence
from dagtune.estimators import ConditionalTuning, OptimalTuning
from dagtune.graph import reachability
from dagtune.knowledge import Knowledge
from dagtune.simulate import random_dag, sample
from dagtune.tables import read_table
from dagtune.validation import InputError


@pytest.fixture(scope="module")
def table():
    return sample(random_dag(4, 4, rng=0), "tanh", 80, "released", rng=1)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "sigmoid"},
        {"bandwidth": "unit"},
        {"bandwidth": 0.8, "n_pairs": 3, "edge_score": "mean"},
        {"engine": "dense"},
        {"combine": "joint"},
        {"kernel": "laplace", "bandwidth": 1.0},
        {"alpha": 0.2},
        {"kernel": "auto"},
        {"preset": "released", "solver_options": {"steps": 2}},
    ],
)
def test_the_probability_is_the_mean_over_resamples_drawn_and_fitted_one_by_one(table, options):
    """With a kernel that does not look at the rows drawn, or where every resample is fitted anew."""
    learner = OptimalTuning(threads=1, random_state=5, **options)
    found = learner.bootstrap(table, 6)
    graphs = []
    for seed in np.random.SeedSequence(5).spawn(6):
        rng = np.random.default_rng(seed)
        drawn = table.iloc[rng.integers(80, size=80)]
        learner.set_params(random_state=int(rng.integers(2**31)))
        graphs.append(learner.fit(drawn).adjacency_matrix_.to_numpy().astype(bool))
    np.testing.assert_allclose(found.probability, np.mean(graphs, axis=0))
    np.testing.assert_allclose(found.adjacency, np.mean([g | g.T for g in graphs], axis=0))
    np.testing.assert_allclose(found.path, np.mean([reachability(g) for g in graphs], axis=0))
    assert list(found.probability.columns) == list(table.columns)


@pytest.mark.parametrize(
    ("kernel", "bandwidth"),
    [("gaussian", 0.7), ("gaussian", "unit"), ("sigmoid", "median"), ("rational-quadratic", 1.0)],
)
def test_features_built_once_give_the_dependence_of_the_rows_drawn(table, kernel, bandwidth):
    X = table + 100.0 * (kernel != "sigmoid")
    resampled = Resampled.of(X, kernel=kernel, bandwidth=bandwidth, memory="1GiB")
    assert resampled is not None
    drawn = np.random.default_rng(0).integers(80, size=80)
    fast = resampled.dependence(np.bincount(drawn, minlength=80).astype(float))
    slow = measure_dependence(X.iloc[drawn], kernel=kernel, bandwidth=bandwidth, engine="dense")
    np.testing.assert_allclose(fast.first, slow.first, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fast.second, slow.second, rtol=1e-6, atol=1e-9)


def test_features_that_do_not_fit_or_do_not_exist_are_not_reused(table):
    assert Resampled.of(table, kernel="gaussian", bandwidth="median", memory="1KB") is None
    mirrored = table.assign(mirror=-table.iloc[:, 0])  # a sum that is constant has no features
    assert Resampled.of(mirrored, kernel="gaussian", bandwidth="median", memory="1GiB") is None
    assert OptimalTuning(threads=1, random_state=0).bootstrap(mirrored, 2).n_samples == 2


def test_the_number_of_workers_does_not_matter_and_the_seed_does(table):
    learner = OptimalTuning(threads=1)
    one = bootstrap(learner, table, 8, random_state=0, n_jobs=1)
    two = bootstrap(learner, table, 8, random_state=0, n_jobs=2)
    other = bootstrap(learner, table, 8, random_state=1, n_jobs=1)
    pd.testing.assert_frame_equal(one.probability, two.probability)
    assert not one.probability.equals(other.probability)


def test_the_solver_of_each_resample_is_seeded_too(table):
    learner = OptimalTuning(preset="released", threads=1, solver_options={"steps": 2})
    first, second = (bootstrap(learner, table, 4, random_state=3).probability for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


def test_progress_is_told_and_the_learner_given_stays_unfitted(table):
    told = []
    learner = OptimalTuning(threads=1, progress=lambda phase, done: told.append("learner"))
    bootstrap(learner, table, 4, random_state=0, progress=lambda phase, done: told.append((phase, done)))
    assert told == [("bootstrap", 0.25), ("bootstrap", 0.5), ("bootstrap", 0.75), ("bootstrap", 1.0)]
    assert not hasattr(learner, "result_")


def test_edges_are_listed_surest_first(table):
    found = OptimalTuning(threads=1, random_state=0).bootstrap(table, 5)
    listed = found.edges(at_least=0.4)
    assert (np.diff(listed["probability"]) <= 0).all()
    assert len(listed) == (found.probability.to_numpy() >= 0.4).sum()


def test_a_resample_with_a_constant_column_is_drawn_again_and_counted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=12), rng.normal(size=12), np.eye(12)[0]])
    found = OptimalTuning(threads=1, random_state=0).bootstrap(X, 10)
    assert found.redrawn > 0


def test_a_column_that_never_varies_in_resamples_is_named(monkeypatch):
    monkeypatch.setattr("dagtune.bootstrap._PATIENCE", 0)
    X = pd.DataFrame({"a": np.arange(12.0), "rare": np.eye(12)[0]})
    with pytest.raises(InputError, match="'rare' varies so rarely"):
        bootstrap(OptimalTuning(threads=1), X, 20, random_state=0)
    with pytest.raises(InputError, match="n_samples"):
        bootstrap(OptimalTuning(), X, 0)


def test_all_knowledge_is_certain(table):
    names = list(table.columns)
    learner = OptimalTuning(
        threads=1, knowledge={"required": [[names[3], names[0]]], "forbidden": [[names[1], names[2]]]}
    )
    found = bootstrap(learner, table, 5, random_state=0).probability
    assert found.loc[names[3], names[0]] == 1.0
    assert found.loc[names[1], names[2]] == 0.0


class Ordered(BaseEstimator):
    """Says that the columns cause each other in the order of their names, or the reverse if one of them is missing."""

    def __init__(self, turns_without="d", knowledge=None):
        self.turns_without = turns_without
        self.knowledge = knowledge

    def fit(self, X):
        table = read_table(X)
        if self.knowledge is not None:
            self.knowledge.matrices(table.names)  # refuses names that are not there
        matrix = np.triu(np.ones((table.width, table.width), dtype=bool), 1)
        if self.turns_without not in table.names:
            matrix = matrix.T
        self.result_ = SimpleNamespace(matrix=matrix, names=table.names, undecided=[("a", "b")])
        return self


def test_edges_that_turn_without_a_column_are_named():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)), columns=list("abcde"))
    known = Knowledge(required=[("a", "e")], tiers=[["a"], ["d", "e"]], prior={("b", "e"): 0.7})
    found = drop_columns(Ordered(knowledge=known), frame)
    table = found.edges.set_index(["cause", "effect"])
    assert ("a", "b") not in table.index  # undecided
    assert table.loc[("a", "c")].tolist() == pytest.approx([2 / 3, 1 / 3, 0])  # without b, d, e
    assert table.loc[("a", "d")].tolist() == [1, 0, 0]  # d was never left out
    assert found.columns.iloc[0].tolist() == ["d", 5]
    assert found.columns["turned"].sum() == 5
    assert "4 of 9 decided edges never turn around; these do: " in found.words
    never = drop_columns(Ordered(turns_without="a column that is not there"), frame)
    assert never.edges["turned"].sum() == 0
    assert never.words.endswith("never turn around")
    with pytest.raises(InputError, match="2 columns"):
        drop_columns(Ordered(), frame[["a", "b"]])
    assert set(drop_columns(Ordered(), frame, most=2).columns["dropped"]) == {"a", "b"}


def test_a_learner_drops_its_columns():
    x = np.random.default_rng(0).exponential(size=(300, 3))
    X = np.column_stack([x[:, 0], x[:, 0] + x[:, 1], x[:, 0] + x[:, 1] + x[:, 2]])
    found = ConditionalTuning(random_state=0).drop_columns(X)
    assert len(found.columns) == 3
    assert (found.edges["kept"] + found.edges["turned"] + found.edges["neither"]).tolist() == [1] * len(found.edges)


def test_resamples_take_groups_and_conditions_along_however_they_were_given():
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], 120)
    x = rng.uniform(-1, 1, 120) + 5 * (site == "north")
    table = pd.DataFrame({"x": x, "y": np.tanh(x) + rng.normal(size=120) / 2})
    labelled = table.assign(site=site)
    by_name = ConditionalTuning(groups="site", random_state=0).bootstrap(labelled, 3)
    by_label = ConditionalTuning(groups=site, random_state=0).bootstrap(table, 3)
    assert by_label.probability.equals(by_name.probability)
    targets = {"north": {"y": "set"}}
    by_name = ConditionalTuning(experiments={"column": "site", "targets": targets}, random_state=0)
    by_label = ConditionalTuning(experiments={"rows": site.tolist(), "targets": targets}, random_state=0)
    assert by_label.bootstrap(table, 3).probability.equals(by_name.bootstrap(labelled, 3).probability)
