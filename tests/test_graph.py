import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagtune import graph
from dagtune.validation import InputError


@st.composite
def directed_graphs(draw, most=7):
    d = draw(st.integers(1, most))
    flags = draw(st.lists(st.booleans(), min_size=d * d, max_size=d * d))
    matrix = np.array(flags).reshape(d, d)
    np.fill_diagonal(matrix, False)
    return matrix


def cycles_of(matrix):
    """Every simple cycle, from its smallest node, closed, by networkx."""
    for cycle in nx.simple_cycles(nx.from_numpy_array(matrix, create_using=nx.DiGraph)):
        at = cycle.index(min(cycle))
        yield (*cycle[at:], *cycle[:at], cycle[at])


@given(directed_graphs())
def test_a_cycle_is_the_shortest_then_the_smallest(matrix):
    every = sorted(cycles_of(matrix), key=lambda cycle: (len(cycle), cycle))
    assert graph.find_cycle(matrix) == (every[0] if every else None)
    assert graph.is_dag(matrix) == (not every)


@given(directed_graphs())
def test_a_topological_order_puts_causes_first_or_names_the_cycle(matrix):
    if graph.is_dag(matrix):
        order = list(graph.topological_order(matrix))
        assert sorted(order) == list(range(len(matrix)))
        assert all(order.index(i) < order.index(j) for i, j in np.argwhere(matrix))
        every = nx.lexicographical_topological_sort(nx.from_numpy_array(matrix, create_using=nx.DiGraph))
        assert order == list(every)
    else:
        with pytest.raises(InputError, match=r"cycle \(\d+ -> "):
            graph.topological_order(matrix)


@given(directed_graphs())
def test_reachability_follows_paths(matrix):
    other = nx.from_numpy_array(matrix, create_using=nx.DiGraph)
    for node in range(len(matrix)):
        below = nx.descendants(other, node)
        below |= {node} if any(nx.has_path(other, child, node) for child in other.successors(node)) else set()
        assert set(graph.descendants(matrix, node)) == below
        assert set(graph.parents(matrix, node)) == set(other.predecessors(node))
        assert set(graph.children(matrix, node)) == set(other.successors(node))
        assert set(graph.ancestors(matrix, node)) == {
            a for a in range(len(matrix)) if node in graph.descendants(matrix, a)
        }


@given(directed_graphs())
def test_every_form_of_a_graph_leads_back_to_it(matrix):
    names = [f"v{i}" for i in range(len(matrix))]
    frame = graph.to_frame(matrix, names)
    assert (graph.as_matrix(frame) == matrix).all()
    assert (graph.as_matrix(graph.to_networkx(frame)) == matrix).all()
    assert graph.from_networkx(graph.to_networkx(frame), names).equals(frame)
    assert graph.from_edge_list(graph.edge_list(frame), names).equals(frame)
    assert (graph.skeleton(matrix) == (matrix | matrix.T)).all()


def test_a_row_causes_a_column():
    matrix = np.zeros((3, 3))
    matrix[0, 2] = 1
    assert graph.edge_list(matrix, "abc") == [("a", "c")]
    assert list(graph.to_networkx(matrix, "abc").edges) == [("a", "c")]
    assert graph.to_frame(matrix, "abc").loc["a", "c"] == 1


def test_a_complete_dag_has_every_edge_along_its_order():
    for order in itertools.permutations(range(4)):
        matrix = graph.complete(order)
        assert matrix.sum() == 6
        assert tuple(graph.topological_order(matrix)) == order


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros((2, 3)), "square"),
        (np.eye(3), "itself"),
        (np.full((2, 2), 0.5) - 0.5 * np.eye(2), "threshold"),
        ([["a", "b"], ["c", "d"]], "0 and 1"),
        (nx.Graph([(0, 1)]), "DiGraph"),
        (pd.DataFrame([[0, 1], [0, 0]], index=["a", "b"], columns=["b", "a"]), "different names"),
    ],
)
def test_what_is_no_graph_is_refused_with_a_cure(bad, words):
    with pytest.raises(InputError, match=words):
        graph.as_matrix(bad)


def test_unknown_and_repeated_names_are_refused():
    with pytest.raises(InputError, match="'z'"):
        graph.from_edge_list([("a", "z")], "ab")
    with pytest.raises(InputError, match="duplicate column name 'a'"):
        graph.from_edge_list([], "aa")
    with pytest.raises(InputError, match="each position"):
        graph.complete([0, 0, 1])
