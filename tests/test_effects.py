"""Effects, what if, and what a saved result holds: answers known by another road."""

import itertools
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, InputError, Result, fit_mechanisms
from dagtune.cli import main
from dagtune.effects.adjusted import AdjustedEffects
from dagtune.effects.adjustment import optimal_adjustment
from dagtune.effects.estimates import Mixture
from dagtune.effects.stretches import Origins
from dagtune.effects.summary import summarize
from dagtune.simulate import random_dag
from dagtune.tables import read_table

NAMES = ["z", "x", "m", "y"]
GRAPH = np.array([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)


def linear_table(n=800, seed=0):
    """z -> x -> m -> y, z -> y; the total effect of x on y is 1.2, of z on y 0.8 * 1.2 - 1."""
    rng = np.random.default_rng(seed)
    z, e, f, g = rng.laplace(size=(4, n))
    x = 0.8 * z + e
    m = 1.2 * x + f
    return pd.DataFrame({"z": z, "x": x, "m": m, "y": m - z + g})


@pytest.fixture(scope="module")
def learned():
    return ConditionalTuning(random_state=0).fit(linear_table()).result_


def is_valid(graph, x, y, chosen):
    """The adjustment criterion: nothing forbidden in the set, and without causal paths it separates x and y."""
    G = nx.DiGraph([(int(i), int(j)) for i, j in np.argwhere(graph)])
    G.add_nodes_from(range(len(graph)))
    causal = {v for path in nx.all_simple_paths(G, x, y) for v in path[1:]}
    forbidden = {x} | causal | {w for v in causal for w in nx.descendants(G, v)}
    if forbidden & set(chosen):
        return False
    G.remove_edges_from([(x, v) for v in list(G.successors(x)) if v in causal])
    return nx.is_d_separator(G, {x}, {y}, set(chosen))


def test_the_optimal_set_is_valid_in_random_graphs():
    tried = 0
    for seed in range(40):
        graph = np.asarray(random_dag(6, 8, rng=seed), dtype=bool)
        for x, y in itertools.permutations(range(6), 2):
            chosen = optimal_adjustment(graph, x, y)
            leads = nx.has_path(nx.DiGraph(graph.astype(int)), x, y)
            assert (chosen is None) == (not leads)
            if chosen is not None:
                assert is_valid(graph, x, y, chosen)
                tried += 1
    assert tried > 300


def test_the_optimal_set_has_the_least_asymptotic_variance_of_all_valid_sets():
    rng = np.random.default_rng(0)
    for seed in range(10):
        graph = np.asarray(random_dag(5, 6, rng=seed), dtype=bool)
        B = graph * rng.uniform(0.5, 1.5, (5, 5))
        root = np.linalg.inv(np.eye(5) - B)
        cov = root.T @ root

        def variance(x, y, chosen, cov=cov):
            some = [x, *chosen]
            left = cov[y, y] - cov[y, some] @ np.linalg.solve(cov[np.ix_(some, some)], cov[some, y])
            return left * np.linalg.inv(cov[np.ix_(some, some)])[0, 0]

        for x, y in itertools.permutations(range(5), 2):
            best = optimal_adjustment(graph, x, y)
            if best is None:
                continue
            rest = [v for v in range(5) if v not in (x, y)]
            sets = [s for k in range(4) for s in itertools.combinations(rest, k) if is_valid(graph, x, y, s)]
            assert variance(x, y, best) <= min(variance(x, y, s) for s in sets) + 1e-9


def test_quantiles_of_a_mixture_with_a_point():
    mixture = Mixture(np.array([0.3, 0.7]), np.array([0.0, 5.0]), np.array([0.0, 1.0]))
    assert mixture.quantile(0.05) == 0.0
    assert mixture.quantile(0.3 + 0.35) == pytest.approx(5.0, abs=1e-6)
    assert mixture.centre == pytest.approx(3.5)


def test_effects_of_a_linear_table_are_those_of_its_paths(learned):
    effect = learned.effect("x", "y", from_=0, to=1)
    assert effect.interval[0] < 1.2 < effect.interval[1]
    assert effect.value == pytest.approx(1.2, abs=0.2)
    assert effect.share == 1.0
    assert effect.identifiable
    assert effect.adjusted_for == ("z",)
    low, high = effect.wide_interval
    assert low <= effect.interval[0]
    assert high >= 0
    back = learned.effect("y", "x")
    assert (back.value, back.interval) == (0, (0, 0))
    assert back.wide_interval[1] > 0
    slope = np.polyfit(effect.curve.grid, effect.curve.mean, 1)[0]
    assert slope == pytest.approx(1.2, abs=0.2)
    assert (effect.curve.low <= effect.curve.mean).all()
    assert (effect.curve.mean <= effect.curve.high).all()


def test_the_interval_holds_not_knowing_the_graph():
    table = linear_table()
    summary = summarize(read_table(table))
    without = GRAPH.copy()
    without[1, 2] = False
    both = AdjustedEffects(summary, np.array([GRAPH, without])).effect("x", "y", 0, 1)
    assert (both.share, both.interval[0]) == (0.5, 0)
    assert both.interval[1] > 1
    assert AdjustedEffects(summary, GRAPH[None]).effect("x", "y", 0, 1).interval[0] > 0.8


def test_effects_ranks_all_causes(learned):
    table = learned.effects("y")
    assert set(table.cause) == {"z", "x", "m"}
    assert table.effect.abs().is_monotonic_decreasing


def test_binary_and_categorical_columns_as_cause_and_as_effect():
    rng = np.random.default_rng(0)
    n = 4000
    group = rng.integers(0, 3, n)
    number = np.array([0.0, 1.0, 3.0])[group] + rng.normal(size=n)
    event = (rng.random(n) < 1 / (1 + np.exp(-number))).astype(float)
    kind = np.where(rng.random(n) < 0.2 + 0.6 * event, "p", "q")
    table = pd.DataFrame({"group": group, "number": number, "event": event, "kind": kind})
    graph = pd.DataFrame(np.eye(4, k=1, dtype=int), index=table.columns, columns=table.columns)
    simulator = fit_mechanisms(graph, table, categorical=("group", "kind"))
    up = simulator.effect("group", "number", from_=0, to=2)
    means = [number[group == g].mean() for g in range(3)]
    assert up.value == pytest.approx(means[2] - means[0], abs=1e-6)
    truth = event[group == 2].mean() - event[group == 0].mean()  # nothing confounds them
    assert simulator.effect("group", "event", from_=0, to=2).value == pytest.approx(truth, abs=1e-6)
    drop = simulator.effect("event", "kind", category="p")
    assert drop.interval[0] < 0.6 < drop.interval[1]
    other = simulator.effect("event", "kind", category="q")
    assert other.value == pytest.approx(-drop.value)
    drawn = simulator.sample(4000, do={"event": 1}, random_state=0)
    assert (drawn["kind"] == "p").mean() == pytest.approx(0.8, abs=0.05)
    assert set(drawn["kind"]) == {"p", "q"}


@pytest.fixture(scope="module")
def levelled():
    """A fitted chain whose ends have named levels: size (ordered), load (a number), ill (two)."""
    rng = np.random.default_rng(3)
    size = rng.integers(0, 3, 2000)
    load = size + rng.normal(size=2000)
    ill = np.where(rng.random(2000) < 1 / (1 + np.exp(-2 * load)), "yes", "no")
    words = np.array(["small", "middle", "large"])[size]
    table = pd.DataFrame({"size": words, "load": load, "ill": ill})
    simulator = fit_mechanisms(np.eye(3, k=1), table, kinds={"size": ["small", "middle", "large"]})
    return simulator, table


def test_levels_are_asked_for_and_told_by_their_names(levelled):
    simulator, table = levelled
    found = simulator.effect("size", "ill", from_="small", to="large")
    mean = (table["ill"] == "yes").groupby(table["size"]).mean()  # nothing confounds them
    assert found.value == pytest.approx(mean["large"] - mean["small"], abs=0.03)
    assert "Setting size to large instead of small changes the probability that ill is yes by" in found.words
    assert (found.start, found.end, found.of_levels) == ("small", "large", ("small", "middle", "large"))
    assert simulator.effect("size", "ill", from_=0, to=2).value == found.value  # codes are taken, too
    assert simulator.effects("ill").set_index("cause").loc["size", "from"] in ("small", "middle")
    assert "the mean of size (0 small to 2 large)" in simulator.effect("ill", "size").words
    with pytest.raises(InputError, match="its levels are small, middle, large"):
        simulator.effect("size", "ill", to="huge")
    with pytest.raises(InputError, match="probability of yes: leave category out"):
        simulator.effect("size", "ill", category="yes")


def test_a_sample_has_the_levels_of_the_table_and_a_row_is_given_by_them(levelled):
    simulator, table = levelled
    drawn = simulator.sample(4000, do={"size": "small"}, random_state=0)
    assert set(drawn["size"]) == {"small"}
    assert drawn["size"].dtype == pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    truth = (table["ill"] == "yes")[table["size"] == "small"].mean()
    assert (drawn["ill"] == "yes").mean() == pytest.approx(truth, abs=0.05)
    would_be = simulator.counterfactual({"size": "small", "load": -1.0, "ill": "no"}, do={"size": "large"})
    assert would_be.values["size"] == "large"
    assert would_be.values["load"] == pytest.approx(1.0, abs=0.3)  # two levels up, its noise kept
    assert would_be.values["ill"] == "yes"
    assert 0.5 < would_be.chance["ill"] < 1  # what was hidden in "no" is not known
    assert f"ill yes ({would_be.chance['ill']:.0%}) instead of no" in would_be.words
    same = simulator.counterfactual({"size": "small", "load": -1.0, "ill": "no"}, do={"size": "small"})
    assert "nothing else different" in same.words


def test_a_saved_result_knows_the_names_of_levels(levelled, tmp_path, capsys):
    table = levelled[1].head(400)
    result = ConditionalTuning(kinds={"size": ["small", "middle", "large"]}, roots="size", random_state=0).fit(table)
    result.result_.save(tmp_path)
    again = Result.load(tmp_path)
    assert again.sample(20, random_state=0).equals(result.result_.sample(20, random_state=0))
    asked = ["effect", str(tmp_path), "--of", "size", "--on", "load", "--from", "small", "--to", "large"]
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["from"], told["to"]) == ("small", "large")
    assert told["value"] == pytest.approx(2.0, abs=0.4)
    assert main(["effect", str(tmp_path), "--on", "load"]) == 0
    assert "small to large" in " ".join(capsys.readouterr().out.split())


def test_numbers_that_name_levels_are_meant_as_the_table_has_them():
    rng = np.random.default_rng(0)
    rank = rng.choice([1, 2, 5], 600)
    pay = rank + rng.normal(size=600)
    simulator = fit_mechanisms(np.eye(2, k=1), pd.DataFrame({"rank": rank, "pay": pay}), categorical="rank")
    means = [pay[rank == at].mean() for at in (1, 5)]
    assert simulator.effect("rank", "pay", from_=1, to=5).value == pytest.approx(means[1] - means[0], abs=1e-6)


def test_simulation_and_adjustment_agree_on_a_bent_effect():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    m = np.sin(2 * x) + 0.3 * rng.normal(size=3000)
    y = m**2 + 0.3 * rng.normal(size=3000)
    simulator = fit_mechanisms(np.eye(3, k=1, dtype=bool), np.column_stack([x, m, y]))
    effect = simulator.effect("x0", "x2", from_=0, to=np.pi / 4)
    drawn = [simulator.sample(20_000, do={"x0": at}, random_state=0)["x2"].mean() for at in (0, np.pi / 4)]
    assert effect.value == pytest.approx(1.0, abs=0.1)
    assert drawn[1] - drawn[0] == pytest.approx(1.0, abs=0.1)


def test_drawn_rows_look_like_the_table(learned):
    table = linear_table()
    drawn = learned.sample(20_000, random_state=0)
    assert np.allclose(drawn.corr(), table.corr(), atol=0.05)
    assert drawn.attrs["assumptions"]


def test_a_counterfactual_keeps_the_noise_of_the_row(learned):
    row = linear_table().iloc[3]
    would_be = learned.counterfactual(row, do={"x": row["x"] + 0.5})
    assert would_be.values["z"] == pytest.approx(row["z"], abs=1e-12)
    assert would_be.values["m"] - row["m"] == pytest.approx(0.6, abs=0.15)
    assert would_be.values["y"] - row["y"] == pytest.approx(0.6, abs=0.2)
    same = learned.counterfactual(row, do={"x": row["x"]})
    assert np.allclose(same.values, row)
    assert would_be.assumptions
    assert "instead of" in would_be.words


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda r: r.effect("x", "nothing"), "no column"),
        (lambda r: r.effect("x", "x"), "both"),
        (lambda r: r.effect("x", "y", to=1e9), "outside"),
        (lambda r: r.effect("x", "y", from_=1, to=1), "nothing changes"),
        (lambda r: r.effect("x", "y", category=1), "not categorical"),
        (lambda r: r.sample(5, do={"x": "many"}), "give a number"),
        (lambda r: r.counterfactual({"x": 1}, do={"x": 0}), "no value of z"),
        (lambda r: r.counterfactual(dict.fromkeys(NAMES, 0.0), do={}), "empty"),
    ],
)
def test_questions_that_make_no_sense_are_refused(learned, ask, told):
    with pytest.raises(InputError, match=told):
        ask(learned)


def test_a_graph_that_does_not_fit_is_refused():
    table = linear_table(50)
    with pytest.raises(InputError, match="cycle"):
        fit_mechanisms(np.eye(4, k=1, dtype=bool) | np.eye(4, k=-3, dtype=bool), table)
    with pytest.raises(InputError, match="nodes"):
        fit_mechanisms(np.zeros((3, 3)), table)


def test_a_saved_result_answers_the_same_and_holds_no_row(learned, tmp_path):
    learned.save(tmp_path / "plain")
    again = Result.load(tmp_path / "plain")
    assert again.workings is None
    assert again.effect("x", "y", from_=0, to=1).as_dict() == learned.effect("x", "y", from_=0, to=1).as_dict()
    assert again.verdict() == learned.verdict()
    assert again.sample(50, random_state=1).equals(learned.sample(50, random_state=1))
    values = linear_table().to_numpy()
    with np.load(tmp_path / "plain" / "result.npz") as file:
        kept = {name: file[name] for name in file.files}
    inner = values[(values > values.min(axis=0)).all(axis=1) & (values < values.max(axis=0)).all(axis=1)]
    for array in kept.values():
        numbers = np.asarray(array, dtype=float).ravel()
        starts = np.flatnonzero(np.isin(numbers, inner[:, 0]))
        assert not any(
            np.isin(numbers[at : at + 4], row).all() for at in starts for row in inner if numbers[at] == row[0]
        )
        assert np.isin(inner, numbers).mean() < 0.2  # quantiles hold some values of each column, not their rows


def test_rows_are_kept_if_asked_for(learned, tmp_path):
    learned.save(tmp_path, keep_rows=True)
    again = Result.load(tmp_path)
    assert np.array_equal(again.workings.table.values, linear_table().to_numpy())
    again.save(tmp_path / "without")
    with pytest.raises(InputError, match="rows"):
        Result.load(tmp_path / "without").save(tmp_path / "more", keep_rows=True)


def test_the_command_says_what_python_says(learned, tmp_path, capsys):
    learned.save(tmp_path)
    assert main(["effect", str(tmp_path), "--of", "x", "--on", "y", "--from", "0", "--to", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["value"] == learned.effect("x", "y", from_=0, to=1).value
    assert main(["effect", str(tmp_path), "--on", "y"]) == 0
    assert "cause" in capsys.readouterr().out
    assert main(["effect", str(tmp_path), "--of", "x", "--on", "nothing"]) == 2
    assert main(["effect", str(tmp_path / "not"), "--of", "x", "--on", "y"]) == 2


def test_an_interval_is_that_of_a_line_where_there_is_one_and_of_a_curve_where_there_is():
    rng = np.random.default_rng(3)
    wider, edge = [], np.array([[[0, 1], [0, 0]]])
    for _ in range(15):
        x = rng.normal(size=400)
        y = x + rng.normal(size=400)
        low, high = (
            AdjustedEffects(summarize(read_table(np.column_stack([x, y]))), edge).effect("x0", "x1", 0, 1).interval
        )
        slope, covariance = np.polyfit(x, y, 1, cov="unscaled")
        least = 2 * 1.645 * np.sqrt(covariance[0, 0] * np.var(y - np.polyval(slope, x), ddof=2))
        wider.append((high - low) / least)
    assert 0.95 < np.median(wider) < 1.5  # without averaging, eight functions give 2.5
    bent = np.tanh(3 * x) + 0.3 * rng.normal(size=400)
    low, high = (
        AdjustedEffects(summarize(read_table(np.column_stack([x, bent]))), edge).effect("x0", "x1", 0, 0.5).interval
    )
    assert low < np.tanh(1.5) < high
    assert np.polyfit(x, bent, 1)[0] / 2 < low  # what a line says of the step


def test_the_interval_holds_effects_that_are_zero_and_others_alike():
    there = np.array([0.6, 0.4]), np.array([1.0, 2.0]), np.array([0.1, 0.2])
    alone = Mixture(*there).interval()

    def with_none(share):
        weight = np.append((1 - share) * there[0], share)
        return Mixture(weight, np.append(there[1], 0.0), np.append(there[2], 0.0)).effect_interval()

    assert with_none(0.04) == pytest.approx(alone)
    assert with_none(0.5) == pytest.approx((0, alone[1]))
    assert with_none(0.96) == (0, 0)
    held = {share: with_none(share)[1] for share in (0.06, 0.5, 0.94)}
    assert held == pytest.approx(dict.fromkeys(held, alone[1]))  # an effect is held as often whatever else there is


def test_a_caution_names_what_speaks_against_the_interval():
    summary = summarize(read_table(linear_table()))
    doubts = {"m": "the residual check of m fails", "z": "the causes of z interact"}
    effects = AdjustedEffects(summary, GRAPH[None], doubts=doubts)
    found = effects.effect("x", "y")
    assert found.caution == "the residual check of m fails"  # m is between x and y, z is not
    assert "The intervals may be too narrow: the residual check of m fails." in found.words
    assert found.as_dict()["caution"] == found.caution
    assert effects.effect("y", "x").caution == ""


def test_causes_that_interact_are_a_caution():
    rng = np.random.default_rng(0)
    a, b = rng.exponential(size=(2, 600))
    X = pd.DataFrame({"a": a, "b": b, "c": 2 * a * b + 0.3 * rng.exponential(size=600)})
    result = ConditionalTuning(random_state=0).fit(X).result_
    assert "c" in result.effect("a", "c").caution


def least_squares(y, columns):
    """The weight of the first column, by least squares with a constant."""
    return np.linalg.lstsq(np.column_stack([*columns, np.ones(len(y))]), y, rcond=None)[0][0]


def test_groups_are_adjusted_for():
    """A batch shifts both variables, so pooled rows show an effect that is not there."""
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 5, 1000)
    level = np.array([0.0, 2.0, 4.0, 6.0, 8.0])[batch]
    x, y = level + rng.normal(size=1000), -level + rng.normal(size=1000)
    table = read_table(pd.DataFrame({"x": x, "y": y}))
    graph = np.array([[[0, 1], [0, 0]]])
    pooled = AdjustedEffects(summarize(table), graph).effect("x", "y", 3, 4)
    apart = AdjustedEffects(summarize(table, origins=Origins(group=batch)), graph).effect("x", "y", 3, 4)
    assert pooled.interval[1] < -0.5
    assert apart.interval[0] < 0 < apart.interval[1]
    dummies = [batch == k for k in range(4)]
    assert apart.value == pytest.approx(least_squares(y, [x, *dummies]), abs=0.05)
    assert any("5 groups" in text for text in apart.assumptions)
    assert not any("groups" in text for text in pooled.assumptions)


def experiment(seed=0):
    """a -> b -> c; in the second half of the rows b is set, and then a says nothing of c."""
    rng = np.random.default_rng(seed)
    a, e, f = rng.normal(size=(3, 1200))
    b = np.where(np.arange(1200) < 600, a + 0.5 * e, 2 * e)
    acted = np.zeros((1200, 3), dtype=bool)
    acted[600:, 1] = True
    return pd.DataFrame({"a": a, "b": b, "c": b + 0.5 * f}), acted


def test_rows_in_which_something_was_set_count_for_its_effects_only():
    X, acted = experiment()
    chain = np.eye(3, k=1, dtype=bool)[None]
    pooled = AdjustedEffects(summarize(read_table(X)), chain)
    known = AdjustedEffects(summarize(read_table(X), origins=Origins(acted=acted)), chain)
    assert pooled.effect("a", "c", 0, 1).interval[1] < 0.8
    told = known.effect("a", "c", 0, 1)
    assert told.interval[0] < 1 < told.interval[1]
    half = X[:600]
    assert told.value == pytest.approx(least_squares(half.c, [half.a]), abs=0.05)
    own = known.effect("b", "c", 0, 1)  # of b's effects the rows in which it was set say most
    assert own.value == pytest.approx(least_squares(X.c, [X.b]), abs=0.05)
    np.testing.assert_allclose(own.interval, pooled.effect("b", "c", 0, 1).interval, rtol=1e-9)
    everywhere = Origins(acted=np.tile(np.array([False, True, False]), (1200, 1)) & (np.arange(1200) > 10)[:, None])
    lost = AdjustedEffects(summarize(read_table(X), origins=everywhere), chain).effect("a", "b", 0, 1)
    assert not lost.identifiable
    assert "acted on" in lost.why_not


def test_the_learner_hands_its_experiments_and_groups_to_effects_and_tests(tmp_path):
    X, _ = experiment(1)
    targets = {"rows": ["seen"] * 600 + ["set"] * 600, "targets": {"set": {"b": "set"}}}
    batch = np.arange(1200) % 3
    X = X.add(2.0 * batch, axis=0)
    result = ConditionalTuning(random_state=0, experiments=targets, groups=batch).fit(X).result_
    effect = result.effect("a", "c", from_=2, to=3)
    assert effect.interval[0] < 1 < effect.interval[1]
    assert not result.hidden_cause_test.suspected  # the batch is no hidden cause, nor is the experiment
    assert sum("group" in text for text in result.sample(5, random_state=0).attrs["assumptions"]) == 1
    result.save(tmp_path)
    assert Result.load(tmp_path).effect("a", "c", from_=2, to=3).as_dict() == effect.as_dict()


def test_the_sums_of_all_stretches_together_are_those_of_the_table():
    table = read_table(experiment()[0].assign(kind=np.arange(1200) % 3), categorical="kind")
    acted = np.random.default_rng(0).random((1200, 4)) < 0.2
    whole, parts = summarize(table), summarize(table, origins=Origins(acted=acted))
    assert sum(part.rows for part in parts.stretches) == 1200
    for name in ("products", "cross", "shift", "scale"):
        np.testing.assert_allclose(getattr(parts.gram, name), getattr(whole.gram, name), atol=1e-9)
    kept = ~acted[:, 1]
    left = parts.target(3, 2.0, parts.left_out([1]))  # the share of a category in the rows that are left
    assert left.shift[3] == pytest.approx((table.values[kept, 3] == 2).mean())
    assert left.scale[3] == pytest.approx((table.values[kept, 3] == 2).std())
    assert left.n == kept.sum()


def test_fewer_functions_leave_a_category_whole():
    table = read_table(experiment()[0].assign(kind=np.arange(1200) % 5), categorical="kind")
    gram = summarize(table).gram
    assert [len(block) for block in gram.functions_of([0, 3], 2)] == [2, 4]


def test_two_rows_are_too_few_to_judge_a_regression_and_no_reason_to_fail():
    """No criterion for few rows is finite then; the fuzz found it."""
    table = read_table(pd.DataFrame({"a": [0.05, -0.48], "b": [0.46, 0.42]}))
    found = AdjustedEffects(summarize(table), [np.array([[0, 1], [0, 0]], dtype=bool)]).effect("a", "b")
    assert np.isfinite(found.value)
    assert found.share == 1
