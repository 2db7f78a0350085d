"""`dagtune doctor` says what is there, and finds what is wrong."""

import json

import numpy as np

from dagtune.cli import doctor, main


def told(capsys, code=0):
    assert main(["doctor", "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_healthy_installation_is_well(capsys):
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"numpy          {np.__version__}" in text or "not installed" in text
    assert text.rstrip().endswith("All is well.")
    assert "compiled code is kept in" in text


def test_a_missing_package_and_an_old_one_are_troubles(capsys, monkeypatch):
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: {"rich": None, "numpy": "1.0"}.get(name, real(name)))
    troubles = told(capsys, code=3)["troubles"]
    assert any(trouble.startswith("rich is missing: pip install 'rich>=") for trouble in troubles)
    assert any(trouble.startswith("numpy is 1.0, but >=") for trouble in troubles)


def test_a_missing_extra_is_no_trouble_but_the_line_that_brings_it_is_said(capsys, monkeypatch):
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "duckdb" else real(name))
    assert main(["doctor"]) == 0
    assert "files: missing duckdb: pip install 'dagtune[files]'" in capsys.readouterr().out


def test_a_compiler_that_fails_is_found(capsys, monkeypatch):
    import numba

    def broken(function):
        raise RuntimeError("no LLVM")

    monkeypatch.setattr(numba, "njit", broken)
    found = told(capsys, code=3)
    assert "no LLVM" in found["troubles"][0]


def test_no_place_for_compiled_code_is_a_trouble(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_cache", lambda: None)
    assert "NUMBA_CACHE_DIR" in told(capsys, code=3)["troubles"][0]
