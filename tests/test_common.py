"""What baselines share: a result that is always a DAG, a clock that keeps its limit, plain knowledge."""

import pickle

import numpy as np
import pytest

from dagtune.baselines import BASELINES, LEARNERS
from dagtune.baselines.common import Learned, read_knowledge
from dagtune.progress import Clock, TimeLimitError
from dagtune.validation import InputError

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
CYCLE = CHAIN | np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)


def learned(graph=CHAIN, **more):
    return Learned(
        method="mine", graph=graph, names=("a", "b", "c"), order=np.arange(3), seconds=0.1, settings={"k": 1}, **more
    )


def test_a_cycle_is_no_result():
    with pytest.raises(InputError, match="0 -> 1 -> 2 -> 0"):
        learned(CYCLE)


def test_a_result_survives_the_way_to_another_process():
    again = pickle.loads(pickle.dumps(learned(converged=False, notes=("stopped",))))
    assert (again.graph == CHAIN).all()
    assert (again.method, again.converged, again.notes, dict(again.settings)) == ("mine", False, ("stopped",), {"k": 1})


def test_settings_can_not_be_changed_afterwards():
    with pytest.raises(TypeError):
        learned().settings["k"] = 2


def test_the_plain_call_hands_everything_on_and_gives_the_graph_alone(monkeypatch):
    seen = {}

    def learn(X, *, rng=None, **options):
        seen.update(rng=rng, **options)
        return learned()

    monkeypatch.setitem(LEARNERS, "mine", learn)
    assert (BASELINES["mine"]([[1.0]], rng=4, depth=2) == CHAIN).all()
    assert seen == {"rng": 4, "depth": 2}


def test_the_clock_raises_only_after_its_limit_and_says_how_far_it_came():
    Clock("mine").check("anything")
    Clock("mine", 100.0).check("anything")
    with pytest.raises(TimeLimitError, match=r"mine did not finish within 1e-09 seconds .*half way") as caught:
        Clock("mine", 1e-9).tell("half way")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.method, again.limit, again.done, str(again)) == ("mine", 1e-9, "half way", str(caught.value))


@pytest.mark.parametrize("limit", [0, -1, "soon"])
def test_a_limit_is_a_positive_number(limit):
    with pytest.raises(InputError, match="time_limit must be a positive number"):
        Clock("mine", limit)


def test_what_is_required_one_way_is_forbidden_the_other():
    required, forbidden = read_knowledge(3, required=CHAIN)
    assert (required == CHAIN).all()
    assert (forbidden == CHAIN.T).all()
    assert not any(matrix.any() for matrix in read_knowledge(3))


def test_knowledge_that_contradicts_itself_or_the_data_is_refused():
    with pytest.raises(InputError, match="edge 0 -> 1 is both required and forbidden"):
        read_knowledge(3, CHAIN, CHAIN)
    with pytest.raises(InputError, match="close a cycle"):
        read_knowledge(3, CYCLE)
    with pytest.raises(InputError, match="forbidden is a matrix of 3 nodes for 4 columns"):
        read_knowledge(4, None, CHAIN)
