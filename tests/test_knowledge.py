"""What is known enters whole, or is refused with the names."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagtune.knowledge import Knowledge
from dagtune.validation import InputError

NAMES = ("rain", "wet", "slippery", "sprinkler")


def test_matrices_put_causes_in_rows_and_forbid_the_way_back_of_required_edges():
    required, forbidden = Knowledge(required=[("rain", "wet")], forbidden=[("slippery", "rain")]).matrices(NAMES)
    np.testing.assert_array_equal(np.argwhere(required), [[0, 1]])
    np.testing.assert_array_equal(np.argwhere(forbidden), [[1, 0], [2, 0]])


def test_tiers_forbid_every_edge_from_later_to_earlier_and_nothing_else():
    tiers = [["rain", "sprinkler"], ["wet"], ["slippery"]]
    _, forbidden = Knowledge(tiers=tiers).matrices((*NAMES, "free"))
    level = {name: number for number, tier in enumerate(tiers) for name in tier}
    for i, cause in enumerate((*NAMES, "free")):
        for j, effect in enumerate((*NAMES, "free")):
            backwards = cause in level and effect in level and level[cause] > level[effect]
            assert forbidden[i, j] == backwards, (cause, effect)


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ({"required": [["a", "b"], ["b", "a"]]}, "'a' -> 'b' -> 'a'"),
        ({"required": [["a", "b"], ["b", "c"], ["c", "a"]]}, "'a' -> 'b' -> 'c' -> 'a'"),
        ({"required": [["a", "b"]], "forbidden": [["a", "b"]]}, "'a' -> 'b' is both required and forbidden"),
        ({"required": [["b", "a"]], "tiers": [["a"], ["b"]]}, "'b' -> 'a' leads from tier 2 back to tier 1"),
        ({"tiers": [["a"], ["b", "a"]]}, "'a' appears twice in the tiers"),
        ({"required": [["a", "a"]]}, "leads from a node to itself"),
        ({"required": ["ab"]}, "pairs, but one entry is 'ab'"),
        ({"required": [["a", "b", "c"]]}, "pairs, but one entry is"),
        ({"required": "ab"}, "list of .cause, effect. pairs"),
        ({"tiers": ["ab"]}, "lists of names, but one entry is 'ab'"),
        ({"requires": [["a", "b"]]}, "unknown knowledge entry 'requires'.*did you mean 'required'"),
        (["a"], "knowledge must be a mapping"),
        ({"prior": {("a", "b"): 0.8}, "required": [["a", "b"]]}, "belief in 'a' -> 'b', which is required"),
        ({"prior": {("b", "a"): 0.8}, "required": [["a", "b"]]}, "'b' -> 'a'.*because its reverse is required"),
        ({"prior": {("a", "b"): 0.8}, "forbidden": [["a", "b"]]}, "belief in 'a' -> 'b', which is forbidden"),
        (
            {"prior": {("b", "a"): 0.8}, "tiers": [["a"], ["b"]]},
            "belief in 'b' -> 'a', which is ruled out by the tiers",
        ),
        ({"prior": {("a", "a"): 0.8}}, "prior edge 'a' -> 'a' leads from a node to itself"),
        ({"prior": [["a", "b", 0.8], ["a", "b", 0.3]]}, "two beliefs in 'a' -> 'b', 0.8 and 0.3"),
        (
            {"prior": {("a", "b"): 1}},
            "'a' -> 'b' must be .* strictly between 0 and 1, not 1: .* make the edge required",
        ),
        ({"prior": {("a", "b"): 0.0}}, "strictly between 0 and 1, not 0.0: .* make the edge forbidden"),
        ({"prior": {("a", "b"): -2}}, "strictly between 0 and 1, not -2$"),
        ({"prior": {("a", "b"): float("nan")}}, "strictly between 0 and 1, not nan"),
        ({"prior": {("a", "b"): "0.8"}}, "strictly between 0 and 1, not '0.8'"),
        ({"prior": {("a", "b"): True}}, "strictly between 0 and 1, not True"),
        ({"prior": {"a->b": 0.8}}, "one key is 'a->b'"),
        ({"prior": [["a", "b"]]}, "list of .cause, effect, p., but one entry is .'a', 'b'."),
        ({"prior": ["abc"]}, "but one entry is 'abc'"),
        ({"prior": "abc"}, "not 'abc'"),
        ({"prior": 0.8}, "not 0.8"),
    ],
)
def test_contradictions_are_refused_with_the_names(knowledge, words):
    with pytest.raises(InputError, match=words):
        Knowledge.of(knowledge)


@pytest.mark.parametrize(
    "entry", [{"required": [["rian", "wet"]]}, {"tiers": [["rian"]]}, {"prior": [["rian", "wet", 0.8]]}]
)
def test_unknown_names_are_refused_with_a_guess(entry):
    with pytest.raises(InputError, match="uses 'rian', which is not a column; did you mean 'rain'"):
        Knowledge.of(entry).matrices(NAMES)
    with pytest.raises(InputError, match="'rian', which is not a column"):
        Knowledge.of(entry).beliefs(NAMES)


def test_a_file_says_the_same_as_the_object(tmp_path):
    known = Knowledge([("rain", "wet")], [("wet", "sprinkler")], [["rain"], ["slippery"]], {("wet", "slippery"): 0.8})
    (tmp_path / "k.json").write_text(json.dumps(known.as_mapping()))
    (tmp_path / "k.toml").write_text(
        'required = [["rain", "wet"]]\nforbidden = [["wet", "sprinkler"]]\ntiers = [["rain"], ["slippery"]]\n'
        'prior = [["wet", "slippery", 0.8]]\n'
    )
    assert Knowledge.of(tmp_path / "k.json") == known
    assert Knowledge.of(str(tmp_path / "k.toml")) == known


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("k.toml", "required = [", "fix the file"),
        ("k.json", "{", "fix the file"),
        ("k.json", "[1]", "knowledge must be a mapping"),
        ("k.yaml", "", "must end in .toml or .json"),
    ],
)
def test_a_file_that_can_not_be_read_is_refused_with_its_name(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        Knowledge.from_file(tmp_path / name)
    with pytest.raises(InputError, match=r"no file of knowledge.*absent.toml"):
        Knowledge.from_file(tmp_path / "absent.toml")


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")).filter(lambda e: e[0] != e[1]), max_size=8)
)
def test_required_edges_are_accepted_exactly_when_some_order_of_the_names_fits_them(edges):
    """Another road to acyclicity: try every order."""
    from itertools import permutations

    fits = any(all(order.index(a) < order.index(b) for a, b in edges) for order in permutations("abcde"))
    if fits:
        assert set(Knowledge(required=edges).required) == set(edges)
    else:
        with pytest.raises(InputError, match="close a cycle"):
            Knowledge(required=edges)


def test_knowing_nothing_is_false():
    assert not Knowledge.of(None)
    assert Knowledge(forbidden=[("a", "b")])
    assert Knowledge(prior={("a", "b"): 0.5})


def test_beliefs_are_log_odds_of_their_edges_and_nothing_else():
    known = Knowledge(prior={("rain", "wet"): 0.8, ("sprinkler", "wet"): 0.5, ("wet", "slippery"): 1e-9})
    odds = known.beliefs(NAMES)
    assert np.exp(odds[0, 1]) == pytest.approx(4)
    assert np.exp(odds[1, 2]) == pytest.approx(1e-9)
    odds[0, 1] = odds[1, 2] = 0
    np.testing.assert_array_equal(odds, np.zeros((4, 4)))
    assert not Knowledge(required=[("rain", "wet")]).beliefs(NAMES).any()
    assert not np.any(known.matrices(NAMES))
    assert not known.before(NAMES).any()


def test_a_belief_turned_round_has_the_opposite_log_odds():
    for p in (0.1, 0.25, 0.999):
        forth, back = (Knowledge(prior=[["a", "b", q]]).beliefs("ab")[0, 1] for q in (p, 1 - p))
        assert forth == pytest.approx(-back)


def test_a_root_has_no_cause_and_survives_as_a_mapping():
    known = Knowledge(roots=["b"])
    _, forbidden = known.matrices(["a", "b", "c"])
    np.testing.assert_array_equal(np.argwhere(forbidden), [[0, 1], [2, 1]])
    assert known.as_mapping()["roots"] == ["b"]
    assert Knowledge.from_mapping(known.as_mapping()) == known


def test_beliefs_may_join_names_of_one_tier_or_of_two_in_their_order():
    tiers = [["a", "b"], ["c"]]
    for edge in (("a", "b"), ("b", "a"), ("a", "c")):
        assert Knowledge(tiers=tiers, prior={edge: 0.8}).prior == ((*edge, 0.8),)
    with pytest.raises(InputError, match="ruled out by the tiers"):
        Knowledge(tiers=tiers, prior={("c", "a"): 0.8})


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        *(
            ({"required": bad}, r"required must be a list of \[cause, effect\] pairs, not")
            for bad in ("ab", 5, {"a": 1})
        ),
        *(({"forbidden": [bad]}, "pairs, but one entry is") for bad in ("ab", 5, {"a": 1, "b": 2}, ["a"], "abc")),
        *(({"tiers": bad}, "tiers must be a list of lists of names, causes first, not") for bad in ("ab", 5, {"a": 1})),
        *(({"tiers": [bad]}, "lists of names, but one entry is") for bad in ("ab", 5, {"a": 1})),
        *(({"prior": {bad: 0.5}}, "but one key is") for bad in ("ab", 5, ("a",), ("a", "b", "c"))),
        *(({"prior": bad}, r"\[cause, effect, p\], not") for bad in ("abc", 5)),
        *(({"prior": [bad]}, "but one entry is") for bad in ("abc", 5, {"a": 1, "b": 2, "c": 3}, ["a", "b"])),
        *(({"roots": bad}, "roots must be a list of names, not") for bad in (5, {"a": 1})),
    ],
    ids=str,
)
def test_entries_of_another_form_are_refused(entries, words):
    with pytest.raises(InputError, match=words):
        Knowledge(**entries)


def test_beliefs_survive_as_a_mapping_of_plain_values():
    known = Knowledge(prior=[("a", "b", np.float64(0.8)), ("a", "b", 0.8)])
    told = json.loads(json.dumps(known.as_mapping()))
    assert told["prior"] == [["a", "b", 0.8]]
    assert Knowledge.of(told) == known != Knowledge()


def test_a_learner_that_can_not_use_beliefs_says_so():
    known = Knowledge(required=[("a", "c")])
    assert known.without_beliefs("it") is known
    with pytest.raises(InputError, match=r"it can't use beliefs .*'a' -> 'b' with 0.8.* only ConditionalTuning"):
        Knowledge(prior={("a", "b"): 0.8}).without_beliefs("it")


EDGES = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")).filter(lambda e: e[0] < e[1]), max_size=6
)


@given(EDGES, st.lists(st.integers(-1, 2), min_size=5, max_size=5), st.permutations("abcde"))
def test_before_is_what_all_orders_agree_on_that_fit_edges_and_tiers(edges, levels, names):
    """Another road: try every order. Tiers count only where some order fits them and the edges together."""
    from itertools import permutations

    tiers = [[name for name, level in zip("abcde", levels) if level == k] for k in range(3)]
    level = dict(zip("abcde", levels))
    edges = [(names[ord(a) - 97], names[ord(b) - 97]) for a, b in edges]  # acyclic, in some order of the names
    try:
        known = Knowledge(required=edges, tiers=tiers)
    except InputError:  # a required edge from a later tier to an earlier one
        assert any(level[a] > level[b] >= 0 for a, b in edges)
        return
    later = [(a, b) for a in "abcde" for b in "abcde" if 0 <= level[a] < level[b]]

    def fitting(pairs):
        return [o for o in permutations("abcde") if all(o.index(a) < o.index(b) for a, b in pairs)]

    orders = fitting([*edges, *later]) or fitting(edges)
    agreed = [[all(o.index(a) < o.index(b) for o in orders) and a != b for b in "abcde"] for a in "abcde"]
    np.testing.assert_array_equal(known.before("abcde"), agreed)


def test_before_follows_the_order_of_the_columns():
    known = Knowledge(required=[("rain", "wet"), ("wet", "slippery")])
    before = known.before(NAMES)
    np.testing.assert_array_equal(np.argwhere(before), [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(known.before(NAMES[::-1]), before[::-1, ::-1])
    assert not Knowledge().before(NAMES).any()
    assert not Knowledge(forbidden=[("wet", "rain")]).before(NAMES).any()


def test_tiers_that_required_edges_lead_around_say_nothing_about_the_order():
    known = Knowledge(required=[("b", "c"), ("c", "a")], tiers=[["a"], ["b"]])
    np.testing.assert_array_equal(np.argwhere(known.before("abc")), [[1, 0], [1, 2], [2, 0]])
