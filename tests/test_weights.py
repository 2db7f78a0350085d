"""Rows with weights: sums are those of repeated rows, the count is Kish's, and selection can be undone."""

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, OptimalTuning, hsic, measure_dependence
from dagtune.cli import main
from dagtune.conditional.design import measure
from dagtune.report.content import _rerun
from dagtune.tables import read_table, weighted
from dagtune.tables.weights import _drawn
from dagtune.validation import InputError

LEARNERS = [ConditionalTuning(random_state=0), OptimalTuning(random_state=0)]


def table_of(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(-2, 2, n)
    b = np.tanh(2 * a) + 0.4 * rng.normal(size=n)
    c = a * b + 0.4 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c}), rng


@pytest.mark.parametrize("learner", LEARNERS, ids=["conditional", "ot"])
@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_equal_weights_change_nothing(learner, weight):
    X, _ = table_of()
    plain = learner.fit(X).result_
    same = learner.fit(X, sample_weight=np.full(len(X), weight)).result_
    assert np.array_equal(same.matrix, plain.matrix)
    assert np.array_equal(same.opening, plain.opening)
    assert same.warnings == plain.warnings
    if plain.probability is not None:
        assert np.array_equal(same.probability, plain.probability)


def test_whole_weights_are_repeated_rows_for_ot():
    X, rng = table_of(150)
    times = rng.integers(1, 4, len(X))
    repeated = X.loc[X.index.repeat(times)].reset_index(drop=True)
    weighed = OptimalTuning().fit(X, sample_weight=times * 10.0).result_  # the unit plays no part
    one_by_one = OptimalTuning().fit(repeated).result_
    assert np.array_equal(weighed.opening, one_by_one.opening)
    assert np.array_equal(weighed.matrix, one_by_one.matrix)
    assert weighed.settings["rows"] == 150
    kish = times.sum() ** 2 / (times**2).sum()
    assert times.sum() / times.max() - 1 <= weighed.settings["counts_as"] <= kish + 1


def test_weighted_hsic_is_that_of_the_weighted_distribution():
    """tr(K H L H) with H = diag(p) - p p^T: the formula, with no row repeated."""
    X, _ = table_of(120)
    weights = np.where(X["a"] > 0, 4.0, 1.0)
    found = measure_dependence(weighted(read_table(X, sample_weight=weights)).table, bandwidth=1.0, order=1)
    p = weights / weights.sum()
    K, L = (np.exp(-(np.subtract.outer(x, x) ** 2) / 2) for x in (X["a"].to_numpy(), X["b"].to_numpy()))
    H = np.diag(p) - np.outer(p, p)
    n = found.n_samples
    assert found.first[0, 1] == pytest.approx(np.trace(K @ H @ L @ H) * n**2 / (n - 1) ** 2, rel=1e-6)
    assert found.first[0, 1] != pytest.approx(hsic(X["a"], X["b"], bandwidth=1.0), rel=1e-3)


def test_p_values_are_those_of_the_rows_that_the_table_counts_as():
    """Repeating all rows three times says nothing new; counted as before, p-values are as before, but for 1 / n."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2)) + 0.25 * rng.normal(size=(200, 1))
    plain = measure_dependence(X, bandwidth=1.0, order=1).pvalues()[0, 1]
    thrice = measure_dependence(np.repeat(X, 3, axis=0), bandwidth=1.0, order=1)
    assert thrice.counted_as(200).pvalues()[0, 1] == pytest.approx(plain, rel=0.1)
    assert thrice.pvalues()[0, 1] < plain / 3


def test_the_sums_of_the_conditional_learner_are_weighted_sums():
    X, rng = table_of(200)
    times = rng.integers(1, 4, len(X))
    found = weighted(read_table(X, sample_weight=times))
    count = found.counts_as
    design = measure(found.table.values, sampled=found.kept)
    assert design.count == count
    assert design.sums.n == count
    variance = np.cov(X.to_numpy().T, aweights=times, ddof=0).diagonal()
    assert design.log_variance == pytest.approx(np.log(variance))
    # functions are uncorrelated under the weights, with variance 1
    functions = np.arange(design.sums.starts[0], design.sums.starts[1])
    assert design.sums.G[np.ix_(functions, functions)] == pytest.approx(count * np.eye(len(functions)), abs=1e-4)
    # a product of two functions, by the weights themselves
    whole = measure(np.repeat(X.to_numpy(), times, axis=0))
    assert design.sums.G / count == pytest.approx(whole.sums.G / times.sum())


def test_rows_are_drawn_by_weight_and_none_twice():
    X, _ = table_of(400)
    heavy = np.arange(400) % 2 == 0
    found = weighted(read_table(X, sample_weight=np.where(heavy, 3.0, 1.0)))
    rows = found.some.values
    assert len(np.unique(rows, axis=0)) == len(rows) == found.counts_as
    share = np.isin(rows[:, 0], X["a"][heavy]).mean()
    assert share == pytest.approx(0.75, abs=0.03)  # 3 of 4 parts of the weight
    assert len(rows) == pytest.approx(200 + 200 / 3, abs=0.05 * 800 / 3 + 1)


def test_one_heavy_row_does_not_decide_how_many_count():
    weights = np.ones(1000)
    weights[0] = 40
    assert len(_drawn(np.random.default_rng(0).normal(size=(1000, 2)), weights)) > 300


def test_weights_undo_a_selection():
    """Rows were kept more often where two causes of nothing are both large: weights of 1 / chance undo it."""
    said = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, size=(4000, 3))
        x[:, 2] += x[:, 1] ** 2
        chance = 0.04 + 0.5 * (x[:, 0] * x[:, 1] > 0)
        kept = rng.random(len(x)) < chance
        learner = ConditionalTuning(random_state=0)
        biased = learner.fit(x[kept]).result_.probability
        undone = learner.fit(x[kept], sample_weight=1 / chance[kept]).result_.probability
        said.append([p[0, 1] + p[1, 0] for p in (biased, undone)] + [undone[1, 2]])
    biased, undone, true = np.mean(said, axis=0)
    assert biased > 0.9
    assert undone < 0.3
    assert true > 0.9


@pytest.mark.parametrize("weights", [[1, 2, 3, 1, 7], [0.3, 1.7, 2.2, 0.9, 4.4]])
def test_repeated_rows_have_the_weighted_mean(weights):
    X = np.random.default_rng(0).normal(size=(100, 5))
    weights = np.tile(weights, 20).astype(float)
    found = weighted(read_table(X, sample_weight=weights)).table
    error = np.abs(found.values.mean(axis=0) - np.average(X, axis=0, weights=weights))
    assert (error < 0.15 * X.std(axis=0) / np.sqrt(found.count / len(X))).all()


def test_a_column_of_weights_is_no_variable_wherever_it_is_named(tmp_path, monkeypatch, capsys):
    X, rng = table_of(200)
    X["w"] = rng.integers(1, 4, len(X))
    monkeypatch.chdir(tmp_path)
    X.to_csv("data.csv", index=False)
    expected = OptimalTuning(sample_weight="w").fit("data.csv").result_
    assert expected.names == ("a", "b", "c")
    assert np.array_equal(OptimalTuning().fit(X, sample_weight="w").result_.matrix, expected.matrix)
    by_array = OptimalTuning().fit(X[["a", "b", "c"]], sample_weight=X["w"]).result_
    assert np.array_equal(by_array.opening, expected.opening)
    assert main(["learn", "data.csv", "--sample-weight", "w", "--method", "ot", "--bootstrap", "3"]) == 0
    said = capsys.readouterr()
    assert "200 rows count as" in said.out + said.err
    made = pd.read_csv("dagtune-data/graph.csv", index_col=0)
    assert np.array_equal(made.to_numpy().astype(bool), expected.matrix)


def test_rows_without_weight_are_not_there():
    X, _ = table_of(200)
    weights = np.ones(200)
    weights[:40] = 0
    without = ConditionalTuning(random_state=0).fit(X[40:]).result_
    found = ConditionalTuning(random_state=0).fit(X, sample_weight=weights).result_
    assert np.array_equal(found.probability, without.probability)


def test_other_kinds_and_groups_have_weights_too():
    X, rng = table_of(240)
    X["n"] = rng.poisson(np.exp(X["a"] / 2))
    X["kind"] = np.where(X["b"] + 0.3 * rng.normal(size=240) > 0, "high", "low")
    X["site"] = rng.choice(["north", "south"], 240)
    learner = ConditionalTuning(groups="site", random_state=0).fit(X, sample_weight=rng.uniform(0.5, 2, 240))
    assert learner.result_.names == ("a", "b", "c", "n", "kind")
    assert learner.result_.probability[0, 1] + learner.result_.probability[1, 0] > 0.9
    assert learner.result_.effect("a", "b").interval[0] < 3


def test_resamples_take_their_weights_along():
    X, _ = table_of(160)
    X = pd.concat([X, X.iloc[:40] * [1, -1, 1]])  # of little weight: b falls with a
    weights = np.r_[np.ones(160), np.full(40, 1e-3)]
    found = OptimalTuning(random_state=0).bootstrap(read_table(X, sample_weight=weights), 5)
    assert found.adjacency.loc["a", "b"] == 1.0
    by_parameter = OptimalTuning(sample_weight=weights, random_state=0).bootstrap(X, 5)
    assert by_parameter.probability.equals(found.probability)


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ([1.0, 2.0], "give one number for each row"),
        (np.r_[-1.0, np.ones(99)], "at least 0"),
        (np.r_[np.nan, np.ones(99)], "the weight of row 0 is nan"),
        (np.zeros(100), "all weights are zero"),
        (["much"] * 100, "must be numbers"),
        (np.r_[1e9, np.ones(99)], "count as 1: give"),
        ("w", "is not a column"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_with_a_reason(weights, what):
    with pytest.raises(InputError, match=what):
        ConditionalTuning().fit(table_of(100)[0], sample_weight=weights)


def test_a_table_that_is_read_in_pieces_refuses_weights(tmp_path):
    X, _ = table_of(2000)
    X.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(InputError, match="sample_weight needs the table in memory"):
        ConditionalTuning(sample_weight="c", memory="1KiB").fit(tmp_path / "data.parquet")


def test_what_is_drawn_depends_on_neither_the_order_of_rows_nor_of_columns():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(500, 4)), rng.uniform(0.2, 1, 500)
    shuffled = rng.permutation(500)
    again = values[shuffled][:, [2, 0, 3, 1]]
    first, second = _drawn(values, weights), _drawn(again, weights[shuffled])
    assert np.array_equal(np.sort(values[first, 0]), np.sort(again[second, 1]))


def test_bags_are_refused():
    with pytest.raises(InputError, match="leave bags out"), pytest.warns(FutureWarning, match="bags"):
        ConditionalTuning(bags=2).fit(table_of(100)[0], sample_weight=np.arange(1, 101))


def test_a_result_keeps_where_its_weights_came_from():
    X, rng = table_of(100)
    weights = rng.integers(1, 4, len(X))
    by_name = OptimalTuning(sample_weight="w").fit(X.assign(w=weights)).result_
    by_array = OptimalTuning().fit(X, sample_weight=weights).result_
    assert by_name.settings["sample_weight"] == "w"
    assert by_array.settings["counts_as"] == by_name.settings["counts_as"] < 100
    assert "sample_weight='w'" in _rerun(by_name.settings)
    assert ".fit(X, sample_weight=sample_weight)" in _rerun(by_array.settings)
    assert "sample_weight" not in OptimalTuning().fit(X).result_.settings
