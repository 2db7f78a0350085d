"""The conditional learner: what it must not depend on, what it obeys, what it says, and that it finds graphs."""

import re
import time
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dagtune.conditional.algorithm import DENSITIES, NOISES, conditional_tuning
from dagtune.conditional.numbers import ROWS
from dagtune.conditional.posterior import decide, undecided
from dagtune.conditional.track_record import LARGEST, SLOPE, track_record
from dagtune.graph import is_dag
from dagtune.metrics import brier, f1, sid
from dagtune.progress import TimeLimitError
from dagtune.result import Result, replay
from dagtune.simulate import random_dag, sample
from dagtune.tables import read_table
from dagtune.validation import InputError


def table(model="gp", seed=0, d=6, edges=9, n=300, **how):
    return sample(random_dag(d, edges, rng=seed), model, n, "printed", rng=seed, **how)


def learn(X, **options):
    return conditional_tuning(X, **{"rng": 0, "threads": 1, **options})


def alike(one, other, tolerance=0.1):
    """Probabilities within the noise of the sampler, and the same edges where they are sure of them."""
    np.testing.assert_allclose(other.probability, one.probability, atol=tolerance)
    sure = np.abs(one.probability + one.probability.T - one.settings["least_probability"]) > tolerance
    np.testing.assert_array_equal((other.matrix | other.matrix.T)[sure], (one.matrix | one.matrix.T)[sure])


@pytest.fixture(scope="module")
def result():
    return learn(table(seed=3))


# --- what it must not depend on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["free", "non-gaussian", "post-nonlinear"])
@pytest.mark.parametrize("model", ["gp", "mlp2", "tanh"])
def test_units_of_the_columns_change_nothing_where_noise_scales_are_not_compared(model, noise):
    X = table(model, 1, d=8, edges=14, n=200).to_numpy()
    rng = np.random.default_rng(1)
    scale = 10 ** rng.uniform(-6, 6, 8)
    plain, moved = learn(X, noise=noise), learn(X * scale + 10 * scale * rng.normal(size=8), noise=noise)
    alike(plain, moved)
    np.testing.assert_allclose(moved.margin, plain.margin, atol=0.02)


def test_all_columns_in_other_units_change_nothing_with_any_noise():
    X = table(seed=2).to_numpy()
    alike(learn(X), learn(1e4 * X))


@pytest.mark.parametrize("seed", range(4))
def test_permuted_columns_give_the_permuted_result(seed):
    X = table(["gp", "linear", "abs", "mlp2"][seed], seed, n=200)
    p = np.random.default_rng(seed).permutation(6)
    here, there = learn(X), learn(X.iloc[:, p])
    assert list(there.names) == [here.names[j] for j in p]
    np.testing.assert_allclose(there.probability, here.probability[np.ix_(p, p)], atol=0.1)
    np.testing.assert_allclose(there.margin, here.margin[np.ix_(p, p)], atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_permuted_rows_give_the_same_result(seed):
    X = table(["gp", "tanh", "abs"][seed], seed)
    alike(learn(X), learn(X.sample(frac=1, random_state=seed)))


def test_names_and_containers_mean_nothing(result):
    X = table(seed=3)
    for other in (X.to_numpy(), np.asfortranarray(X.to_numpy()), X.set_axis(list("uvwxyz"), axis=1)):
        again = learn(other)
        np.testing.assert_array_equal(again.probability, result.probability)
        np.testing.assert_array_equal(again.matrix, result.matrix)


def test_the_same_seed_gives_the_same_result_and_threads_do_not_matter():
    X = table("mlp100", seed=1, d=8, edges=16, n=250)
    one, again, two = learn(X, bags=2), learn(X, bags=2), learn(X, bags=2, threads=2)
    for other in (again, two):
        assert other.order == one.order
        assert other.changes == one.changes
        assert other.checks == one.checks
        assert other.cells == one.cells
        for name in ("probability", "margin", "track_record", "graphs", "strength", "opening"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))


def test_another_seed_gives_the_same_within_the_noise_of_the_sampler(result):
    other = learn(table(seed=3), rng=1)
    assert other.settings["seed"] == 1
    alike(result, other, tolerance=0.25)  # other resamples of the rows too


def test_the_table_is_left_as_it_was():
    X = table(seed=2, n=100).to_numpy()
    copy = X.copy()
    learn(X, noise="post-nonlinear", bags=1)
    np.testing.assert_array_equal(X, copy)


# --- the result -----------------------------------------------------------------------------------------------------


def test_probabilities_decide_the_graph(result):
    p = result.probability
    assert ((p >= 0) & (p <= 1)).all()
    assert not np.diag(p).any()
    assert (p + p.T <= 1 + 1e-9).all()
    np.testing.assert_array_equal(result.matrix, decide(p, DENSITIES["balanced"]))
    assert {frozenset(pair) for pair in result.undecided} == {
        frozenset((result.names[i], result.names[j])) for i, j in undecided(p)
    }
    np.testing.assert_allclose(result.graphs.mean(axis=0), p, atol=0.15)
    assert all(is_dag(graph) for graph in result.graphs)


def test_margins_are_antisymmetric_and_the_track_record_goes_with_them(result):
    margin, record = result.margin, result.track_record
    np.testing.assert_array_equal(margin, -margin.T)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose((record + record.T)[off], 1)
    assert ((record > 0.5) == (margin > 0))[off].all()
    assert np.isnan(np.diag(record)).all()
    sure = result.probability > 0.95
    assert (margin[sure] > 0).all()


def test_the_track_record_rises_with_the_root_of_the_margin_as_far_as_pairs_tell():
    margin = np.array([[0.0, 0.04, -np.inf], [-0.04, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    found = track_record(margin)
    assert found[0, 1] / found[1, 0] == pytest.approx(np.exp(0.2 * SLOPE))  # the odds
    assert found[0, 1] + found[1, 0] == pytest.approx(1)
    assert found[1, 2] == 0.5
    assert found[2, 0] == 1
    far = track_record(np.array([[0.0, 5.0], [-5.0, 0.0]]))[0, 1]
    assert far == pytest.approx(1 / (1 + np.exp(-SLOPE * LARGEST**0.5)))


def test_replaying_the_changes_of_each_phase_gives_the_graph_after_it(result):
    assert result.phases == ("order", "kept")  # nothing was known beforehand
    standing = result.history["order"]
    for phase in result.phases:
        standing = replay(standing, [change for change in result.changes if change.phase == phase], result.names)
        np.testing.assert_array_equal(standing, result.history[phase])
    assert is_dag(result.matrix)


def test_the_first_phase_is_the_complete_dag_of_the_order(result):
    np.testing.assert_array_equal(result.complete_dag, result.after("order"))
    rank = [result.names.index(name) for name in result.order]
    assert np.triu(result.history["order"][np.ix_(rank, rank)], 1).sum() == 15
    assert result.causal_order == list(result.order)
    assert not (result.matrix & ~result.history["order"]).any()


def test_strengths_stand_on_the_edges(result):
    assert (result.strengths.notna().to_numpy() == result.matrix).all()
    assert (result.strength[result.matrix] >= 0).all()
    assert np.isfinite(result.scores.to_numpy()).all()


def test_the_cells_are_told_in_words(result):
    assert len(result.cells) == 6
    for name, words in zip(result.names, result.cells):
        assert re.fullmatch(rf"{name}: [a-z A-Z,-]+ noise.*, (0\.\d\d|1\.00)", words), words
    roots = ~result.matrix.any(axis=0)
    assert [": no causes" in words for words in result.cells] == roots.tolist()


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("heavy-tailed noise", lambda x, rng: np.tanh(2 * x) + 0.3 * rng.standard_t(2, size=len(x))),
        ("light-tailed noise", lambda x, rng: np.tanh(2 * x) + rng.uniform(-1, 1, len(x))),
        ("skewed noise", lambda x, rng: np.tanh(2 * x) + rng.exponential(size=len(x))),
        ("straight lines", lambda x, rng: x + rng.normal(size=len(x))),
        ("smooth sum", lambda x, rng: np.sin(2 * x) + 0.3 * rng.normal(size=len(x))),
        ("spread that varies", lambda x, rng: np.tanh(2 * x) + np.exp(x) * rng.normal(size=len(x))),
    ],
)
def test_the_words_of_a_cell_say_what_was_simulated(words, make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    found = learn(np.column_stack([x, make(x, rng)]), knowledge={"required": [["x0", "x1"]]}, noise="auto")
    assert words in found.cells[1], found.cells


def test_why_tells_the_rule_and_the_numbers_of_each_change(result):
    for change in result.changes:
        told = result.why(*change.edge)
        assert change.rule in told
        assert all(str(number) in told for number in change.numbers)
    for i, j in np.argwhere(result.matrix):
        cause, effect = result.names[i], result.names[j]
        assert result.why(cause, effect).startswith(f"{cause} -> {effect} is in the graph.")
        assert f"The graph has {cause} -> {effect} instead." in result.why(effect, cause)


def test_rules_are_told_in_plain_words(result):
    text = " ".join(change.rule for change in result.changes) + str(result) + " ".join(result.warnings)
    assert not re.search(r"nan|inf\b|None", text)


@pytest.mark.parametrize("bags", [0, 2])
def test_a_saved_result_comes_back_the_same(tmp_path, bags):
    found = learn(table(n=120), bags=bags)
    back = Result.load(found.save(tmp_path))
    for name in ("order", "checks", "changes", "settings", "warnings", "cells", "probability_words", "undecided"):
        assert getattr(back, name) == getattr(found, name), name
    for name in ("probability", "margin", "track_record", "graphs"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found, name))
    pd.testing.assert_frame_equal(back.scores, found.scores)
    pd.testing.assert_frame_equal(back.complete_dag, found.complete_dag)
    assert all(back.why(a, b) == found.why(a, b) for a in found.names for b in found.names if a != b)


def test_bags_give_the_mean_of_probabilities(result):
    bagged = learn(table(seed=3), bags=3)
    p = bagged.probability
    assert ((p >= 0) & (p <= 1)).all()
    assert (p + p.T <= 1 + 1e-9).all()
    assert (p != result.probability).any()
    assert p[result.probability > 0.99].mean() > 0.7
    assert "3 resamples" in bagged.probability_words
    np.testing.assert_array_equal(bagged.margin, result.margin)
    np.testing.assert_array_equal(bagged.matrix, decide(p, DENSITIES["balanced"]))


def test_a_column_constant_in_a_bag_stops_nothing():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 0] = 0.1
    X[7, 0] = 0.3
    assert np.isfinite(learn(X, bags=6).probability).all()
    assert np.isfinite(learn(np.eye(5)[:, :3], bags=6).probability).all()


@pytest.mark.parametrize("noise", NOISES)
def test_what_was_asked_for_is_done_and_what_was_done_is_said(noise):
    X = special.expit(table(seed=1, standardize=True))
    found = learn(X, noise=noise)
    assert found.settings["noise"] == noise
    assert found.settings["rows"] == 300
    assert 0 < found.settings["edge_rate"] < 1
    text = " ".join(found.cells)
    if noise in ("equal", "free"):
        assert text.count("Gaussian noise") == 6
    if noise not in ("auto", "post-nonlinear"):
        assert "scale" not in text
    if noise != "auto":
        assert "spread" not in text


# --- progress and time ----------------------------------------------------------------------------------------------


def test_progress_is_told_and_may_stop_it():
    told = []
    learn(table(n=100), bags=2, progress=lambda phase, share: told.append((phase, share)))
    assert {phase for phase, _ in told} >= {"kept", "bags"}
    assert all(0 <= share <= 1 for _, share in told)
    assert told[-1] == ("kept", 1.0)

    class Enough(Exception):
        pass

    def stop(phase, share):
        if phase == "bags":
            raise Enough

    for threads in (1, 2):
        with pytest.raises(Enough):
            learn(table(n=100), bags=2, threads=threads, progress=stop)


def test_it_ends_within_a_second_when_its_time_is_up():
    X, taken = table("gp", d=25, edges=60, n=1000), []
    for _ in range(2):  # the first one compiles
        began = time.process_time()
        with pytest.raises(TimeLimitError, match=r"conditional did not finish within 0\.3 seconds"):
            learn(X, time_limit=0.3)
        taken.append(time.process_time() - began)
    assert taken[1] < 1.5  # of the processor: others may have it, too


def test_a_time_limit_that_is_not_reached_changes_nothing(result):
    np.testing.assert_array_equal(learn(table(seed=3), time_limit=1000).probability, result.probability)


# --- what it obeys --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", ["auto", "free"])
def test_knowledge_is_obeyed_against_the_data(seed, noise):
    X = table(seed=seed, n=200)
    truth = random_dag(6, 9, rng=seed)
    cause, effect = (f"x{j}" for j in np.argwhere(truth)[seed % 9])
    others = [name for name in X if name not in (cause, effect)]
    known = {
        "required": [[effect, cause]],
        "forbidden": [[others[0], others[1]], [others[1], others[0]]],
        "tiers": [[others[3]], [others[2]]],
    }
    for density in ("sparse", 0.0):
        found = learn(X, knowledge=known, noise=noise, density=density)
        graph, rank = found.to_frame(), {name: t for t, name in enumerate(found.order)}
        assert graph.loc[effect, cause] == 1
        assert rank[effect] < rank[cause]
        assert rank[others[3]] < rank[others[2]]
        assert (
            graph.loc[others[0], others[1]] == graph.loc[others[1], others[0]] == graph.loc[others[2], others[3]] == 0
        )
        assert is_dag(found.matrix)
        assert found.probability[found.names.index(effect), found.names.index(cause)] == pytest.approx(1)
        assert found.probability[found.names.index(cause), found.names.index(effect)] == 0
        assert all(graph[found.names.index(effect), found.names.index(cause)] for graph in found.graphs)
        assert "required by prior knowledge" in found.why(effect, cause)
        early, late = sorted(others[:2], key=rank.get)
        assert "prior knowledge forbids it" in found.why(early, late)
        assert "knowledge" in found.phases


def test_required_edges_that_lead_backwards_through_a_free_name_are_kept():
    X = table(seed=1, n=150)
    known = {"required": [["x1", "x2"], ["x2", "x0"]], "tiers": [["x0"], ["x1"]]}
    graph = learn(X, knowledge=known).to_frame()
    assert graph.loc["x1", "x2"] == graph.loc["x2", "x0"] == 1
    assert graph.loc["x1", "x0"] == 0


def test_everything_forbidden_leaves_nothing():
    names = ["x0", "x1", "x2"]
    known = {"forbidden": [[a, b] for a in names for b in names if a != b]}
    X = np.random.default_rng(0).normal(size=(80, 3))
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert not learn(X, knowledge=known, density=0.0).matrix.any()


def test_a_whole_order_known_is_the_order_found():
    X = table(seed=2, n=150)
    order = ["x4", "x0", "x5", "x1", "x3", "x2"]
    assert learn(X, knowledge={"tiers": [[name] for name in order]}).order == tuple(order)


def test_tiers_have_no_edge_back_and_their_margins_are_certain():
    X = table(seed=2, n=150)
    found = learn(X, knowledge={"tiers": [["x4", "x0"], ["x5", "x1"]]})
    for late, early in (("x5", "x4"), ("x5", "x0"), ("x1", "x4"), ("x1", "x0")):
        i, j = found.names.index(late), found.names.index(early)
        assert found.probability[i, j] == 0
        assert found.margin[j, i] == np.inf
        assert found.track_record[j, i] == 1


def test_beliefs_move_probabilities_their_way_and_0_5_moves_nothing():
    """Straight line, Gaussian noise, units apart: the data know the edge but not its direction."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = np.column_stack([x, x + rng.normal(size=300)])
    plain = learn(X, noise="free").probability
    assert 0.3 < plain[0, 1] < 0.7
    assert plain[0, 1] + plain[1, 0] > 0.95
    likely = learn(X, noise="free", knowledge={"prior": [["x0", "x1", 0.9]]}).probability
    doubted = learn(X, noise="free", knowledge={"prior": [["x0", "x1", 0.1]]}).probability
    # of the mean over resamples, some of which are surer than others: less than nine times the odds of each
    assert 1.8 < likely[0, 1] / likely[1, 0] / (plain[0, 1] / plain[1, 0]) < 12
    assert 1.8 < (plain[0, 1] / plain[1, 0]) / (doubted[0, 1] / doubted[1, 0]) < 12
    same = learn(X, noise="free", knowledge={"prior": [["x0", "x1", 0.5]]}).probability
    np.testing.assert_allclose(same, plain, atol=1e-9)


def test_a_belief_does_not_outweigh_the_data():
    X = table(seed=3)
    plain = learn(X)
    i, j = np.argwhere(plain.probability > 0.999)[0]
    doubted = learn(X, knowledge={"prior": [[plain.names[i], plain.names[j], 0.05]]})
    assert doubted.probability[i, j] > 0.9


def test_density_goes_from_few_edges_to_many():
    X = table(seed=5, n=100)
    graphs = [learn(X, density=density).matrix for density in (1, "sparse", "balanced", "dense", 0.01)]
    for fewer, more in pairwise(graphs):
        assert not ((fewer | fewer.T) & ~(more | more.T)).any()
    assert not graphs[0].any()
    assert graphs[1].sum() < graphs[-1].sum()
    np.testing.assert_array_equal(learn(X, density=0.5).matrix, learn(X, density=np.float64(0.5)).matrix)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "fre"}, "unknown noise 'fre'.*did you mean 'free'"),
        ({"noise": None}, "'auto', 'equal', 'free', 'non-gaussian', 'post-nonlinear'"),
        ({"density": "dens"}, "unknown density 'dens'.*did you mean 'dense'"),
        ({"density": 1.5}, f"{', '.join(DENSITIES)}, or a probability"),
        ({"density": float("nan")}, "a probability from 0 to 1"),
        ({"density": None}, "a probability from 0 to 1"),
        ({"density": True}, "a probability from 0 to 1"),
        ({"density": [0.5]}, "a probability from 0 to 1"),
        ({"bags": -1}, "bags must be a whole number at least 0, not -1"),
        ({"bags": 2.5}, "bags must be a whole number"),
        ({"bags": "3"}, "bags must be a whole number"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"knowledge": {"prior": [["x0", "x1", 1.0]]}}, "strictly between 0 and 1"),
        ({"knowledge": {"required": [["x0", "y"]]}}, "'y', which is not a column"),
    ],
)
def test_options_that_can_not_be_meant_are_refused_before_anything_is_measured(options, words):
    told = []
    with pytest.raises(InputError, match=words):
        learn(np.random.default_rng(0).normal(size=(20, 3)), progress=lambda *step: told.append(step), **options)
    assert not told


# --- tables as they come --------------------------------------------------------------------------------------------


def whole(found, names=None):
    """Is the result one that can be used: a DAG within its order, finite numbers?"""
    assert is_dag(found.matrix)
    assert sorted(found.order) == sorted(names or found.names)
    assert np.isfinite(found.scores.to_numpy()).all()
    assert np.isfinite(found.strength[found.matrix]).all()
    assert np.isfinite(found.opening).all()
    assert np.isfinite(found.probability).all()
    assert (found.probability + found.probability.T <= 1 + 1e-9).all()
    assert not np.isnan(found.margin).any()
    np.testing.assert_array_equal(replay(found.history["order"], found.changes, found.names), found.matrix)
    assert str(found)


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "counts": lambda rng, n: rng.poisson(1.0, n).astype(float),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "rare": lambda rng, n: (np.arange(n) == rng.integers(n)).astype(float),
    "far": lambda rng, n: 1e9 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-9 * rng.exponential(size=n),
    "grid": lambda rng, n: np.round(rng.normal(size=n), 1),
    "log-normal": lambda rng, n: np.exp(3 * rng.normal(size=n)),
}


@given(
    st.lists(st.sampled_from(sorted(COLUMNS)), min_size=2, max_size=5),
    st.sampled_from([3, 5, 12, 40, 120]),
    st.integers(0, 99),
    st.sampled_from(["none", "copy", "sum", "product"]),
    st.sampled_from(sorted(NOISES)),
)
@settings(max_examples=30)
def test_any_table_gives_a_dag_the_same_each_time(kinds, n, seed, extra, noise):
    rng = np.random.default_rng(seed)
    X = np.column_stack([COLUMNS[kind](rng, n) for kind in kinds])
    if extra != "none":
        more = {"copy": X[:, 0], "sum": X[:, 0] + X[:, 1], "product": X[:, 0] * X[:, -1]}[extra]
        X = np.column_stack([X, more])
    X = X[:, np.ptp(X, axis=0) > 0]
    if X.shape[1] < 2:
        return
    found = learn(X, noise=noise)
    whole(found)
    assert learn(X, noise=noise).changes == found.changes


@pytest.mark.slow
@given(st.data())
@settings(max_examples=400)
def test_many_tables_give_dags(data):
    test_any_table_gives_a_dag_the_same_each_time.hypothesis.inner_test(
        data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=2, max_size=9)),
        data.draw(st.integers(2, 300)),
        data.draw(st.integers(0, 10**6)),
        data.draw(st.sampled_from(["none", "copy", "sum", "product"])),
        data.draw(st.sampled_from(sorted(NOISES))),
    )


@pytest.mark.parametrize(("n", "d"), [(2, 2), (5, 3), (8, 12), (20, 2)])
def test_few_rows_are_enough_to_answer_and_the_answer_is_doubted(n, d):
    found = learn(np.random.default_rng(n).normal(size=(n, d)))
    whole(found)
    assert any(f"only {n} rows" in warning for warning in found.warnings)


@pytest.mark.parametrize("kind", [float, int, bool])
def test_copies_of_whole_columns_are_no_obstacle(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    X[:, 2] += X[:, 0]
    X = np.round(3 * X).astype(int) if kind is int else (X > 0 if kind is bool else X)
    whole(learn(np.column_stack([X, X])))


def test_binary_copies_in_a_long_table_fit_perfectly_and_break_nothing():
    b = np.random.default_rng(0).integers(0, 2, 120_000).astype(float)
    whole(learn(np.column_stack([b, 1 - b, 5 * b])))


def test_constant_columns_are_refused_or_left_out():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    X["b"] = 5.0
    with pytest.raises(InputError, match="'b' is constant"):
        learn(X)
    found = learn(X, drop_constant=True)
    assert found.names == ("a", "c")
    assert any("left out: b" in warning for warning in found.warnings)


def test_sorted_tables_are_learned_like_shuffled_ones():
    X = table(seed=4, n=2600).sort_values("x3")
    shuffled = X.sample(frac=1, random_state=0)
    one, other = learn(X), learn(shuffled)
    assert sum(check.holds for check in one.checks) >= len(one.checks) - 1
    truth = random_dag(6, 9, rng=4)
    assert f1(truth, one.matrix) > 0.9
    assert f1(truth, other.matrix) > 0.9
    alike(one, other)


def test_a_group_that_comes_late_in_the_table_stops_nothing():
    rng = np.random.default_rng(0)
    late = np.r_[np.zeros(2500), np.ones(2000)]
    whole(learn(np.column_stack([late, late + rng.normal(size=4500), rng.normal(size=4500)])))


def test_two_columns_are_enough():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    found = learn(pd.DataFrame({"effect": np.tanh(2 * x) + 0.3 * rng.normal(size=400), "cause": x}))
    whole(found)
    assert found.order == ("cause", "effect")
    assert found.probability[1, 0] > 0.95


def test_more_columns_than_rows_are_answered_with_few_edges():
    found = learn(np.random.default_rng(0).normal(size=(20, 30)))
    whole(found)
    assert found.matrix.sum() < 30
    assert any("only 20 rows" in warning for warning in found.warnings)


def test_a_wide_table_of_noise_has_hardly_an_edge():
    X = np.random.default_rng(1).normal(size=(300, 25))
    found = learn(X)
    whole(found)
    assert found.matrix.sum() <= 2


@pytest.mark.parametrize("noise", ["auto", "free"])
def test_nearly_copied_columns_are_joined_and_nothing_explodes(noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] = X[:, 0] + 1e-7 * X[:, 1]
    X[:, 3] += X[:, 0]
    found = learn(X, noise=noise)
    whole(found)
    assert found.matrix[0, 1] or found.matrix[1, 0]
    assert not found.matrix[2].any()
    assert not found.matrix[:, 2].any()


def test_heavy_ties_and_counts_keep_a_direction_of_their_own():
    rng = np.random.default_rng(0)
    x = np.maximum(rng.normal(size=500), 0)  # half the rows are 0
    y = rng.poisson(np.exp(0.8 * x)).astype(float)
    z = np.round(x + 0.3 * rng.normal(size=500))
    found = learn(np.column_stack([x, y, z]))
    whole(found)
    joined = found.matrix | found.matrix.T
    assert joined[0, 1]
    assert joined[0, 2]


def test_a_long_table_is_never_surer_than_so_many_rows_make_it():
    """A margin of so many nats a row is of the rows that the table counts as."""
    rng = np.random.default_rng(0)
    n = 6 * ROWS
    X = rng.normal(size=(n, 3))
    X[:, 1] += 0.02 * X[:, 0]  # 6 nats in all rows, one in as many as count
    X[:, 2] += np.tanh(X[:, 0])
    found = learn(X)
    whole(found)
    assert found.settings["rows"] == n
    assert found.probability[0, 2] > 0.99
    assert found.probability[0, 1] + found.probability[1, 0] < 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(bad):
    X = table(n=50).to_numpy().copy()
    X[3, 2] = bad
    with pytest.raises(InputError, match="x2"):
        learn(X)


def test_no_table_makes_numpy_complain():
    rng = np.random.default_rng(0)
    X = np.column_stack([COLUMNS[kind](rng, 120) for kind in sorted(COLUMNS)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole(learn(X))


# --- what it finds --------------------------------------------------------------------------------------------------


def chance(truth, rng, draws=20):
    """Mean SID of random complete DAGs."""
    ranks = [rng.permutation(len(truth)) for _ in range(draws)]
    return np.mean([sid(truth, rank[:, None] < rank) for rank in ranks])


@pytest.mark.parametrize(("model", "share"), [("tanh", 0.3), ("abs", 0.2), ("mlp100", 0.5)])
def test_orders_are_far_better_than_chance(model, share):
    found, random = 0.0, 0.0
    for seed in range(3):
        truth = random_dag(10, 20, rng=seed)
        X = sample(truth, model, 500, "printed", rng=seed)
        found += sid(truth, learn(X).complete_dag.to_numpy())
        random += chance(truth, np.random.default_rng(seed))
    assert found < share * random


@pytest.mark.parametrize(
    ("model", "noise"), [("gp", "gaussian"), ("tanh", "gaussian"), ("linear", "uniform"), ("linear", "exponential")]
)
def test_standardised_graphs_are_found_and_probabilities_are_honest(model, noise):
    right, score = [], []
    for seed in range(3):
        truth = random_dag(8, 12, rng=seed)
        X = sample(truth, model, 600, "printed", rng=seed, noise=noise, standardize=True)
        learned = learn(X)
        right.append(f1(truth, learned.matrix))
        score.append(brier(truth, learned.probability))
    assert np.mean(right) > 0.85, right
    assert np.mean(score) < 0.05, score


def test_linear_gaussian_tables_of_unknown_units_keep_what_is_not_compelled_undecided():
    """x0 -> x1 <- x2 is compelled, x3 - x4 is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    X[:, 1] += X[:, 0] + X[:, 2]
    X[:, 4] += X[:, 3]
    found = learn((X - X.mean(axis=0)) / X.std(axis=0), noise="free")
    assert found.probability[0, 1] > 0.9
    assert found.probability[2, 1] > 0.9
    assert [set(pair) for pair in found.undecided] == [{"x3", "x4"}]


def test_equal_noise_sees_units_that_free_noise_does_not():
    """A linear Gaussian chain: only equal variances tell its direction."""
    right = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 4))
        for j in range(1, 4):
            X[:, j] += 1.2 * X[:, j - 1]
        right += learn(X[:, ::-1], noise="equal").order == ("x3", "x2", "x1", "x0")
    assert right == 4


def test_a_product_of_causes_is_found_by_the_joint_mechanism():
    """x2 = x0 x1 + x0 + x1 + e has an additive part, so that the likely parents are known before it is offered."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    X[:, 2] = 2 * X[:, 0] * X[:, 1] + X[:, 0] + X[:, 1] + 0.3 * X[:, 2]
    found = learn(X, noise="free")
    assert found.order[-1] == "x2"
    assert "joint function" in found.cells[2]
    np.testing.assert_array_equal(found.matrix, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])


def test_a_model_that_does_not_hold_is_said_not_to():
    """A hidden common cause that acts on both by its square."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1500, 1))
    X = hidden**2 * np.array([1.0, -1.5]) + 0.3 * rng.normal(size=(1500, 2)) * np.abs(hidden)
    found = learn(X, noise="free")
    assert any(not check.holds for check in found.checks)
    assert any("the model does not hold" in warning for warning in found.warnings)


# --- categorical columns ----------------------------------------------------------------------------------------------


def with_levels(seed, n=400):
    """Region -> a -> b <- sex, and c apart; neither effect of the region is monotone in its names."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["east", "north", "south", "west"], n, p=[0.2, 0.4, 0.3, 0.1])
    sex = rng.choice(["f", "m"], n)
    a = pd.Series(region).map({"east": 2.0, "north": 0.0, "south": 2.0, "west": -1.0}).to_numpy() + rng.normal(size=n)
    b = 2 * np.tanh(a) + 1.5 * (sex == "m") + rng.normal(size=n)
    return pd.DataFrame({"b": b, "region": region, "c": rng.normal(size=n), "a": a, "sex": sex})


@pytest.mark.parametrize("seed", range(3))
def test_levels_stay_one_variable(seed):
    found = learn(with_levels(seed), categorical=["region", "sex"], density="sparse")
    edges = {(cause, effect) for cause, effect, *_ in found.edges().itertuples(index=False)}
    assert {("region", "a"), ("a", "b"), ("sex", "b")} <= edges
    assert found.settings["kinds"] == {
        "b": "continuous",
        "region": "categorical",
        "c": "continuous",
        "a": "continuous",
        "sex": "categorical",
    }


@pytest.mark.parametrize("noise", NOISES)
def test_what_categories_are_called_means_nothing(noise):
    X = with_levels(4)
    other = X.assign(region=X.region.map({"east": 7, "north": -1, "south": 3, "west": 0}), sex=X.sex == "f")
    one, two = (learn(table, categorical=["sex", "region"], noise=noise) for table in (X, other))
    np.testing.assert_array_equal(one.matrix, two.matrix)
    np.testing.assert_allclose(one.probability, two.probability, atol=0.1)


def test_a_cause_that_acts_differently_at_each_level_is_seen():
    rng = np.random.default_rng(0)
    group, x = rng.choice(list("uvw"), 500), rng.normal(size=500)
    slope = pd.Series(group).map({"u": -1.0, "v": 0.5, "w": 2.0}).to_numpy()
    found = learn(
        pd.DataFrame({"y": x * slope + (group == "v") + 0.3 * rng.normal(size=500), "group": group, "x": x}),
        categorical="group",
    )
    # With Gaussian noise whose variance may differ by level, x given y is much the same as y given x.
    assert found.probability[0, 2] + found.probability[2, 0] > 0.95
    assert found.probability[1, 0] > 0.95
    assert any("joint function" in found.cells[k] for k in (0, 2))
    assert found.cells[1] == "group: categorical, no causes, 1.00"


def test_all_columns_may_be_categorical():
    found = learn(with_levels(0)[["region", "sex"]])
    assert found.probability.sum() < 0.5  # they are independent


def test_levels_in_bags_and_with_missing_values():
    X = with_levels(1, n=150)
    found = learn(X, categorical=["region", "sex"], bags=2)
    assert found.probability[1, 3] > 0.5 > found.probability[3, 1]
    X.loc[::10, "region"] = None
    with pytest.raises(InputError, match="'region' has 15 missing"):
        learn(X, categorical=["region", "sex"])
    filled = read_table(X, categorical=["region", "sex"], missing="impute")
    assert set(filled.values[::10, 1]) == {1.0}  # north, the most frequent


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"categorical": ["regions"]}, "no column 'regions': did you mean 'region'"),
        ({"categorical": ["region", "sex", "a"]}, "'a' has 400 different values.*drop=\\['a'\\]"),
        ({"kinds": {"region": "ordinal"}}, "'region' holds text.*kinds=.*'low', 'middle', 'high'"),
        ({"kinds": {"region": ["east", "west"]}}, "'region' has the value.*not among its levels"),
        ({"kinds": {"a": "count"}}, "'a' is no count.*'a': 'continuous'"),
        ({"kinds": {"region": "binary"}}, "'region' has 4 different values, not two.*'region': 'categorical'"),
        ({"kinds": {"region": "date"}}, "'region' holds no dates"),
    ],
)
def test_what_levels_can_not_be_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        learn(with_levels(0), **options)
