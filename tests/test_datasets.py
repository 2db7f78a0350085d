"""The bundled tables are the ones their sources hold."""

import gzip
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dagtune import InputError, datasets
from dagtune.datasets import DATASETS, load
from dagtune.graph import edge_list, is_dag

SACHS_EDGES = """raf->mek, mek->erk, erk->akt, plc->pip2, plc->pkc, pip2->pkc, pip3->pip2, pip3->plc, pip3->akt,
pka->raf, pka->mek, pka->erk, pka->akt, pka->jnk, pka->p38, pkc->raf, pkc->mek, pkc->pka, pkc->jnk, pkc->p38"""


def test_sachs_is_the_published_table_with_its_20_edges():
    data = load("sachs")
    assert data.X.shape == (7466, 11)
    assert list(data.X.columns) == ["raf", "mek", "plc", "pip2", "pip3", "erk", "akt", "pka", "pkc", "p38", "jnk"]
    assert data.X.iloc[0].tolist() == [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    assert (data.X.to_numpy() > 0).all()
    assert data.graph is not None
    edges = {tuple(edge.strip().split("->")) for edge in SACHS_EDGES.split(",")}
    assert len(edges) == 20
    assert set(edge_list(data.graph)) == edges
    assert list(data.graph.columns) == list(data.X.columns)
    assert is_dag(data.graph)


def test_ames_has_eleven_variables_and_no_graph():
    data = load("ames")
    assert data.X.shape == (2930, 11)
    assert data.graph is None
    first = {"lot_area": 31770, "year_built": 1960, "condition": 5, "living_area": 1656, "rooms": 7, "price": 215000}
    assert data.X.iloc[0][list(first)].to_dict() == first
    assert data.X["price"].mean() == pytest.approx(180796.06, abs=0.01)  # De Cock's mean sale price
    assert data.X["condition"].isin(range(1, 11)).all()
    assert np.linalg.matrix_rank(data.X - data.X.mean()) == 11  # no column is a sum of others


@pytest.mark.parametrize("name", DATASETS)
def test_tables_are_clean_numbers_that_say_where_they_come_from(name):
    data = load(name)
    assert data.name == name
    assert (data.X.dtypes == "float64").all()
    assert np.isfinite(data.X.to_numpy()).all()
    assert (data.X.std() > 0).all()
    assert "MIT License" in data.licence
    assert "Copyright" in data.licence
    assert len(data.source) > 100
    assert str(len(data.X)) in repr(data)
    first = load(name).X
    first.iloc[:] = 0
    assert not load(name).X.equals(first)  # each call reads its own copy


def test_the_notes_claim_nothing_of_others():
    assert "neither was found" in load("ames").notes
    assert "not theirs" in load("ames").notes
    assert "has a cycle" in load("sachs").notes


def test_the_files_are_the_ones_docs_describe():
    digests = {
        "sachs": "17a31b0f91228e89e8faede5397f2211226a46c9b0af564c0b940b6a2d110433",
        "ames": "eea0a54d9265934baefa7b5c4f54f90e0fb596a90ac3a939b39d4e9ecf57e7ed",
    }
    for name, digest in digests.items():
        packed = Path(datasets.__file__).with_name(f"{name}.csv.gz").read_bytes()
        assert len(packed) < 200_000
        assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == digest


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"unknown data set 'sach'.*'sachs', 'ames'.*did you mean 'sachs'"):
        load("sach")


@pytest.mark.slow
def test_the_wheel_carries_the_files(tmp_path):
    root = Path(__file__).parent.parent
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(root)],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    for name in ("sachs.csv.gz", "ames.csv.gz", "sachs.licence.txt", "ames.licence.txt"):
        assert f"dagtune/datasets/{name}" in held
