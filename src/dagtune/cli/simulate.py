"""`dagtune simulate` and `dagtune evaluate`: data from a known graph, and how good a guess of it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.options import DATA, Force, Json, Quiet, Seed, Spreadsheet, among, word

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["register"]

GRAPH = "Graph"
GRAPHS = ("random", "erdos-renyi", "scale-free")
#: What the shell completes: the names of the library, which loads too slowly for that. A test compares them.
MODELS = ("linear", "mlp100", "mlp2", "tanh", "sigmoid-mix", "abs", "mlp-tanh", "abs-tanh", "gp", "gp-joint")
NOISES = ("gaussian", "uniform", "exponential", "laplace", "t3", "raw-exponential")
#: How many random graphs a guess is compared with.
_DRAWS = 50


def register(app: typer.Typer) -> None:
    """Add the two verbs to the program."""
    app.command(
        "simulate", epilog="Example: dagtune simulate --out sim --nodes 10 --edges 20 --rows 1000 --model tanh"
    )(simulate)
    app.command("evaluate", epilog="Example: dagtune evaluate sim/graph.csv result/graph.csv")(evaluate)


def simulate(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for data.csv, graph.csv, settings.json.")],
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own graph.csv, not a random one.", rich_help_panel=GRAPH),
    ] = None,
    size: Annotated[
        str | None,
        word("A size of the paper: d10, d20, d25, d30, d40.", "d10", "d20", "d25", "d30", "d40", panel=GRAPH),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--graph",
            metavar="WORD",
            help="random (exactly EDGES), erdos-renyi, scale-free.",
            rich_help_panel=GRAPH,
            autocompletion=among(*GRAPHS),
        ),
    ] = "random",
    nodes: Annotated[int, typer.Option(metavar="N", min=2, help="Number of columns.", rich_help_panel=GRAPH)] = 10,
    edges: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Number of edges; default: twice the nodes.", rich_help_panel=GRAPH),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Number of rows; default: 1000.", rich_help_panel=DATA)
    ] = None,
    model: Annotated[str, word("linear, tanh, abs, mlp100, gp, ... (docs/data.md).", *MODELS, panel=DATA)] = "tanh",
    recipe: Annotated[
        str, word("printed (the paper) or released (its script).", "printed", "released", panel=DATA)
    ] = "printed",
    noise: Annotated[str | None, word("gaussian, uniform, exponential, laplace, t3, ...", *NOISES, panel=DATA)] = None,
    noise_scale: Annotated[float, typer.Option(metavar="X", help="Factor of the noise.", rich_help_panel=DATA)] = 1.0,
    standardize: Annotated[
        str,
        typer.Option(
            metavar="no|yes|internal",
            help="Scale columns at the end, or while drawing.",
            rich_help_panel=DATA,
            autocompletion=among("no", "yes", "internal"),
        ),
    ] = "no",
    seed: Seed = 0,
    spreadsheet: Spreadsheet = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a random graph and a table from it. The true graph is known, so learners can be judged."""
    from dagtune import simulate as library
    from dagtune.cli.files import refuse_taken, whole_folder, write_graph, write_rows
    from dagtune.cli.terminal import Talk
    from dagtune.files import write_whole
    from dagtune.graph import to_frame
    from dagtune.text import printable
    from dagtune.validation import check_choice

    talk = Talk(quiet=quiet, as_json=as_json)
    refuse_taken(out, force=force)
    check_choice("--standardize", standardize, ("no", "yes", "internal"))
    graph, length = _graph_and_rows(truth, size, kind, nodes, edges, rows, seed)
    with talk.progress(after=1.0) as tell:
        tell("simulating", 0.0)
        scaled: Any = {"no": False, "yes": True, "internal": "internal"}[standardize]
        X = library.sample(graph, model, length, recipe, seed, noise=noise, noise_scale=noise_scale, standardize=scaled)
        settings = {
            "graph": "given" if truth is not None else kind,
            "size": size,
            "nodes": len(graph),
            "edges": int(to_frame(graph).to_numpy().sum()),
            "rows": length,
            "model": model,
            "recipe": recipe,
            "noise": noise,
            "noise_scale": noise_scale,
            "standardize": standardize,
            "seed": seed,
        }
        with whole_folder(out, force=force) as part:
            tell("writing", 0.0)
            write_rows(part / "data.csv", list(X.columns), X.to_numpy().tolist(), spreadsheet=spreadsheet)
            write_graph(part / "graph.csv", to_frame(graph, X.columns), spreadsheet=spreadsheet)
            write_whole(part / "settings.json", json.dumps(settings, indent=2) + "\n")
    where = printable(out)
    talk.say(f"{length} rows of {len(graph)} columns, {settings['edges']} true edges, in {where}: data.csv, graph.csv")
    talk.say(f"Next: dagtune learn {where}/data.csv --truth {where}/graph.csv --out DIR", style="bold")
    talk.give("simulate", {"out": str(out), **settings})


def _graph_and_rows(
    truth: Path | None, size: str | None, kind: str, nodes: int, edges: int | None, rows: int | None, seed: int
) -> tuple[pd.DataFrame | np.ndarray, int]:
    """The graph to draw data from, and the number of rows."""
    from dagtune import simulate as library
    from dagtune.cli.reading import read_truth
    from dagtune.validation import check_choice

    if truth is not None:
        return read_truth(truth), rows or 1000
    if size is not None:
        paper = library.SIZES[check_choice("--size", size, library.SIZES)]
        nodes, edges, rows = paper.nodes, paper.edges, rows or paper.rows
    check_choice("--graph", kind, GRAPHS)
    most = nodes * (nodes - 1) // 2
    count = min(2 * nodes, most) if edges is None else edges
    if kind == "erdos-renyi":
        return library.erdos_renyi_dag(nodes, min(count / most, 1.0), rng=seed), rows or 1000
    if kind == "scale-free":
        return library.scale_free_dag(nodes, max(round(count / nodes), 1), rng=seed), rows or 1000
    return library.random_dag(nodes, count, rng=seed), rows or 1000


def evaluate(
    truth: Annotated[Path, typer.Argument(help="True graph.csv.", show_default=False)],
    guess: Annotated[Path, typer.Argument(help="Guessed graph.csv.", show_default=False)],
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure a guessed graph against the true one, with the empty and random graphs beside it."""
    from dagtune.cli.reading import read_truth
    from dagtune.cli.terminal import Talk
    from dagtune.graph import as_matrix, to_frame
    from dagtune.metrics import evaluate as measure
    from dagtune.tables import read_adjacency
    from dagtune.text import columns_of_text

    talk = Talk(as_json=as_json)
    true, frame = read_truth(truth), read_adjacency(guess)
    guessed = to_frame(as_matrix(frame), frame.columns)
    found = measure(true, guessed).as_dict()
    chance = _chance(true, int(guessed.to_numpy().sum()), seed)
    rows = [["", "guess", *chance]]
    for name, value in found.items():
        rows.append([name.replace("_", " "), _short(value), *(_short(each[name]) for each in chance.values())])
    for line in columns_of_text(rows, right=range(1, 2 + len(chance))):
        talk.say(line)
    talk.say(
        "SID, SHD, order divergence: 0 is best; the others: 1 is best. SID forgives extra edges, AuPR flatters few."
    )
    talk.give("evaluate", {"guess": found, "chance": chance})


def _chance(true: pd.DataFrame, edges: int, seed: int) -> dict[str, dict[str, float]]:
    """Measures of the empty graph, and mean measures of random ones."""
    import numpy as np

    from dagtune.metrics import evaluate as measure
    from dagtune.simulate import random_dag

    d = len(true)
    most = d * (d - 1) // 2
    streams = np.random.SeedSequence(seed).spawn(2)  # a stream of its own: simulated graphs use the bare seed

    def mean(count: int, stream: np.random.SeedSequence) -> dict[str, float]:
        rng = np.random.default_rng(stream)
        drawn = [measure(true, random_dag(d, count, rng=rng)).as_dict() for _ in range(_DRAWS)]
        return {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}

    return {
        "empty": measure(true, np.zeros((d, d), dtype=bool)).as_dict(),
        "random, as many edges": mean(min(edges, most), streams[0]),
        "random complete": mean(most, streams[1]),
    }


def _short(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) != 1 else f"{value:.2f}"
