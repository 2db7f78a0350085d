"""The sections of the reproduction page: stored numbers beside published ones, in the paper's layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dagtune.experiments import (
    ALWAYS,
    EXPERIMENTS,
    METHODS,
    NO_RECIPE,
    PHASES,
    Experiment,
    from_uncommitted_code,
    published,
    recipes_of,
)
from dagtune.report.reproduction.figure import draw_fig5
from dagtune.report.reproduction.numbers import Numbers, Setting, every_row, label_of
from dagtune.report.reproduction.page import Block, Figure, Heading, Table, Text
from dagtune.report.reproduction.verdicts import RULE, Verdict

__all__ = ["all_numbers", "cuts", "origin", "scale_word", "tables"]

#: The paper's columns, and our method for each.
_RIVALS = {"OT": "ot", "NOTEARS": "notears-mlp", "NPVAR": "npvar", "CAM": "cam", "GES": "ges"}
_METRICS = {"sid": "SID", "aupr": "AuPR", "edges": "edges"}


def scale_word(standardized: bool) -> str:
    """The name of the columns' scale on the page."""
    return "standardised" if standardized else "raw"


def origin(numbers: Numbers) -> list[Block]:
    """Where the numbers come from: how many cells, with which versions, when."""
    status = Counter(record["status"] for record in numbers.records)
    seconds = sum(record.get("cpu_seconds") or 0.0 for record in numbers.records)
    finished = sorted(record["finished"][:10] for record in numbers.records)
    versions: dict[str, set[str]] = {}
    for record in numbers.records:
        for name, version in record.get("versions", {}).items():
            versions.setdefault(name, set()).add(version)
    told = ", ".join(f"{name} {' and '.join(sorted(found))}" for name, found in versions.items() if name != "commit")
    unknown = sum(map(from_uncommitted_code, numbers.records))
    warned = f" {unknown} cells were computed by code that was never committed." if unknown else ""
    return [
        Text(
            f"{len(numbers.records)} cells: {status['ok']} finished, {status['timeout']} timed out, {status['failed']} "
            f"failed; {seconds / 3600:.2f} processor hours; {finished[0]} to {finished[-1]}; {told}. Every number of "
            "ours is the mean ± standard deviation over the repeats (their number is in brackets) of the cells stored "
            "next to this page; **not run** marks what has not been run yet. `dagtune report` wrote this page from "
            f"them.{warned}"
        )
    ]


def tables(numbers: Numbers) -> list[Block]:
    """All tables and the figure, in the paper's order."""
    blocks: list[Block] = []
    for experiment in EXPERIMENTS.values():
        blocks.append(Heading(2, experiment.title))
        for recipe, standardized in _views(experiment, numbers):
            data = "" if recipe == NO_RECIPE else f"{recipe.capitalize()} recipe, "
            blocks.append(Heading(3, f"{data}{scale_word(standardized)} data".capitalize()))
            blocks += _view(experiment, numbers, recipe, standardized)
        if not _views(experiment, numbers):
            blocks.append(Text(f"Not run yet: `dagtune reproduce {experiment.name}`."))
    return blocks


def _views(experiment: Experiment, numbers: Numbers) -> list[tuple[str, bool]]:
    """Recipe and scale of everything that was run, the paper's formulas first, raw data first."""
    return sorted(numbers.views(experiment.name))


def _view(experiment: Experiment, numbers: Numbers, recipe: str, standardized: bool) -> list[Block]:
    if experiment.phases:
        return [_phases(experiment, numbers, recipe, standardized)]
    if experiment.told:
        return [_told(experiment, numbers, standardized)]
    if experiment.real:
        return [_real(experiment, numbers, standardized)]
    blocks: list[Block] = []
    if experiment.name == "fig5":
        name = f"fig5-{recipe}-{scale_word(standardized)}.svg"
        caption = f"Fig. 5 again, {recipe} recipe, {scale_word(standardized)} data; diamonds are the published numbers"
        blocks.append(Figure(name, draw_fig5(numbers, recipe, standardized), caption))
    head = [*_RIVALS, *map(label_of, ALWAYS)]
    columns = [*_RIVALS.values(), *ALWAYS]
    blocks.append(_sized(experiment, numbers, recipe, standardized, head, columns, with_published=not standardized))
    others = [name for name in every_row() if name not in columns and numbers.has_method(experiment.name, name)]
    if others:
        words = list(map(label_of, others))
        blocks.append(Text("Methods that are not in the paper's table:"))
        blocks.append(_sized(experiment, numbers, recipe, standardized, words, others, with_published=False))
    return blocks


def _sized(
    experiment: Experiment,
    numbers: Numbers,
    recipe: str,
    standardized: bool,
    head: Sequence[str],
    methods: Sequence[str],
    *,
    with_published: bool,
) -> Table:
    """Rows by model, size and measure, published numbers above ours; one column for each method."""
    told = {(p.model, p.nodes, p.metric, p.method): p.text for p in published() if p.experiment == experiment.name}
    rows: list[list[str]] = []
    for model in experiment.models:
        if recipe not in recipes_of(experiment, model):
            continue
        for nodes in experiment.sizes:
            setting = Setting(experiment.name, model, nodes, recipe, standardized)
            data = f"{model}, d = {nodes}"
            for metric in ("sid", "aupr"):
                theirs = [told.get((model, nodes, metric, name), "") for name in head]
                if with_published and any(theirs):
                    rows.append([data, f"{_METRICS[metric]} published", *theirs])
                    data = ""
                ours = [str(numbers.of(setting, method, metric)) for method in methods]
                rows.append([data, f"{_METRICS[metric]} ours", *ours])
                data = ""
            ranked = [numbers.of(setting, method, "aupr_ranked") for method in methods]
            if any(number.n for number in ranked):
                rows.append(["", "AuPR of scores", *(str(number) if number.n else "" for number in ranked)])
            lower, upper = (numbers.of(setting, "ges", f"sid_{end}", "class") for end in ("lower", "upper"))
            if "ges" in methods and lower.n:
                span = f"{lower.mean:.1f} to {upper.mean:.1f}"
                rows.append(["", "SID of the class", *(span if method == "ges" else "" for method in methods)])
    return Table(["data", "measure", *head], rows)


def _phases(experiment: Experiment, numbers: Numbers, recipe: str, standardized: bool) -> Table:
    """Table II: one row for each phase of OT, then one for each other method."""
    told = {(p.phase, p.metric): p.text for p in published() if p.experiment == experiment.name}
    (model,), (nodes,) = experiment.models, experiment.sizes
    setting = Setting(experiment.name, model, nodes, recipe, standardized)
    rows = []
    for phase in PHASES:
        ours = [str(numbers.of(setting, "ot", metric, phase)) for metric in ("sid", "aupr", "edges")]
        rows.append([f"OT after {phase}", told[phase, "sid"], ours[0], told[phase, "aupr"], ours[1], ours[2]])
    others = [name for name in every_row() if name != "ot" and numbers.has_method(experiment.name, name)]
    for method in others:
        ours = [str(numbers.of(setting, method, metric)) for metric in ("sid", "aupr", "edges")]
        rows.append([label_of(method), "", ours[0], "", ours[1], ours[2]])
    return Table(["graph", "SID published", "SID ours", "AuPR published", "AuPR ours", "edges ours"], rows)


def _real(experiment: Experiment, numbers: Numbers, standardized: bool) -> Table:
    """The real-data table: one row for each method. Ames has no known graph, so only edges are counted."""
    (nodes,) = experiment.sizes
    told = {(p.model, p.metric, p.method): p.text for p in published() if p.experiment == experiment.name}
    names = {method: name for name, method in _RIVALS.items()}
    rows = []
    for method in every_row():
        if not numbers.has_method(experiment.name, method) and method not in names:
            continue
        row = [label_of(method)]
        for model, metric in (("sachs", "sid"), ("sachs", "aupr"), ("sachs", "edges"), ("ames", "edges")):
            setting = Setting(experiment.name, model, nodes, NO_RECIPE, standardized)
            theirs = told.get((model, metric, names.get(method, "")), "")
            row += [theirs, str(numbers.of(setting, method, metric))]
        rows.append(row)
    columns = ["Sachs SID", "Sachs AuPR", "Sachs edges", "house edges"]
    return Table(["method", *(f"{c} {w}" for c in columns for w in ("published", "ours"))], rows)


#: What is shown beside methods that are told the conditions: the same without, another method, and chance.
_POOLED = ("conditional", "conditional-order", "cam", "random-complete", "empty")


def _told(experiment: Experiment, numbers: Numbers, standardized: bool) -> Table:
    """Methods that are told the conditions of the rows, and below them methods that see all rows as alike."""
    (nodes,), (model,) = experiment.sizes, experiment.models
    rows = []
    for name, methods, how in (
        (experiment.name, every_row(), "told the conditions"),
        ("table-real", _POOLED, "rows pooled"),
    ):
        setting = Setting(name, model, nodes, NO_RECIPE, standardized)
        for method in methods:
            if numbers.has_method(name, method):
                found = (str(numbers.of(setting, method, metric)) for metric in ("sid", "f1", "edges"))
                rows.append([label_of(method), how, *found])
    return Table(["method", "rows", "SID", "F1", "edges"], rows)


def all_numbers(judged: Sequence[Verdict], numbers: Numbers) -> list[Block]:
    """One row for each published number, with its verdict."""
    counts = Counter(verdict.verdict for verdict in judged)
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    rows = []
    for verdict in judged:
        p = verdict.published
        experiment = EXPERIMENTS[p.experiment]
        cells = []
        for recipe in ("printed", "released"):
            recipe = NO_RECIPE if experiment.real and recipe == "printed" else recipe
            setting = Setting(p.experiment, p.model, p.nodes, recipe, False)
            has = recipe in recipes_of(experiment, p.model)
            cells.append(str(numbers.of(setting, _RIVALS[p.method], p.metric, p.phase)) if has else "no such recipe")
            if recipe != "released":
                chance = str(numbers.of(setting, "random-complete", p.metric))
        method = p.method if p.phase is None else f"{p.method} after {p.phase}"
        why = f"{verdict.by}: {verdict.why}" if verdict.by else verdict.why
        note = f" ({p.note})" if p.note else ""
        what = [str(p.row), p.experiment, f"{p.model}, d = {p.nodes}", method, _METRICS[p.metric], p.text + note]
        rows.append([*what, *cells, chance, f"**{verdict.verdict}**", why])
    head = ["", "experiment", "data", "method", "measure", "published", "ours, printed recipe (or real)"]
    head += ["ours, released recipe", "random complete DAG", "verdict", "why"]
    return [Heading(2, f"All {len(judged)} published numbers"), Text(f"{RULE}\n\n{told}."), Table(head, rows)]


def cuts(numbers: Numbers) -> list[Block]:
    """What was left out: cells that timed out or failed, by method and setting, each with its reason."""
    gone: Counter[tuple[str, ...]] = Counter()
    for record in numbers.records:
        if record["status"] != "ok":
            cell = record["cell"]
            data = f"{cell['model']} {'' if cell['recipe'] == NO_RECIPE else cell['recipe']}".strip()
            gone[
                cell["experiment"],
                f"{data}, {scale_word(cell['standardized'])}, d = {cell['nodes']}",
                label_of(cell["method"]),
                record["status"],
                record["reason"],
            ] += 1
    blocks: list[Block] = [Heading(2, "What was left out")]
    short = _short_rows(numbers)
    if short:
        blocks.append(Text("Methods that were run on fewer tables than others (smallest number over the models):"))
        blocks.append(Table(["experiment", "data", "method", "tables by size", "of"], short))
    if not gone:
        return [*blocks, Text("Nothing timed out and nothing failed.")]
    rows = [[*what, str(count)] for what, count in sorted(gone.items())]
    blocks.append(Text("Cells that timed out or failed:"))
    return [*blocks, Table(["experiment", "data", "method", "status", "reason", "repeats"], rows)]


def _short_rows(numbers: Numbers) -> list[list[str]]:
    """Methods that were tried on fewer tables of a size than other methods."""
    rows = []
    for experiment in EXPERIMENTS.values():
        if not experiment.own_sizes:
            continue
        for recipe, standardized in _views(experiment, numbers):
            models = [model for model in experiment.models if recipe in recipes_of(experiment, model)]
            tried = {
                method: [
                    min(
                        numbers.of(Setting(experiment.name, model, d, recipe, standardized), method, "sid").tried
                        for model in models
                    )
                    for d in experiment.sizes
                ]
                for method in METHODS
                if METHODS[method].default or numbers.has_method(experiment.name, method)
            }
            most = [max(counts) for counts in zip(*tried.values())]
            data = f"{recipe}, {scale_word(standardized)}"
            for method, counts in tried.items():
                if counts != most:
                    told = " / ".join(map(str, counts))
                    rows.append([experiment.name, data, label_of(method), told, " / ".join(map(str, most))])
    return rows
