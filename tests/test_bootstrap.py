"""Edge confidence is the mean of graphs that can be fitted by hand, whatever the number of workers."""

import numpy as np
import pandas as pd
import pytest

from dagtune.bootstrap import bootstrap
from dagtune.estimators import OptimalTuning
from dagtune.graph import reachability
from dagtune.simulate import random_dag, sample
from dagtune.validation import InputError


@pytest.fixture(scope="module")
def table():
    return sample(random_dag(4, 4, rng=0), "tanh", 80, "released", rng=1)


def test_the_probability_is_the_mean_over_resamples_drawn_and_fitted_one_by_one(table):
    found = OptimalTuning(threads=1, random_state=5).bootstrap(table, 6)
    graphs = []
    for seed in np.random.SeedSequence(5).spawn(6):
        rows = np.random.default_rng(seed).integers(80, size=80)
        graphs.append(OptimalTuning().fit(table.iloc[rows]).adjacency_matrix_.to_numpy().astype(bool))
    np.testing.assert_allclose(found.probability, np.mean(graphs, axis=0))
    np.testing.assert_allclose(found.adjacency, np.mean([g | g.T for g in graphs], axis=0))
    np.testing.assert_allclose(found.path, np.mean([reachability(g) for g in graphs], axis=0))
    assert list(found.probability.columns) == list(table.columns)


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
