"""How much an answer depends on what should not matter: a few rows, names, units, columns of noise.

``python -m benchmarks.stability --former CHECKOUT --real FOLDER`` prints, for this checkout's learner and the former:

dropped   1 % of the rows left out: of the edges above 0.9, how many turn (the reverse above 0.5) or fall (below 0.5)
same      rows permuted; columns permuted and renamed; columns rescaled under ``noise="free"``: largest difference of
          probabilities (whole-numbered columns keep their scale, because it is part of their kind)
noise     six columns of noise added to 400 rows and 16 columns: edges of the default graph at them
permuted  all columns of a real table permuted independently: edges of the default graph
halves    two random halves of the rows of a real table: of the edges above 0.9 in one, how many are above 0.5 in the
          other

The twenty named tables are ``benchmarks.tables``' eighteen drawn ones and the two bundled ones; --real adds its own.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.generators import MECHANISMS, Setting
from benchmarks.side_by_side import Answer, Task, add_arguments, ask_all, checkouts, markdown
from benchmarks.tables import Make, bundled_tables, drawn_tables, real_tables

#: Above SURE an edge counts as said, below HALF as taken back.
SURE, HALF = 0.9, 0.5
DROPPED = 0.01
#: The table that columns of noise are added to.
ROWS, COLUMNS = 400, 16
#: Scales a column may be rescaled by: powers of ten.
DECADES = 3.0


def _generator(part: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([*part.encode(), *numbers])


def _some_rows(make: Make, chosen: Callable[[int], np.ndarray]) -> Make:
    def made() -> pd.DataFrame:
        X = make()
        return X.iloc[np.sort(chosen(len(X)))].reset_index(drop=True)

    return made


# --- 1 % of the rows ------------------------------------------------------------------------------------------------


def dropped(asked: argparse.Namespace) -> str:
    tables = _chosen({**drawn_tables(asked.seed), **bundled_tables(), **real_tables(asked.real)}, asked)
    tasks = []
    for name, make in tables.items():
        tasks.append(Task((name, -1), make))
        for draw in range(asked.draws):
            rng = _generator("dropped", asked.seed, draw)
            lost = lambda n, rng=rng: rng.permutation(n)[max(round(DROPPED * n), 1) :]  # noqa: E731
            tasks.append(Task((name, draw), _some_rows(make, lost)))
    whole: dict[tuple[str, str], Answer] = {}
    counts: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(4, dtype=int))
    for task, answers in ask_all(tasks, asked):
        name, draw = task.name
        for learner, answer in answers.items():
            if draw < 0:
                whole[learner, name] = answer
                continue
            before = whole[learner, name]
            sure, now = before.probability > SURE, answer.probability
            turned = sure & (now.T > HALF)
            fallen = sure & (now < HALF) & ~turned
            changed = not np.array_equal(before.graph, answer.graph)
            counts[learner, name] += [sure.sum(), turned.sum(), fallen.sum(), changed]
    named = _chosen({**drawn_tables(asked.seed), **bundled_tables()}, asked, least=0)
    groups = {name: [name] for name in tables} | {f"all {len(named)} named": [*named], f"all {len(tables)}": [*tables]}
    rows = []
    for group, names in groups.items():
        row: list[Any] = [group]
        for learner in checkouts(asked):
            edges, turned, fallen, changed = sum((counts[learner, name] for name in names), np.zeros(4, dtype=int))
            share = f"{100 * (turned + fallen) / max(edges, 1):.2f} %"
            draws = asked.draws * len(names)
            row += [f"{edges / max(draws, 1):.1f}", f"{turned} + {fallen} = {share}", f"{changed} of {draws}"]
        rows.append(row)
    head = [f"{who}: {what}" for who in checkouts(asked)
            for what in (f"edges above {SURE}", "turned + fallen", "graph changed")]  # fmt: skip
    title = f"### 1 % of the rows dropped, {asked.draws} draws a table (at most 1 % may turn or fall)\n\n"
    return title + markdown(["table", *head], rows)


# --- what must not matter -------------------------------------------------------------------------------------------


def same(asked: argparse.Namespace) -> str:
    tables = _chosen({**drawn_tables(asked.seed), **bundled_tables(), **real_tables(asked.real)}, asked)
    tasks = []
    for k, (name, make) in enumerate(tables.items()):
        rng = _generator("same", asked.seed, k)
        X = make()
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        mixed = X.iloc[:, columns].set_axis([f"v{j}" for j in range(X.shape[1])], axis=1)
        factors = 10 ** rng.uniform(-DECADES, DECADES, X.shape[1])
        whole = (X.round() == X).all().to_numpy()
        rescaled = X.astype({n: "float64" for n, w in zip(X.columns, whole) if not w}) * np.where(whole, 1, factors)
        rescaled = rescaled.astype({n: X[n].dtype for n, w in zip(X.columns, whole) if w})
        tasks += [
            Task((name, "as it is", None), lambda X=X: X),
            Task((name, "rows", None), lambda X=X, rows=rows: X.iloc[rows].reset_index(drop=True)),
            Task((name, "columns", np.argsort(columns)), lambda mixed=mixed: mixed),
            Task((name, "as it is, free", None), lambda X=X: X, {"noise": "free"}),
            Task((name, "scales", None), lambda rescaled=rescaled: rescaled, {"noise": "free"}),
        ]
    against = {"rows": "as it is", "columns": "as it is", "scales": "as it is, free"}
    found: dict[tuple[str, str, str], np.ndarray] = {}
    for task, answers in ask_all(tasks, asked):
        name, what, back = task.name
        for learner, answer in answers.items():
            P = answer.probability
            found[learner, name, what] = P if back is None else P[np.ix_(back, back)]
    rows_ = [
        [name, *(_farthest(found, who, name, what, before) for who in checkouts(asked)
                 for what, before in against.items())]
        for name in tables
    ]  # fmt: skip
    worst = ["largest", *(max(column) for column in list(zip(*rows_))[1:])]
    head = [f"{who}: {what}" for who in checkouts(asked) for what in against]
    return "### Permuted, renamed, rescaled: largest difference of probabilities\n\n" + markdown(
        ["table", *head], [*rows_, worst]
    )


def _farthest(found: dict[tuple[str, str, str], np.ndarray], who: str, name: str, what: str, before: str) -> float:
    return float(np.abs(found[who, name, what] - found[who, name, before]).max())


# --- noise ----------------------------------------------------------------------------------------------------------


def with_noise(seed: int, draw: int) -> pd.DataFrame:
    """A drawn table (the mechanism changes from draw to draw) and six columns that have nothing to do with it."""
    rng = _generator("noise", seed, draw)
    mechanism = list(MECHANISMS)[draw % len(MECHANISMS)]
    X, _ = Setting(mechanism, ("raw", "standardised")[draw % 2], nodes=COLUMNS, rows=ROWS).draw(1000 * seed + draw)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    return table.assign(
        gaussian=rng.normal(size=ROWS),
        heavy=rng.standard_t(2, size=ROWS),
        skewed=rng.exponential(size=ROWS),
        uniform=rng.uniform(size=ROWS),
        binary=rng.integers(0, 2, size=ROWS),
        permuted=rng.permutation(X[:, int(rng.integers(COLUMNS))]),
    )


def noise(asked: argparse.Namespace) -> str:
    tasks = [Task(draw, lambda draw=draw: with_noise(asked.seed, draw)) for draw in range(asked.draws)]
    edges: dict[str, list[int]] = defaultdict(list)
    kinds: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(6, dtype=int))
    for _, answers in ask_all(tasks, asked):
        for learner, answer in answers.items():
            at = answer.graph | answer.graph.T
            edges[learner].append(int(at.sum() - at[:COLUMNS, :COLUMNS].sum()) // 2)
            kinds[learner] += at[COLUMNS:].sum(axis=1)
    rows = [
        [who, f"{sum(n <= 1 for n in many)} of {len(many)}", " ".join(map(str, many)), " ".join(map(str, kinds[who]))]
        for who, many in edges.items()
    ]
    names = ", ".join(with_noise(asked.seed, 0).columns[COLUMNS:])
    title = f"### Six columns of noise beside {ROWS} rows, {COLUMNS} columns (at most one edge in 19 of 20)\n\n"
    return title + markdown(["learner", "at most one edge", "edges at them, by draw", f"in all at {names}"], rows)


def permuted(asked: argparse.Namespace) -> str:
    tables = _chosen({**bundled_tables(), **real_tables(asked.real)}, asked)

    def mixed(make: Make, draw: int) -> pd.DataFrame:
        rng = _generator("permuted", asked.seed, draw)
        return make().apply(lambda column: rng.permutation(column.to_numpy()))

    tasks = [Task(name, lambda make=make, draw=draw: mixed(make, draw))
             for name, make in tables.items() for draw in range(asked.draws)]  # fmt: skip
    edges: dict[tuple[str, str], list[int]] = defaultdict(list)
    for task, answers in ask_all(tasks, asked):
        for learner, answer in answers.items():
            edges[learner, task.name].append(int(answer.graph.sum()))
    rows = []
    for name in tables:
        row = [name]
        for learner in checkouts(asked):
            many = edges[learner, name]
            row += [f"{sum(n == 0 for n in many)} of {len(many)}", " ".join(map(str, many))]
        rows.append(row)
    head = [f"{who}: {what}" for who in checkouts(asked) for what in ("no edge", "edges by draw")]
    title = "### Columns of real tables permuted independently (no edge in 19 of 20)\n\n"
    return title + markdown(["table", *head], rows)


# --- halves ---------------------------------------------------------------------------------------------------------


def halves(asked: argparse.Namespace) -> str:
    tables = _chosen({**bundled_tables(), **real_tables(asked.real)}, asked)

    def half(make: Make, draw: int, which: int) -> Make:
        mixed = lambda n: _generator("halves", asked.seed, draw).permutation(n)  # noqa: E731
        return _some_rows(make, lambda n: mixed(n)[: n // 2] if which == 0 else mixed(n)[n // 2 :])

    tasks = [Task((name, which), half(make, draw, which))
             for name, make in tables.items() for draw in range(asked.draws) for which in (0, 1)]  # fmt: skip
    counts: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(3, dtype=int))
    for (task, first), (_, second) in _in_twos(ask_all(tasks, asked)):
        for learner in first:
            for one, other in ((first, second), (second, first)):
                sure, there = one[learner].probability > SURE, other[learner].probability
                agree, turned = sure & (there > HALF), sure & (there.T > HALF)
                counts[learner, task.name[0]] += [sure.sum(), agree.sum(), turned.sum()]
    rows = []
    for name in [*tables, "all"]:
        row: list[Any] = [name]
        for learner in checkouts(asked):
            edges, agree, turned = sum(n for (who, which), n in counts.items()
                                       if who == learner and name in (which, "all"))  # fmt: skip
            row += [int(edges), f"{100 * agree / edges:.1f} %" if edges else "", int(turned)]
        rows.append(row)
    head = [f"{who}: {what}" for who in checkouts(asked) for what in (f"edges above {SURE}", "agree", "turned")]
    title = f"### Random halves of real tables, {asked.draws} draws (nine in ten agree)\n\n"
    return title + markdown(["table", *head], rows)


def _in_twos(some: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    steps = iter(some)
    return zip(steps, steps)


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {
    part.__name__: part for part in (dropped, same, noise, permuted, halves)
}
#: Draws a table, by part.
DRAWS = {"dropped": 10, "same": 1, "noise": 20, "permuted": 20, "halves": 5}


def _chosen(tables: dict[str, Make], asked: argparse.Namespace, least: int = 1) -> dict[str, Make]:
    """The tables whose names contain one of the words that were given."""
    words = asked.tables.split(",") if asked.tables else [""]
    found = {name: make for name, make in tables.items() if any(word in name for word in words)}
    if len(found) < least:
        raise SystemExit(f"no table has {asked.tables!r} in its name: choose among {'; '.join(tables)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__.partition("\n")[0])
    add_arguments(parser, real=True)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"any of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=0, help="of the drawn tables and of all draws")
    parser.add_argument("--draws", type=int, help=f"a table, instead of {DRAWS}")
    parser.add_argument("--tables", help="only tables whose names contain one of these words (commas between)")
    asked = parser.parse_args()
    draws = asked.draws
    for part in asked.parts.split(","):
        asked.draws = draws or DRAWS[part]
        print(PARTS[part](asked), flush=True)


if __name__ == "__main__":
    main()
