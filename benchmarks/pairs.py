"""Real pairs of cause and effect: how often the direction is right, and the record of such margins that is shipped.

``python -m benchmarks.pairs --former CHECKOUT --real FOLDER`` reads ``pairs.csv.gz`` (pair, a, b) and
``pairs-truth.csv`` (pair, weight, cause, source) of the folder. Rows that are not finite are dropped. A direction is
the sign of the margin a row, ``result_.margin``; a learner without one is judged by a stand-in, log P(a -> b) /
P(b -> a), each at least 1e-12, over the rows, and by its order where the two are alike. A margin of 0 is half right.

The record is the probability that a direction with margin m a row is right: 1/2 at m = 0, at most two parameters,
fitted by maximum likelihood with the pairs' weights. It is judged on sources that it was not fitted on, each left out
in turn, beside a constant fitted in the same way. All intervals hold 90 % of draws of the sources with replacement.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special

from benchmarks.side_by_side import Answer, Task, add_arguments, ask_all, checkouts, markdown

DRAWS = 4000
#: One source under two spellings.
SPELLINGS = {"B.Janzing": "B. Janzing"}
LEAST = 1e-12
#: A left-out pair is never said to be right with less or more than this.
LIMITS = (0.01, 0.99)


class Form(NamedTuple):
    """A curve P(right | m): in words, as a function of positive parameters and m >= 0, starts and most of each."""

    words: str
    curve: Callable[[np.ndarray, np.ndarray], np.ndarray]
    starts: tuple[tuple[float, ...], ...]
    most: tuple[float, ...]


#: All are 1/2 at m = 0 and rise with m; the first three have one parameter.
FORMS = {
    "line": Form("1 / (1 + exp(-a m))", lambda t, m: special.expit(t[0] * m), ((1.0,), (20.0,)), (1e3,)),
    "root": Form("1 / (1 + exp(-a m^1/2))", lambda t, m: special.expit(t[0] * np.sqrt(m)), ((1.0,), (5.0,)), (1e3,)),
    "rise": Form("1/2 + 1/2 m / (m + a)", lambda t, m: 0.5 + 0.5 * m / (m + t[0]), ((0.05,), (0.5,)), (1e3,)),
    "power": Form(
        "1 / (1 + exp(-a m^b))", lambda t, m: special.expit(t[0] * m ** t[1]), ((1.0, 0.3), (2.0, 1.0)), (1e3, 2.0)
    ),
    "logarithm": Form(
        "1 / (1 + (1 + m / b)^-a)",
        lambda t, m: special.expit(t[0] * np.log1p(m / t[1])),
        ((0.3, 0.01), (1.0, 0.1)),
        (1e3, 1e3),
    ),
    "saturating": Form(
        "1/2 + 1/2 c m / (m + b), c = a / (1 + a)",
        lambda t, m: 0.5 + 0.5 * t[0] / (1 + t[0]) * m / (m + t[1]),
        ((1.0, 0.01), (1.0, 0.1)),
        (1e3, 1e3),
    ),
}


# --- the pairs ------------------------------------------------------------------------------------------------------


def read_pairs(folder: str) -> tuple[pd.DataFrame, dict[int, np.ndarray]]:
    """The truth (index pair; columns weight, cause, source) and the finite rows of each pair."""
    truth = pd.read_csv(Path(folder) / "pairs-truth.csv").set_index("pair")
    truth["source"] = truth["source"].str.strip().replace(SPELLINGS)
    rows = pd.read_csv(Path(folder) / "pairs.csv.gz")
    rows = rows[np.isfinite(rows[["a", "b"]]).all(axis=1)]
    tables = {int(pair): some[["a", "b"]].reset_index(drop=True) for pair, some in rows.groupby("pair")}
    return truth.loc[sorted(set(truth.index) & set(tables))], tables


def margin_of(answer: Answer, rows: int) -> float:
    """Nats a row for a -> b against b -> a."""
    if answer.margin is not None:
        return float(answer.margin[0, 1])
    forth, back = np.maximum([answer.probability[0, 1], answer.probability[1, 0]], LEAST)
    found = float(np.log(forth / back) / rows)
    return found or (1 if answer.order[0] == 0 else -1) * np.finfo(float).tiny


# --- intervals ------------------------------------------------------------------------------------------------------


def resampled(sources: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(DRAWS, pairs): how often each pair is drawn when sources are drawn with replacement."""
    names, which = np.unique(sources, return_inverse=True)
    return rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS)[:, which]


def with_interval(values: np.ndarray, weights: np.ndarray, times: np.ndarray) -> tuple[float, float, float]:
    """Weighted mean and its 90 % interval."""
    drawn = times * weights
    means = (drawn @ values) / drawn.sum(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(np.average(values, weights=weights)), float(low), float(high)


def _told(three: tuple[float, float, float], digits: int = 3) -> str:
    mean, low, high = three
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


# --- the record -----------------------------------------------------------------------------------------------------


def fit_record(form: Form, m: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Positive parameters of greatest weighted likelihood."""

    def loss(logs: np.ndarray) -> float:
        return float(np.average(_loss(form.curve(np.exp(logs), m), right), weights=weights))

    found = [
        optimize.minimize(loss, np.log(start), method="L-BFGS-B", bounds=[(-12, np.log(most)) for most in form.most])
        for start in form.starts
    ]
    return np.exp(min(found, key=lambda one: one.fun).x)


def _loss(p: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Log loss in nats; a pair that is half right counts half each way."""
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return -(right * np.log(p) + (1 - right) * np.log1p(-p))


def left_out(said: Callable[[np.ndarray], np.ndarray], right: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Loss of each pair; ``said`` takes the pairs to fit on (a mask) and gives P(right) of all."""
    found = np.empty(len(right))
    for source in np.unique(sources):
        out = sources == source
        found[out] = _loss(np.clip(said(~out), *LIMITS), right)[out]
    return found


def record(m: np.ndarray, right: np.ndarray, weights: np.ndarray, sources: np.ndarray, times: np.ndarray) -> str:
    """Each form beside the constant, and the parameters to ship."""

    def constant(of: np.ndarray) -> np.ndarray:
        return np.full(len(m), np.average(right[of], weights=weights[of]))

    base = left_out(constant, right, sources)
    rows: list[list[Any]] = [["constant", "", f"{np.average(right, weights=weights):.4g}",
                              _told(with_interval(base, weights, times)), ""]]  # fmt: skip
    half = np.full(len(m), np.log(2))
    rows.append(["always 1/2", "", "", _told(with_interval(half, weights, times)),
                 _told(with_interval(half - base, weights, times))])  # fmt: skip
    for name, form in FORMS.items():
        losses = left_out(
            lambda of, form=form: form.curve(fit_record(form, m[of], right[of], weights[of]), m), right, sources
        )
        ship = " ".join(f"{value:.4g}" for value in fit_record(form, m, right, weights))
        rows.append([name, form.words, ship, _told(with_interval(losses, weights, times)),
                     _told(with_interval(losses - base, weights, times))])  # fmt: skip
    return markdown(["record", "P(right)", "parameters, all pairs", "left-out log loss", "less the constant's"], rows)


def quarters(m: np.ndarray, right: np.ndarray, weights: np.ndarray) -> str:
    """Share right by quarter of the margin."""
    rows = []
    for k, part in enumerate(np.array_split(np.argsort(m, kind="stable"), 4), 1):
        by_weight = float(np.average(right[part], weights=weights[part]))
        rows.append([k, float(np.median(m[part])), len(part), float(right[part].mean()), by_weight])
    return markdown(["quarter", "median margin, nats a row", "pairs", "right", "right by weight"], rows)


# --- all of it ------------------------------------------------------------------------------------------------------


def report(asked: argparse.Namespace) -> str:
    truth, tables = read_pairs(asked.real)
    pairs = [pair for pair in truth.index if len(tables[pair])][: asked.pairs]
    truth = truth.loc[pairs]
    weights, sources = truth["weight"].to_numpy(float), truth["source"].to_numpy(str)
    sign = np.where(truth["cause"] == "a", 1.0, -1.0)
    tasks = [Task(pair, lambda pair=pair: tables[pair], {"random_state": asked.seed}) for pair in pairs]
    margins: dict[str, list[float]] = {name: [] for name in checkouts(asked)}
    sides: dict[str, list[float]] = {name: [] for name in checkouts(asked)}
    lines: list[list[Any]] = []
    stand_in: set[str] = set()
    for task, answers in ask_all(tasks, asked):
        told = truth.loc[task.name]
        row: list[Any] = [task.name, told["source"][:30], told["weight"], told["cause"], len(tables[task.name])]
        for name, answer in answers.items():
            stand_in |= {name} if answer.margin is None else set()
            margins[name].append(margin_of(answer, len(tables[task.name])))
            sides[name].append(float(max(answer.probability[0, 1], answer.probability[1, 0])))
            guess = {1.0: "a", -1.0: "b", 0.0: "?"}[float(np.sign(margins[name][-1]))]
            row += [f"{guess} {abs(margins[name][-1]):.4f}", round(sides[name][-1], 3)]
        lines.append(row)
    times = resampled(sources, np.random.default_rng(asked.seed))
    right = {name: 0.5 + 0.5 * np.sign(margins[name]) * sign for name in margins}
    even, rows = np.ones(len(pairs)), []
    for name, hits in right.items():
        sure = np.array(sides[name]) >= 0.95
        said = f"{hits[sure].mean():.2f} of {sure.sum()}" if sure.any() else "none"
        rows.append([name, _told(with_interval(hits, even, times)), _told(with_interval(hits, weights, times)), said])
    if len(right) == 2:
        gap = right["present"] - right["former"]
        rows.append(["present less former", *(_told(with_interval(gap, w, times)) for w in (even, weights)), ""])
    parts = [
        f"### {len(pairs)} real pairs, {len(np.unique(sources))} sources\n",
        markdown(["learner", "right", "right by weight", "right where 0.95 or more was said"], rows),
    ]
    for name, many in margins.items():
        m = np.abs(many)
        by = "a stand-in for margins" if name in stand_in else "margin"
        parts += [f"{name}, by {by}:\n", quarters(m, right[name], weights)]
        parts += [f"{name}, the record of its margins, sources left out in turn:\n",
                  record(m, right[name], weights, sources, times)]  # fmt: skip
    if asked.list:
        head = [f"{who}: {what}" for who in margins for what in ("margin", "probability")]
        parts.append(markdown(["pair", "source", "weight", "cause", "rows", *head], lines))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=__doc__.partition("\n")[0])
    add_arguments(parser, real=True)
    parser.add_argument("--seed", type=int, default=0, help="of the learners and of the intervals")
    parser.add_argument("--pairs", type=int, help="only the first so many")
    parser.add_argument("--list", action="store_true", help="print every pair, too")
    asked = parser.parse_args()
    if asked.real is None:
        parser.error("the pairs are not part of the project: give their folder, --real PATH")
    print(report(asked))


if __name__ == "__main__":
    main()
