"""What a graph says is independent is tested, and the power that is stated is the power there is."""

import numpy as np
import pytest

from dagtune.effects.summary import summarize
from dagtune.tables import read_table
from dagtune.trust.independences import check_independences

#: 0 -> 1, 0 -> 2: 1 and 2 are independent given 0.
FORK = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)


def checked(partial, seed, draw="normal", rows=400):
    rng = np.random.default_rng(seed)
    cause, noise, other = getattr(rng, draw)(size=(3, rows))
    b = np.sin(cause) + noise
    X = np.column_stack([cause, b, cause**2 + partial * noise + np.sqrt(1 - partial**2) * other])
    (found,) = check_independences(summarize(read_table(X)), X, FORK, (0, 1, 2))
    return found


def test_an_independence_that_holds_is_seldom_rejected():
    found = [checked(0.0, seed) for seed in range(100)]
    assert found[0].pair == ("x1", "x2")
    assert found[0].given == ("x0",)
    assert sum(not one.holds for one in found) <= 11  # 5 are expected


@pytest.mark.parametrize("draw", ["normal", "laplace"])
def test_the_stated_power_is_the_share_of_tables_in_which_it_shows(draw):
    found = [checked(0.1, seed, draw) for seed in range(150)]
    share = np.mean([not one.holds for one in found])
    assert np.mean([one.power for one in found]) == pytest.approx(share, abs=0.12)
    strong = float(np.mean([one.detectable for one in found]))
    again = np.mean([not checked(strong, seed, draw).holds for seed in range(200, 300)])
    assert again == pytest.approx(0.8, abs=0.12)


def test_a_missing_edge_is_named_in_words():
    found = checked(0.6, 0)
    assert not found.holds
    assert found.words.startswith("x1 and x2 are not independent given x0")
    assert "would have shown 4 times in 5" in checked(0.0, 1).words
