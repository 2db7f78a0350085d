"""Whatever a user or a disk gets wrong: exit 2, one line on stderr that says what to do, never a traceback."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dagtune.cli import main

PROGRAM = [sys.executable, "-c", "import sys; from dagtune.cli import main; sys.exit(main())"]

NUMBERS = np.random.default_rng(0).normal(size=(60, 4)).round(3)
GOOD = pd.DataFrame(NUMBERS, columns=["age", "dose", "size", "price"])
GRAPH = pd.DataFrame(np.triu(np.ones((4, 4), dtype=int), 1), index=GOOD.columns, columns=GOOD.columns)

FILES = {
    "good.csv": GOOD.to_csv(index=False),
    "graph.csv": GRAPH.to_csv(),
    "empty.csv": "",
    "blank.csv": "\n\n",
    "header.csv": "a,b,c\n",
    "one-row.csv": "a,b,c\n1,2,3\n",
    "one-column.csv": "a\n1\n2\n3\n",
    "semicolons.csv": GOOD.to_csv(index=False, sep=";"),
    "twice.csv": "a,a,b\n1,2,3\n4,5,7\n",
    "index.csv": GOOD.to_csv(),
    "text.csv": "a,b,c\n1,2,red\n4,5,green\n2,2,blue\n",
    "comma.csv": "a;b\n1,5;2\n2,5;3\n1,0;4\n",
    "gaps.csv": "a,b,c\n1,,3\n4,5,6\n2,2,7\n",
    "all-gaps.csv": "a,b,c\n1,,3\n4,5,\n,2,7\n",
    "hollow.csv": "a,b,c\n1,,3\n4,,6\n2,,7\n",
    "infinite.csv": "a,b,c\n1,inf,3\n4,5,6\n2,2,7\n",
    "constant.csv": "a,b,c\n1,2,3\n4,2,6\n2,2,7\n",
    "ragged.csv": "a,b,c\n1,2,3\n4,5,6,7\n2,2,7\n",
    "unnamed.csv": "a,b\n1,2,3\n4,5,6\n2,2,7\n",
    "quote.csv": 'a,b\n1,"2\n3,4\n',
    "latin.csv": "größe,b\n1,2\n3,5\n".encode("latin-1"),
    "utf16.csv": "größe,b\n1,2\n3,5\n".encode("utf-16"),
    "rubbish.csv": bytes(range(256)) * 9,
    "rubbish.parquet": "no parquet",
    "rubbish.feather": "no feather",
    "model.pkl": "no",
    "broken.toml": "required = [[",
    "strange.toml": 'reqired = [["age", "dose"]]',
    "other.json": '{"required": [["age", "weight"]]}',
    "contrary.json": '{"required": [["age", "dose"]], "forbidden": [["age", "dose"]]}',
    "pairs.json": '{"required": ["age"]}',
    "tiers.toml": 'tiers = [["age"], ["dose"]]',
    "knowledge.txt": "age -> dose",
    "cycle.csv": ",age,dose,size,price\nage,0,1,0,0\ndose,1,0,0,0\nsize,0,0,0,0\nprice,0,0,0,0\n",
    "nodes.csv": ",a,b\na,0,1\nb,0,0\n",
    "weights.csv": ",age,dose\nage,0,0.7\ndose,0,0\n",
    "words.csv": ",age,dose\nage,0,yes\ndose,0,0\n",
    "short.csv": ",age,dose\nage,0\ndose,0,0\n",
    "loop.csv": ",age,dose\nage,1,0\ndose,0,0\n",
    "renamed.csv": ",age,DOSE\nage,0,1\ndose,0,0\n",
    "taken/mine.txt": "mine",
}

#: (arguments, words that the one line must hold).
CASES = [
    # files
    ("learn none.csv", "no file 'none.csv'"),
    ("learn taken", "is a folder"),
    ("learn folder.csv", "is a folder"),
    ("learn model.pkl", "ending must be one of"),
    ("learn empty.csv", "it is empty"),
    ("learn blank.csv", "it is empty"),
    ("learn header.csv", "0 rows.*at least 2"),
    ("learn one-row.csv", "1 row.*add rows"),
    ("learn one-column.csv", "1 column.*at least 2"),
    ("learn text.csv --method ot", "'c' is not numeric.*'red'.*drop"),
    ("learn gaps.csv", "'b' has 1 missing.*--missing 'drop'"),
    ("learn all-gaps.csv --missing drop", "0 of 3 rows have no missing.*--missing 'model'"),
    ("learn infinite.csv", "'b' has 1 infinite.*clip"),
    ("learn constant.csv", "'b' is constant.*--drop-constant"),
    ("learn ragged.csv", "line 3 of 'ragged.csv' has 4 cells.*--sep"),
    ("learn quote.csv", "can't read"),
    ("learn rubbish.csv", "not text"),
    ("learn rubbish.parquet", "can't read"),
    ("learn rubbish.feather", "can't read"),
    ("audit none.csv", "no file"),
    ("audit empty.csv", "it is empty"),
    ("audit text.csv --truth nodes.csv", "sortability needs numbers"),
    ("compare none.csv", "no file"),
    # separators and columns
    ("learn good.csv --sep ;", "one column.*--sep ','"),
    ("learn good.parquet --sep ;", "leave --sep out"),
    ("learn good.csv --sep ,,", "one character"),
    ("learn good.csv --columns age,dosis", "no column 'dosis': did you mean 'dose'"),
    ("learn good.csv --columns zzz", "no column 'zzz': the columns are 'age'"),
    ("learn good.csv --drop wieght,age", "no column"),
    ("learn good.csv --drop age,dose,size,price", "0 columns"),
    ("learn good.csv --columns age", "1 column"),
    ("learn good.csv --decimal x", "decimal sign is '.' or ','"),
    ("learn good.csv --encoding klingon", "unknown encoding 'klingon'.*--encoding 'latin-1'"),
    ("learn good.csv --query x", "one table.*leave --query out"),
    ("learn latin.csv --encoding utf-8", "can't read 'latin.csv' as utf-8.*--encoding"),
    ("learn good.csv --tiers *>*", "two stars"),
    # options
    ("learn", "which table.*--demo"),
    ("learn good.csv --demo", "--demo uses the bundled table"),
    ("learn --demo --drop raf", "--demo uses the bundled table"),
    ("learn good.csv --metod ot", "--metod.*learn --help"),
    ("learn good.csv --method", "--method.*requires an argument"),
    ("learn good.csv --method oot", "'oot': choose one of 'conditional', 'ot'"),
    ("learn good.csv --method ot --kernel gausian", "did you mean 'gaussian'"),
    ("learn good.csv --method ot --preset papers", "did you mean 'paper'"),
    ("learn good.csv --method ot --noise free", "--noise belongs to --method conditional"),
    ("learn good.csv --kernel gaussian", "--kernel belongs to --method ot"),
    ("learn good.csv --method ot --categorical age", "--categorical belongs to --method conditional"),
    ("learn good.csv --categorical agee", "no column 'agee': did you mean 'age'"),
    ("learn good.csv --missing ignore", "'error', 'drop', 'impute', 'model'"),
    ("learn good.csv --groups agee", "--groups 'agee' is not a column"),
    ("learn good.csv --merge age", "--merge takes a new name"),
    ("learn good.csv --experiments nothing.toml", "no file of experiments 'nothing.toml'"),
    ("learn good.csv --bootstrap -3", "--bootstrap.*0"),
    ("learn good.csv --bootstrap many", "--bootstrap.*integer"),
    ("learn good.csv --seed x", "--seed.*integer"),
    ("learn good.csv --jobs 0", "--jobs"),
    ("learn good.csv extra.csv", "extra.csv"),
    ("lern good.csv", "lern"),
    ("simulate", "--out"),
    ("simulate --out new --nodes 3 --edges 9", "at most 3"),
    ("simulate --out new --model tahn", "did you mean 'tanh'"),
    ("simulate --out new --model mlp2 --recipe released", "no recipe 'released'"),
    ("simulate --out new --size d11", "'d10'"),
    ("simulate --out new --noise-scale -1", "--noise-scale|noise_scale"),
    ("simulate --out new --standardize maybe", "'no', 'yes', 'internal'"),
    ("simulate --out new --graph tree", "'erdos-renyi'"),
    ("simulate --out new --truth cycle.csv", "cycle"),
    ("compare good.csv --methods gess", "did you mean 'ges'"),
    ("compare good.csv --methods ges --time-limit 0", "--time-limit is a positive"),
    # knowledge
    ("learn good.csv --knowledge none.toml", "no file of knowledge"),
    ("learn good.csv --knowledge knowledge.txt", ".toml or .json"),
    ("learn good.csv --knowledge broken.toml", "fix the file"),
    ("learn good.csv --knowledge strange.toml", "did you mean 'required'"),
    ("learn good.csv --knowledge other.json", "'weight', which is not a column"),
    ("learn good.csv --knowledge contrary.json", "both required and forbidden"),
    ("learn good.csv --knowledge pairs.json", "pairs"),
    ("learn good.csv --knowledge tiers.toml --tiers age>dose", "keep one of the two"),
    ("learn good.csv --require age", 'such as "a->b"'),
    ("learn good.csv --require age->weight", "'weight', which is not a column"),
    ("learn good.csv --require age->age", "to itself"),
    ("learn good.csv --require age->dose --require dose->age", "cycle"),
    ("learn good.csv --require age->dose --forbid age->dose", "both required and forbidden"),
    ("learn good.csv --tiers age>weight", "no column 'weight'"),
    ("learn good.csv --tiers age,dose>age", "'age' appears twice"),
    ("learn good.csv --tiers dose>age --require age->dose", "leads from tier 2 back"),
    # graphs
    ("learn good.csv --truth none.csv", "no file"),
    ("learn good.csv --truth empty.csv", "is empty"),
    ("learn good.csv --truth good.csv", "not a graph"),
    ("learn good.csv --truth cycle.csv", "cycle .age -> dose -> age"),
    ("learn good.csv --truth nodes.csv", "data do not have|does not have"),
    ("learn good.csv --truth latin.csv", "not UTF-8"),
    ("evaluate graph.csv nodes.csv", "4 nodes and the guess 2"),
    ("evaluate weights.csv weights.csv", "threshold"),
    ("evaluate words.csv graph.csv", "0 and 1"),
    ("evaluate short.csv graph.csv", "'age'.*1 numbers for 2 nodes"),
    ("evaluate loop.csv loop.csv", "self-loop"),
    ("evaluate renamed.csv renamed.csv", "same nodes"),
    ("evaluate graph.csv", "guess|GUESS"),
    # where it should go
    ("learn good.csv --out taken", "not empty.*--force"),
    ("learn good.csv --out good.csv", "is a file.*--out"),
    ("learn good.csv --out good.csv/deeper", "can't write.*--out"),
    ("simulate --out taken", "not empty"),
    ("simulate --out /proc/dagtune", "check the path|permission|can't write"),
    ("compare good.csv --methods empty --out taken", "not empty"),
    (f"simulate --out {'x' * 300}", "too long"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with everything that can be wrong."""
    folder = tmp_path_factory.mktemp("desk")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "folder.csv").mkdir()
    GOOD.to_parquet(folder / "good.parquet")
    return folder


def assert_one_line(text, words):
    import re

    assert text.count("\n") == 1, text
    assert text.startswith("dagtune: ")
    assert "Traceback" not in text
    assert "our fault" not in text
    assert re.search(words, text), text


def test_there_are_many_cases():
    assert len({arguments for arguments, _ in CASES}) >= 80


@pytest.mark.parametrize(("arguments", "words"), CASES, ids=[arguments[:60] for arguments, _ in CASES])
def test_a_mistake_gives_one_line_and_exit_2(desk, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(desk)
    before = sorted(desk.rglob("*"))
    assert main(arguments.split(" ")) == 2
    assert_one_line(capsys.readouterr().err, words)
    assert sorted(desk.rglob("*")) == before


def run(arguments, folder, **options):
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=600, check=False, **options
    )


@pytest.mark.parametrize("arguments", ["learn none.csv", "audit text.csv --columns x", "lern", "evaluate a.csv b.csv"])
def test_the_real_program_gives_the_same_line(desk, arguments):
    done = run(arguments.split(), desk)
    assert done.returncode == 2
    assert_one_line(done.stderr, ".")


def test_a_full_disk_gives_one_line_and_leaves_nothing(desk, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    out = tmp_path / "out"
    done = run(["simulate", "--rows", "5000", "--out", str(out)], desk, preexec_fn=small_files)
    assert done.returncode == 2
    assert_one_line(done.stderr, "file grew over the size.*another disk")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_under_stdout_gives_one_line(desk):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, "evaluate", "graph.csv", "graph.csv"], cwd=desk, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert_one_line(done.stderr, "disk is full")


def test_a_disk_that_fills_up_while_files_are_written_leaves_nothing(desk, tmp_path, monkeypatch, capsys):
    from dagtune.cli import files

    def full(path, *args, **kwargs):
        Path(path).write_text("half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(files, "write_graph", full)
    assert main(["simulate", "--rows", "50", "--out", str(tmp_path / "out")]) == 2
    assert_one_line(capsys.readouterr().err, "disk is full: free some space")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_ends_the_program_quietly(desk):
    program = subprocess.Popen([*PROGRAM, "audit", "good.csv", "--json"], cwd=desk, stdout=-1, stderr=-1, text=True)
    program.stdout.close()
    assert program.stderr.read() == ""
    assert program.wait(timeout=300) == 2


def test_our_own_mistakes_exit_1_and_ask_for_a_report(desk, monkeypatch, capsys):
    from dagtune.cli import files

    monkeypatch.setattr(files, "refuse_taken", lambda *args, **kwargs: 1 / 0)
    assert main(["simulate", "--out", "new"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ZeroDivisionError" in error
    assert "report it" in error
    monkeypatch.setenv("DAGTUNE_DEBUG", "1")
    assert main(["simulate", "--out", "new"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_file_that_may_not_be_read_is_refused(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)

    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied", "good.csv")

    monkeypatch.setattr(pd, "read_csv", refused)
    assert main(["learn", "good.csv"]) == 2
    assert_one_line(capsys.readouterr().err, "no permission")


def test_a_table_too_large_for_memory_is_the_machines_limit(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)

    def too_large(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(pd, "read_csv", too_large)
    assert main(["learn", "good.csv"]) == 2
    assert_one_line(capsys.readouterr().err, "memory.*--columns")


def test_names_in_errors_are_escaped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("evil.csv").write_text("a\x1b[31m,b\n1,1\n1,2\n")
    assert main(["learn", "evil.csv"]) == 2
    assert main(["learn", "no\x1b[2J\n.csv"]) == 2
    assert "\x1b" not in (error := capsys.readouterr().err)
    assert error.count("\n") == 2
