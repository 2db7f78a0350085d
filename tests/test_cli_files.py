"""Names survive the way through a file, whatever they hold; formulas do not."""

import csv
import os

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagtune.cli.files import whole_folder, write_graph, write_rows
from dagtune.tables import load_frame, pick_names, read_adjacency
from dagtune.validation import InputError

NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5, unique=True)


@given(NAMES)
def test_a_graph_reads_back_as_it_was_written(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("graph") / "graph.csv"
    graph = pd.DataFrame(0, index=names, columns=names)
    graph.iloc[0, 1:] = 1
    write_graph(path, graph)
    assert read_adjacency(path).equals(graph.astype(float))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
def test_no_text_in_a_spreadsheet_file_begins_a_formula(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    write_rows(path, ["name", "value"], [[text, -1.5]], spreadsheet=True)
    with path.open(newline="", encoding="utf-8-sig") as file:
        cell, number = list(csv.reader(file))[1]
    assert number == "-1.5"
    assert cell in (text, f"'{text}")
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    def fail():
        with whole_folder(tmp_path / "out", force=False) as part:
            (part / "a.txt").write_text("half")
            assert not (tmp_path / "out").exists()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with whole_folder(tmp_path / "out", force=False) as part:
        (part / "a.txt").write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(InputError, match="--force"), whole_folder(tmp_path / "out", force=False):
        pass


def test_a_folder_that_is_there_is_written_from_inside(tmp_path):
    """It may be a disk of its own, and the folder above may be somebody else's."""
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    with whole_folder(tmp_path / "link", force=False) as part:
        (part / "a.txt").write_text("whole")
        assert part.parent == tmp_path / "out"
        assert os.stat(part).st_dev == os.stat(tmp_path / "out").st_dev
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


def test_names_are_picked_one_by_one_or_with_commas():
    assert pick_names(["b, a", "c,d"], ["a", "b", "c,d"]) == ["b", "a", "c,d"]
    with pytest.raises(InputError, match="did you mean 'dose'"):
        pick_names(["doze"], ["age", "dose"])


def test_a_header_is_read_verbatim(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a,\nb",NA, c,,a,a\n1,2,3,4,5,6\n')
    assert tuple(load_frame(path, columns=None).frame.columns) == ("a,\nb", "NA", "c", "column 4", "a", "a_2")
