"""The scikit-learn face: its own checks, names in and names out, clones and pipelines."""

import inspect
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dagtune.conditional.algorithm import conditional_tuning
from dagtune.estimators import ConditionalTuning, OptimalTuning
from dagtune.graph import is_dag
from dagtune.ot.algorithm import optimal_tuning
from dagtune.progress import TimeLimitError
from dagtune.tables import read_table
from dagtune.validation import InputError


@parametrize_with_checks([OptimalTuning(threads=1), ConditionalTuning(threads=1, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    """All that scikit-learn runs for an estimator of this kind: none is skipped or expected to fail."""
    check(estimator)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    b = np.tanh(a) + rng.normal(size=200)
    c = np.tanh(a) + np.tanh(b) + rng.normal(size=200)
    return pd.DataFrame({"cause": a, "middle": b, "effect": c})


def test_fitted_attributes_carry_the_names_and_agree_with_each_other(table):
    learner = OptimalTuning(kernel="sigmoid").fit(table)
    assert list(learner.adjacency_matrix_.columns) == list(learner.adjacency_matrix_.index) == list(table.columns)
    assert set(np.unique(learner.adjacency_matrix_)) <= {0, 1}
    assert is_dag(learner.adjacency_matrix_)
    edges = {(i, j) for i in table for j in table if learner.adjacency_matrix_.loc[i, j]}
    assert set(learner.causal_graph_.edges) == edges
    rank = {name: position for position, name in enumerate(learner.causal_order_)}
    assert all(rank[i] < rank[j] for i, j in edges)
    assert sorted(learner.causal_order_) == sorted(table.columns)
    assert list(learner.feature_names_in_) == list(table.columns)
    assert learner.n_features_in_ == 3
    np.testing.assert_array_equal(learner.result_.matrix, learner.adjacency_matrix_)


def test_an_array_gets_numbered_names_and_the_same_graph(table):
    named, bare = OptimalTuning().fit(table), OptimalTuning().fit(table.to_numpy())
    assert list(bare.feature_names_in_) == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(named.adjacency_matrix_, bare.adjacency_matrix_)


def test_the_estimator_adds_nothing_to_the_function(table):
    options = {"kernel": "sigmoid", "deletion": "max", "edge_score": "mean", "n_pairs": 2}
    learner = OptimalTuning(**options).fit(table)
    assert learner.result_.changes == optimal_tuning(table, **options).changes


def assert_the_others_read(names):
    """What the learning function does not take says how the table is read, or joins the knowledge."""
    assert names <= {*inspect.signature(read_table).parameters, "standardize", "roots"}


def test_every_parameter_reaches_the_learner():
    """An option that nobody reads is a defect: the two signatures name the same things."""
    theirs = {name: p.default for name, p in inspect.signature(optimal_tuning).parameters.items()}
    del theirs["X"], theirs["rng"]
    ours = OptimalTuning().get_params()
    assert ours.pop("random_state") is None
    assert {name: ours[name] for name in theirs} == theirs
    assert_the_others_read(set(ours) - set(theirs))


@pytest.mark.parametrize("kind", [OptimalTuning, ConditionalTuning])
def test_options_of_reading_reach_the_table(kind, table, tmp_path):
    """Each makes a file readable that is not so without it, and the graph is that of the plain table."""
    plain = kind(random_state=0).fit(table).adjacency_matrix_
    odd = table.assign(extra="gone", more="too").to_csv(sep="|", decimal=",", index=False)
    (tmp_path / "t.csv").write_bytes(odd.encode("utf-16-le"))
    how = {"sep": "|", "decimal": ",", "encoding": "utf-16-le", "header": True, "drop": ["extra", "more"]}
    pd.testing.assert_frame_equal(kind(random_state=0, **how).fit(tmp_path / "t.csv").adjacency_matrix_, plain)
    wide = table.assign(extra="gone")
    pd.testing.assert_frame_equal(kind(random_state=0, columns=list(table)).fit(wide).adjacency_matrix_, plain)
    scaled = (table - table.mean()) / table.std(ddof=0)
    pd.testing.assert_frame_equal(
        kind(random_state=0, standardize=True).fit(7 * table).adjacency_matrix_,
        kind(random_state=0).fit(scaled).adjacency_matrix_,
    )
    confidence = kind(random_state=0, drop="extra", standardize=True).bootstrap(wide, 2)
    assert list(confidence.probability) == list(table)


@pytest.mark.parametrize("kind", [OptimalTuning, ConditionalTuning])
def test_roots_have_no_causes(kind, table):
    for root in table:
        learner = kind(random_state=0, roots=root).fit(table)
        assert learner.adjacency_matrix_[root].sum() == 0
        assert learner.result_.settings["knowledge"]["roots"] == [root]
    with pytest.raises(InputError, match="gives the root 'cause' a cause"):
        kind(roots="cause", knowledge={"required": [["effect", "cause"]]}).fit(table)


def test_clones_and_pipelines_learn_the_same(table):
    learner = OptimalTuning(kernel="sigmoid", knowledge={"forbidden": [["effect", "cause"]]})
    np.testing.assert_array_equal(clone(learner).fit(table).adjacency_matrix_, learner.fit(table).adjacency_matrix_)
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(table)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), OptimalTuning()).fit(table)
    pd.testing.assert_frame_equal(pipeline[-1].adjacency_matrix_, OptimalTuning().fit(scaled).adjacency_matrix_)


@pytest.mark.jax
@pytest.mark.parametrize("random_state", [7, np.random.RandomState(7), np.random.default_rng(7)])
def test_any_kind_of_random_state_will_do(table, random_state):
    learner = OptimalTuning(preset="released", random_state=random_state, solver_options={"steps": 2}).fit(table)
    assert is_dag(learner.adjacency_matrix_)


def test_two_columns_are_enough_and_one_is_not(table):
    assert OptimalTuning().fit(table[["cause", "effect"]]).adjacency_matrix_.to_numpy().sum() == 1
    with pytest.raises(InputError, match="1 column"):
        OptimalTuning().fit(table[["cause"]])


def test_a_path_is_read_as_a_table(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    learner = OptimalTuning().fit(tmp_path / "t.csv")
    assert list(learner.feature_names_in_) == list(table.columns)


def test_why_needs_a_fit_and_then_tells(table):
    with pytest.raises(NotFittedError):
        OptimalTuning().why("cause", "effect")
    assert "HSIC" in OptimalTuning().fit(table).why("cause", "effect")


def test_columns_that_are_numbers_become_texts():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=[10, 20, 30])
    assert list(OptimalTuning().fit(X).adjacency_matrix_) == ["10", "20", "30"]


def test_the_paper_s_learner_refuses_beliefs_in_fit_and_bootstrap(table):
    learner = OptimalTuning(knowledge={"prior": [["cause", "effect", 0.8]]})
    with pytest.raises(InputError, match=r"OptimalTuning can't use beliefs.*only ConditionalTuning"):
        learner.fit(table)
    with pytest.raises(InputError, match="OptimalTuning can't use beliefs"):
        learner.bootstrap(table, 2, n_jobs=1)


# --- ConditionalTuning ----------------------------------------------------------------------------------------------


def test_the_conditional_learner_has_the_same_face(table):
    learner = ConditionalTuning(random_state=0).fit(table)
    assert list(learner.adjacency_matrix_.columns) == list(learner.adjacency_matrix_.index) == list(table.columns)
    assert is_dag(learner.adjacency_matrix_)
    assert learner.causal_order_ == list(learner.result_.order)
    rank = {name: position for position, name in enumerate(learner.causal_order_)}
    edges = {(i, j) for i in table for j in table if learner.adjacency_matrix_.loc[i, j]}
    assert set(learner.causal_graph_.edges) == edges
    assert all(rank[i] < rank[j] for i, j in edges)
    assert list(learner.feature_names_in_) == list(table.columns)
    bare = ConditionalTuning(random_state=0).fit(table.to_numpy())
    assert list(bare.feature_names_in_) == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(bare.adjacency_matrix_, learner.adjacency_matrix_)


def test_every_parameter_reaches_the_conditional_learner():
    theirs = {name: p.default for name, p in inspect.signature(conditional_tuning).parameters.items()}
    del theirs["X"], theirs["rng"]
    ours = ConditionalTuning().get_params()
    assert ours.pop("random_state") is None
    assert {name: ours[name] for name in theirs} == theirs
    assert_the_others_read(set(ours) - set(theirs))


def test_the_conditional_estimator_adds_nothing_to_the_function(table):
    options = {"noise": "free", "density": "dense", "bags": 2, "knowledge": {"required": [["effect", "cause"]]}}
    with pytest.warns(FutureWarning, match="bags"):
        learner = ConditionalTuning(**options, random_state=3, threads=1).fit(table)
    direct = conditional_tuning(table, **options, rng=3, threads=1)
    assert learner.result_.changes == direct.changes
    assert learner.result_.order == direct.order
    np.testing.assert_array_equal(learner.result_.probability, direct.probability)
    assert learner.adjacency_matrix_.loc["effect", "cause"] == 1


def test_conditional_clones_learn_the_same_and_parameters_can_be_set(table):
    learner = ConditionalTuning(noise="equal", random_state=1)
    np.testing.assert_array_equal(clone(learner).fit(table).adjacency_matrix_, learner.fit(table).adjacency_matrix_)
    assert learner.set_params(density=0.0).fit(table).adjacency_matrix_.to_numpy().sum() == 3
    assert learner.set_params(density=1).fit(table).adjacency_matrix_.to_numpy().sum() == 0
    with pytest.raises(ValueError, match="Invalid parameter"):
        learner.set_params(kernel="sigmoid")


@pytest.mark.parametrize("random_state", [7, np.random.RandomState(7), np.random.default_rng(7), None])
def test_any_kind_of_random_state_will_do_for_the_conditional_learner(table, random_state):
    assert is_dag(ConditionalTuning(random_state=random_state).fit(table).adjacency_matrix_)


def test_bags_are_deprecated_but_work_and_no_other_parameter_warns(table):
    with pytest.warns(FutureWarning, match=r"bags is deprecated.*only adds resamples") as told:
        found = ConditionalTuning(random_state=0, threads=1, bags=1).fit(table)
    assert [Path(str(one.filename)).name for one in told if one.category is FutureWarning] == [Path(__file__).name]
    assert found.result_.probability.shape == (3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        ConditionalTuning(random_state=0, threads=1, density="sparse", noise="free").fit(table)
    with pytest.raises(InputError, match="bags must be a whole number"):
        ConditionalTuning(bags="3").fit(table)


def test_the_conditional_learner_can_be_bootstrapped(table):
    learner = ConditionalTuning(random_state=0, threads=1)
    found = learner.bootstrap(table, 6, n_jobs=1)
    again = learner.bootstrap(table, 6, n_jobs=1)
    pd.testing.assert_frame_equal(found.probability, again.probability)
    p = found.probability.to_numpy()
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p * 6, np.round(p * 6), atol=1e-9)
    assert found.adjacency.loc["cause", "effect"] > 0.5


def test_why_of_the_conditional_learner_needs_a_fit_and_then_tells(table):
    with pytest.raises(NotFittedError):
        ConditionalTuning().why("cause", "effect")
    told = ConditionalTuning(random_state=0).fit(table).why("cause", "effect")
    assert "likely orders in which the cause comes first" in told
    assert "if the model holds" in told


def test_the_conditional_learner_reads_paths_and_drops_constants_when_asked(table, tmp_path):
    table.assign(still=1.0).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="'still' is constant"):
        ConditionalTuning().fit(tmp_path / "t.csv")
    learner = ConditionalTuning(drop_constant=True).fit(tmp_path / "t.csv")
    assert list(learner.feature_names_in_) == list(table.columns)


@pytest.mark.parametrize("learner", [OptimalTuning, ConditionalTuning])
def test_a_time_limit_ends_the_fit_and_says_how_far_it_came(learner):
    X = np.random.default_rng(0).normal(size=(200, 6))
    with pytest.raises(TimeLimitError, match=r"did not finish within 1e-09 seconds .* larger time_limit"):
        learner(time_limit=1e-9).fit(X)
    with pytest.raises(InputError, match="time_limit must be a positive number of seconds"):
        learner(time_limit=0).fit(X)
    assert learner(time_limit=600, random_state=0).fit(X).result_.names == tuple(f"x{j}" for j in range(6))
