"""Noise with a distribution of its own in each category of a cause, against the same by hand."""

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning
from dagtune.conditional.apart import NEVER, any_distribution, any_rows, tilt_apart
from dagtune.conditional.design import measure
from dagtune.conditional.noise import shaped, tilt
from dagtune.conditional.score import Score

NONE = np.empty(0)


def three_forms(seed=0, n=600):
    """A category, and a number whose density has another form in each: heavy tails, two humps, a sharp edge."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 3, n)
    forms = [rng.laplace(size=n), rng.choice([-1, 1], n) + 0.2 * rng.normal(size=n), rng.exponential(size=n) - 1]
    return c, np.choose(c, forms)


def test_nats_are_those_of_the_categories_one_by_one():
    c, e = three_forms()
    by_hand = 0.5 * np.log(len(e))
    for k in range(3):
        part = e[c == k]
        form = np.logaddexp(tilt(part), shaped(part)) - np.log(2)
        by_hand += form + 0.5 * len(part) * np.log(e.var() / part.var()) - 0.5 * np.log(len(part))
    assert tilt_apart(e, c, 3, NONE) == pytest.approx(by_hand, rel=1e-9)
    assert tilt_apart(e, c, 3, NONE) > tilt(e) + 50
    problem = Score(measure(np.column_stack([e, c]), ["continuous", "categorical"])).problem
    both = any_distribution(problem.discrete, np.array([1]), e)
    assert both == pytest.approx(np.logaddexp(tilt(e), tilt_apart(e, c, 3, NONE)) - np.log(2))
    assert any_distribution(problem.discrete, np.array([], dtype=np.int64), e) == pytest.approx(tilt(e))


def test_rows_sum_to_what_the_densities_gain_before_they_pay_for_their_parameters():
    c, e = three_forms(1)
    problem = Score(measure(np.column_stack([e, c]), ["continuous", "categorical"])).problem
    rows = np.empty(len(e))
    any_rows(problem.discrete, np.array([1]), e, rows)
    nats = tilt_apart(e, c, 3, NONE)
    assert nats - 5 < rows.sum() < nats + 80


def test_the_order_of_rows_and_the_names_of_categories_do_not_matter():
    c, e = three_forms(2)
    order = np.random.default_rng(0).permutation(len(e))
    assert tilt_apart(e[order], (2 - c)[order], 3, NONE) == pytest.approx(tilt_apart(e, c, 3, NONE))


@pytest.mark.parametrize("part", ["few rows", "a constant", "few values"])
def test_what_has_no_density_gains_none(part):
    """A category of few rows, or of few different values, must not be worth nats: it keeps the common Gaussian."""
    rng = np.random.default_rng(3)
    e, c = rng.normal(size=500), np.zeros(500, dtype=np.int64)
    rows = slice(0, 20) if part == "few rows" else slice(0, 200)
    c[rows] = 1
    if part == "a constant":
        e[rows] = 0.0
    elif part == "few values":
        e[rows] = np.round(e[rows])
    whole = 0.5 * np.log(e.var() / e[c == 0].var()) * (c == 0).sum()
    assert tilt_apart(e, c, 2, NONE) < tilt(e[c == 0]) + whole + 0.5 * (c == 1).sum() + 5
    assert tilt_apart(e, np.zeros(500, dtype=np.int64), 1, NONE) == NEVER


def test_columns_that_do_not_depend_gain_nothing():
    rng = np.random.default_rng(4)
    nats = [tilt_apart(rng.normal(size=400), rng.integers(0, 4, 400), 4, NONE) for _ in range(20)]
    assert max(nats) < 0.0


def test_what_is_left_has_one_form_in_all_categories_and_the_words_say_so():
    c, e = three_forms(5)
    frame = pd.DataFrame({"y": e, "c": np.array(list("pqr"))[c]})
    learner = ConditionalTuning(random_state=0, threads=1, knowledge={"required": [["c", "y"]]})
    result = learner.fit(frame).result_
    assert "noise of its own form in each category" in result.cells[0]
    assert all(check.holds for check in result.checks)


def direction(c, y):
    frame = pd.DataFrame({"y": y, "c": np.array(list("pqr"))[c]})
    result = ConditionalTuning(random_state=0, threads=1).fit(frame).result_
    return result.probability[1, 0] - result.probability[0, 1]


def test_a_category_that_gives_a_number_its_form_is_its_cause_and_one_made_of_it_its_effect():
    forms = [direction(*three_forms(seed)) for seed in range(3)]
    made = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=600)
        made.append(direction((np.outer(y, [-2.0, 0.0, 2.0]) + rng.gumbel(size=(600, 3))).argmax(axis=1), y))
    assert np.mean(forms) > 0.5
    assert np.mean(made) < 0
