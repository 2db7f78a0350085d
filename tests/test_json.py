"""Every document that ``--json`` prints is what docs/schema.json says."""

import json
from pathlib import Path

import jsonschema
import pytest

from dagtune.cli import main
from dagtune.cli.terminal import VERSION

SCHEMA = json.loads((Path(__file__).parents[1] / "docs/schema.json").read_text(encoding="utf-8"))
CALLS = {
    "simulate": "simulate --out sim --nodes 3 --edges 2 --rows 100",
    "learn": "learn sim/data.csv --out result --truth sim/graph.csv",
    "effect": "effect result --of x0 --on x2",
    "effects": "effect result --on x2",
    "audit": "audit sim/data.csv --truth sim/graph.csv",
    "compare": "compare sim/data.csv --methods pc,variance-sorted,empty",
    "difference": "compare result result",
    "evaluate": "evaluate sim/graph.csv result/graph.csv",
    "doctor": "doctor",
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """One document of each kind; each uses what those before it wrote."""
    import contextlib
    import io
    import os

    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("json"))
    found = {}
    try:
        for kind, call in CALLS.items():
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                assert main([*call.split(), "--json"]) in (0, 3)
            found[kind] = json.loads(told.getvalue())
    finally:
        os.chdir(before)
    return found


@pytest.mark.parametrize("kind", CALLS)
def test_a_document_is_what_the_schema_says(documents, kind):
    document = documents[kind]
    assert (document["document"], document["version"]) == (kind, VERSION)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize("kind", CALLS)
def test_the_schema_describes_every_field(documents, kind):
    described = SCHEMA["$defs"][kind]["properties"]
    assert set(documents[kind]) <= set(described)


def test_a_missing_field_or_another_version_is_refused(documents):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    without = {key: value for key, value in documents["compare"].items() if key != "methods"}
    assert not validator.is_valid(without)
    assert not validator.is_valid({**documents["compare"], "version": VERSION + 1})
