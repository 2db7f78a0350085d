"""Tables, knowledge, graphs and results as nobody should hand them in: generators of files and commands from a seed."""

from __future__ import annotations

import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["LOADERS", "command", "file_for"]

NAMES = [
    "age",
    "dose",
    "size",
    "price",
    "a b",
    "x,y",
    'q"q',
    "größe",
    "=1+1",
    "<b>x</b>",
    "a->b",
    "\x1b[31m",
    "",
    "NA",
    "nan",
    "1",
]
WORDS = [
    *[
        "",
        " ",
        "0",
        "1",
        "-1",
        "2",
        "7",
        "0.5",
        "1e400",
        "-1e-310",
        "nan",
        "inf",
        "1e6x",
        "NaN",
        "None",
        "true",
        "\x00",
        "..",
        "/",
        "~",
    ],
    *[
        "*",
        "-",
        "--",
        ",",
        ";",
        "a,b",
        "age,dose",
        "a->b",
        "age->dose",
        "age->dose=0.7",
        "age->dose=2",
        "->",
        "=",
        "age=count",
    ],
    *[
        "age=continuous,dose=binary",
        "utf-8",
        "latin-1",
        "utf-16",
        "yes",
        "no",
        "both",
        "all",
        "gaussian",
        "🙂",
        "x" * 5000,
        "9" * 400,
    ],
    *[
        "ot",
        "conditional",
        "ges",
        "empty",
        "cam",
        "variance-sorted",
        "random-complete",
        "paper",
        "released",
        "auto",
        "free",
        "equal",
        "tanh",
    ],
]
PIECES = [
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"\r\n",
    b'"',
    b",",
    b";",
    b"\t",
    b"nan",
    b"1e400",
    b"-inf",
    b"[",
    b"{",
    b"}]",
    b"9" * 400,
    b"\xf0\x9f",
]


def _table(rng: random.Random, most: int = 60) -> pd.DataFrame:
    """A small table: most columns are numbers, some are not, or are constant, tiny, huge or have gaps."""
    generator = np.random.default_rng(rng.randrange(2**32))
    rows, width = (
        rng.choice([1, 2, 3, 12, most, *[most] * (20 if getattr(rng, "calm", False) else 0)]),
        rng.choice([1, 2, 3, 3, 4]),
    )
    frame = pd.DataFrame({name: generator.normal(size=rows).round(4) for name in rng.sample(NAMES[:6], width)})
    for name in list(frame):
        way = rng.randrange(60 if getattr(rng, "calm", False) else 16)
        if way == 0:
            frame[name] = 3.0
        elif way == 1:
            frame[name] *= rng.choice([1e-310, 1e-300, 1e300, 1e150, 1e-12])
        elif way == 2:
            frame[name] = generator.integers(0, rng.choice([2, 3, 9]), rows)
        elif way == 3:
            frame[name] = generator.choice(["red", "green", "blue", "x" * 40], rows)
        elif way == 4:
            frame.loc[generator.random(rows) < 0.2, name] = np.nan
        elif way == 5:
            frame[name] = generator.poisson(3, rows)
        elif way == 6:
            frame.loc[rng.randrange(rows), name] = rng.choice([np.inf, -np.inf, 1e308, -1e308])
        elif way == 7:
            frame[name] = frame.iloc[:, 0] * 2
    if rng.random() < 0.2:
        frame.columns = rng.choices(NAMES, k=width)
    return frame


def _bytes(write: Callable[[Any], Any]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def _csv(rng: random.Random) -> bytes:
    text = _table(rng).to_csv(
        index=rng.random() < 0.15, sep=rng.choice(",,,;\t|"), decimal=rng.choice("...,"), header=rng.random() < 0.9
    )
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-32"]), errors="replace")


def _arrow(rng: random.Random, ending: str) -> bytes:
    import pyarrow
    from pyarrow import feather, parquet

    frame = _table(rng)
    frame.columns = [f"{name}{k}" for k, name in enumerate(frame)]
    table = pyarrow.table(frame)
    n = len(frame)
    for column in rng.sample(
        [
            [{"x": 1, "y": [2]}] * n,
            [[1, 2]] * n,
            [b"\xff"] * n,
            [None] * n,
            [True, None, False, True][:n] + [None] * (n - 4),
            [10**18] * n,
            list(np.arange(n).astype("datetime64[s]")),
            pyarrow.array(["a", "b"] * n)[:n].dictionary_encode(),
        ],
        rng.randrange(3),
    ):
        table = table.append_column(f"more{table.num_columns}", pyarrow.array(column))
    if ending == "parquet":
        return _bytes(lambda out: parquet.write_table(table, out))
    return _bytes(lambda out: feather.write_feather(table, out))


def _workbook(rng: random.Random) -> bytes:
    frame = _table(rng, 12).rename(columns=lambda name: name.replace("\x1b", "~"))
    return _bytes(lambda out: frame.to_excel(out, index=False))


def _json_table(rng: random.Random) -> bytes:
    frame = _table(rng)
    orient = rng.choice(["records", "split", "columns", "values", "index", "table"])
    try:
        return frame.to_json(orient=orient).encode()
    except ValueError:
        return b"[]"


def _sqlite(rng: random.Random) -> bytes:
    import sqlite3

    base = sqlite3.connect(":memory:")
    frame = _table(rng, 12)
    frame.columns = [f"{name}{k}" for k, name in enumerate(frame)]
    for name in rng.sample(["data", "b c", "x"], rng.choice([1, 1, 2])):
        frame.to_sql(name, base, index=False)
    return base.serialize()


def _stata(rng: random.Random) -> bytes:
    frame = _table(rng)
    frame.columns = [f"v{k}" for k in range(frame.shape[1])]
    try:
        return _bytes(lambda out: frame.replace([np.inf, -np.inf], 1.0).to_stata(out, write_index=False))
    except (ValueError, OverflowError):
        return b"<stata_dta>"


def value(rng: random.Random, depth: int = 3) -> Any:
    """Any JSON value."""
    way = rng.randrange(9 if depth else 6)
    if way < 3:
        return rng.choice(WORDS[:-20])
    if way < 6:
        return rng.choice([0, 1, -1, 0.5, 1e308, None, True, 10**30])
    if way < 8:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(WORDS[:20]): value(rng, depth - 1) for _ in range(rng.randrange(3))}


def _knowledge(rng: random.Random) -> dict[str, Any]:
    pairs = [["age", "dose"], ["dose", "size"], ["size", "age"], ["age", "age"], ["a", "b"], ["age"]]
    found: dict[str, Any] = {}
    for key in rng.sample(["required", "forbidden", "tiers", "prior", "roots", "reqired"], rng.randrange(4)):
        found[key] = rng.choice(
            [
                rng.sample(pairs, rng.randrange(3)),
                [["age"], ["dose", "size"]],
                [["age", "dose", rng.choice([0.5, 0.9, 0, 1, 2, -1, "x"])]],
                ["age"],
                value(rng),
            ]
        )
    return found


def _toml(found: Any) -> str:
    def text(each: Any) -> str:
        if isinstance(each, dict):
            return "{" + ", ".join(f"{json.dumps(str(k))} = {text(v)}" for k, v in each.items()) + "}"
        if isinstance(each, list):
            return "[" + ", ".join(map(text, each)) + "]"
        return json.dumps("none" if each is None else each)

    return "\n".join(f"{json.dumps(key)} = {text(each)}" for key, each in found.items())


def _deep(rng: random.Random, ending: str) -> bytes:
    n = rng.choice([50, 500, 5_000, 100_000])
    if ending == "toml":
        return rng.choice(
            [
                "tiers = " + "[" * n + "]" * n,
                "a" + ".a" * n + " = 1",
                "[a" + ".a" * n + "]",
                "x = " + "{a = " * n + "1" + "}" * n,
            ]
        ).encode()
    return rng.choice(["[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, "[" * n]).encode()


def _experiments(rng: random.Random) -> dict[str, Any]:
    return {
        rng.choice(["column", "column", "colum"]): rng.choice(["age", "dose", "none", 3]),
        "targets": rng.choice([{"red": ["age"]}, {"0": {"dose": "set"}}, {"1": "?"}, ["age"], value(rng)]),
    }


def _graph(rng: random.Random) -> bytes:
    names = rng.sample(NAMES[:6], rng.choice([1, 2, 3]))
    cells = np.triu(np.ones((len(names), len(names)), dtype=int), 1)
    if rng.random() < 0.3:
        cells = np.random.default_rng(rng.randrange(2**32)).integers(0, 2, cells.shape)
    return pd.DataFrame(cells, index=names, columns=rng.choice([names, names[::-1]])).to_csv().encode()


@cache
def _results() -> tuple[dict[str, bytes], ...]:
    """Saved results, as good ones are."""
    import tempfile
    from pathlib import Path

    from dagtune import ConditionalTuning, OptimalTuning

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["age", "dose", "size"])
    X["dose"] += X["age"] ** 2
    found = []
    for learner in (OptimalTuning(), ConditionalTuning(random_state=0)):
        with tempfile.TemporaryDirectory() as folder:
            learner.fit(X).result_.save(folder, keep_rows=True)
            with np.load(Path(folder) / "result.npz") as arrays:
                found.append({name: arrays[name] for name in arrays})
    return tuple(found)


def _result(rng: random.Random) -> bytes:
    """A saved result of which something was changed inside, so that the archive itself is whole."""
    arrays = dict(rng.choice(_results()))
    told = json.loads(arrays["description"].tobytes())
    for _ in range(rng.randrange(3)):
        key = rng.choice(sorted(told))
        way = rng.randrange(3)
        if way == 0:
            told.pop(key)
        elif way == 1:
            told[key] = value(rng)
        else:
            told[key] = _changed(rng, told[key])
    arrays["description"] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    for _ in range(rng.randrange(2)):
        key = rng.choice(sorted(arrays))
        array = arrays[key]
        arrays[key] = rng.choice(
            [
                array[:-1],
                array.ravel(),
                array.astype("U8"),
                array.astype(complex),
                np.zeros(()),
                array[None],
                np.zeros((0, 3, 3)),
            ]
        )
    return _bytes(lambda out: np.savez_compressed(out, **arrays))


def _changed(rng: random.Random, told: Any, depth: int = 4) -> Any:
    """A JSON value of which one thing deep inside is another."""
    if depth and isinstance(told, dict) and told:
        key = rng.choice(sorted(told))
        return {**told, key: _changed(rng, told[key], depth - 1)}
    if depth and isinstance(told, list) and told:
        k = rng.randrange(len(told))
        return [*told[:k], _changed(rng, told[k], depth - 1), *told[k + 1 :]]
    return value(rng)


def _cells(rng: random.Random, plain: bool) -> bytes:
    """Stored results of experiments."""
    record = {
        "cell": {
            "experiment": "fig5",
            "model": "tanh",
            "d": 10,
            "repeat": 0,
            "method": "ot",
            "recipe": "printed",
            "scale": "raw",
        },
        "settings": {},
        "seeds": {},
        "status": "ok",
        "metrics": {"sid": 3, "f1": 0.5},
        "versions": {"dagtune": "0.1"},
    }
    lines = []
    for _ in range(rng.randrange(4)):
        each = rng.choice([record, _changed(rng, record), _changed(rng, record), value(rng), {"run": 0, "shared": {}}])
        lines.append(json.dumps(each))
    raw = ("\n".join(lines) + rng.choice(["\n", ""])).encode()
    return raw if plain else lzma.compress(raw)


def _zip(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for k in range(rng.randrange(3)):
            archive.writestr(rng.choice(["t.csv", "../t.csv", "t.csv.zip", f"{k}.parquet"]), _csv(rng))
    return out.getvalue()


def _gzip(rng: random.Random) -> bytes:
    import gzip

    return gzip.compress(_csv(rng))


#: What makes a file with an ending, and what reads it.
MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    "t.csv": _csv,
    "t.tsv": _csv,
    "t.parquet": lambda rng: _arrow(rng, "parquet"),
    "t.feather": lambda rng: _arrow(rng, "feather"),
    "t.xlsx": _workbook,
    "t.json": _json_table,
    "t.jsonl": lambda rng: b"\n".join(json.dumps(value(rng)).encode() for _ in range(rng.randrange(5))),
    "t.sqlite": _sqlite,
    "t.dta": _stata,
    "t.csv.gz": _gzip,
    "t.zip": _zip,
    "k.json": lambda rng: _deep(rng, "json") if rng.random() < 0.1 else json.dumps(_knowledge(rng)).encode(),
    "k.toml": lambda rng: _deep(rng, "toml") if rng.random() < 0.1 else _toml(_knowledge(rng)).encode(),
    "e.toml": lambda rng: _deep(rng, "toml") if rng.random() < 0.1 else _toml(_experiments(rng)).encode(),
    "e.json": lambda rng: json.dumps(rng.choice([_experiments(rng), value(rng)])).encode(),
    "g.csv": _graph,
    "result/result.npz": _result,
    "cells/results.jsonl": lambda rng: _cells(rng, True),
    "packed/results.jsonl.xz": lambda rng: _cells(rng, False),
}
#: Each sort of file as often as these say.
LOADERS = [*MAKERS, "t.csv", "t.csv", "result/result.npz", "result/result.npz", "k.toml", "k.json", "t.parquet"]


def file_for(rng: random.Random, name: str, damage: float = 0.6) -> bytes:
    """The content of a file of this name; damaged with this probability."""
    content = MAKERS[name](rng)
    if rng.random() >= damage:
        return content
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(content) + 1)
        way = rng.randrange(6)
        if way == 0:
            content = content[:at]
        elif way == 1:
            content = content[:at] + rng.choice(PIECES) + content[at:]
        elif way == 2:
            content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        elif way == 3:
            content = content[:at] + content[at + rng.randrange(40) :]
        elif way == 4:
            content = content[:at] + content[max(at - rng.randrange(60), 0) :]
        else:
            content = content[:at] + rng.randbytes(rng.randrange(9)) + content[at:]
    return content[: 2**20]


# --- commands ---------------------------------------------------------------------------------------------------------


@cache
def _options() -> dict[str, list[tuple[str, bool]]]:
    """The options of every verb, and which take no value."""
    import typer

    from dagtune.cli import app

    found = {}
    for verb, made in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        own = [each for each in made.params if each.param_type_name == "option"]
        found[verb] = [(name, bool(each.is_flag)) for each in own for name in each.opts if name.startswith("--")]
    return found


#: Values of options that may mean what they say; without them nearly every command would end at its options.
SENSIBLE = {
    "--method": ["ot", "conditional"],
    "--methods": ["ot,conditional", "ges", "empty,variance-sorted", "all-and-more"],
    "--knowledge": ["k.json", "k.toml"],
    "--experiments": ["e.toml", "e.json"],
    "--truth": ["g.csv"],
    "--out": ["new", "result", "t.csv", "loop", "new/deeper", "."],
    "--columns": ["age,dose", "age"],
    "--drop": ["age", "price"],
    "--missing": ["error", "drop", "impute", "model"],
    "--bootstrap": ["0", "2", "-1"],
    "--seed": ["0", "3", "-1", str(2**40)],
    "--jobs": ["1", "2", "0"],
    "--time-limit": ["20", "0", "-3", "nan"],
    "--memory": ["1GiB", "1 kB", "-2", "x"],
    "--checkpoint": ["check", "t.csv"],
    "--required": ["age->dose", "dose->size"],
    "--forbidden": ["age->dose"],
    "--prior": ["age->dose=0.8", "age->dose=1.5"],
    "--tiers": ["age>dose", "*>age", "age,dose>*"],
    "--roots": ["age"],
    "--sep": [",", ";", "tab"],
    "--decimal": [".", ","],
    "--encoding": ["utf-8", "latin-1", "klingon"],
    "--na": ["NA", "-9"],
    "--header": ["yes", "no"],
    "--kinds": ["age=count", "dose=categorical"],
    "--nodes": ["3", "5", "0", "-1"],
    "--edges": ["2", "99", "-1"],
    "--rows": ["30", "0", "-1"],
    "--size": ["d10", "d11"],
    "--repeats": ["1", "0", "-2"],
    "--sizes": ["10", "11", "x"],
    "--cell-timeout": ["5", "0", "-1"],
}
#: They would reach out to other machines, install something, or say how much work is asked for.
LEFT_OUT = {"--scheduler", "--install-completion", "--show-completion", "--retry"}
#: Numbers that are a large amount of work if they are taken at their word.
AMOUNTS = {
    "--bootstrap",
    "--rows",
    "--nodes",
    "--jobs",
    "--bags",
    "--repeats",
    "--drop-each",
    "--time-limit",
    "--cell-timeout",
}


def command(rng: random.Random) -> tuple[list[str], dict[str, bytes]]:
    """A command and the files that stand where it runs."""
    verb = rng.choice(
        ["learn"] * 9
        + ["audit"] * 3
        + [
            "compare",
            "compare",
            "effect",
            "effect",
            "simulate",
            "simulate",
            "evaluate",
            "reproduce",
            "report",
            "report",
            "doctor",
            "lern",
        ]
    )
    rng.calm = True  # type: ignore[attr-defined]  # or next to no command would come to its end
    table = rng.choice([name for name in MAKERS if name.startswith("t.")] + ["t.csv"] * 8)
    files = {table: file_for(rng, table, 0.12), "result/result.npz": file_for(rng, "result/result.npz", 0.15)}
    sources: dict[str, list[str]] = {
        "learn": [table],
        "audit": [table],
        "compare": rng.choice([[table], ["result", "result"], [table]]),
        "effect": ["result", "--of", rng.choice(["age", "dose", "zzz"]), "--on", rng.choice(["dose", "size"])],
        "evaluate": ["g.csv", rng.choice(["g.csv", "g2.csv"])],
        "report": [rng.choice(["cells", "packed", "."])],
        "reproduce": [rng.choice(["fig55", "none", "table-3", ""])],  # a real one starts programs of its own
    }
    argv = [verb, *sources.get(verb, [])]
    options = [each for each in _options().get(verb, []) if each[0] not in LEFT_OUT]
    if verb == "compare" and "--methods" not in argv:
        argv += ["--methods", rng.choice(["ot", "empty", "conditional,variance-sorted", "ges,ot"])]
    if verb == "simulate":
        argv += ["--out", "new"]
    for option, flag in rng.sample(options, min(len(options), rng.choice([0, 0, 1, 1, 2, 3, 5]))):
        argv.append(option)
        if flag:
            continue
        plain = option in SENSIBLE and (option in AMOUNTS or rng.random() < 0.8)
        argv.append(rng.choice(SENSIBLE[option] if plain else WORDS if option not in AMOUNTS else ["-1", "x", ""]))
    way = rng.random()
    if way < 0.05:
        argv.insert(rng.randrange(1, len(argv) + 1), rng.choice(WORDS))
    elif way < 0.08:
        argv.pop(rng.randrange(len(argv)))
    for name in argv:
        if name in MAKERS and name not in files:
            files[name] = file_for(rng, name, 0.3)
    files |= {"g2.csv": _graph(rng)} if "g2.csv" in argv else {}
    if "cells" in argv:
        files["cells/results.jsonl"] = file_for(rng, "cells/results.jsonl", 0.3)
    if "packed" in argv:
        files["packed/results.jsonl.xz"] = file_for(rng, "packed/results.jsonl.xz", 0.3)
    return [each.replace("\x00", "\x01") for each in argv], files
