"""Every term of the conditional score, left out or bent: does a test fail? ``python -m trust.terms [word ...]``.

Random mutants (:mod:`trust.mutants`) rarely hit a term of a formula. Here each term of the log evidence, of the prior of
parent sets and of that of noise scales has a mutant of its own, written by hand: a charge halved, a normaliser dropped,
a mean taken as a sum. Each names the test files that must notice. A text that is no longer in the source is an error:
``tests/test_promises.py`` looks for all of them.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import shlex
import subprocess
import time
from datetime import date
from typing import Any, NamedTuple

from trust.mutants import PRELOADED, RESULTS, ROOT, SOURCE, awaited, child, references
from trust.operators import Mutant

MECHANISMS, NOISE = "tests/test_mechanisms.py", "tests/test_noise.py"
CELLS = "tests/test_cells.py -k 'sums_of_their_parts or only_what_is_offered'"
SCORE, COLUMNS, DESIGN = (
    "tests/test_score.py -k 'subsets or odds or rate or order or scale or prior or weight'",
    "tests/test_columns.py",
    "tests/test_design.py",
)
DISCRETE, RESAMPLES, ORIGINS = "tests/test_discrete.py", "tests/test_resamples.py", "tests/test_origins.py"

OUT = RESULTS / "terms.json"


class Term(NamedTuple):
    """One term of the score, and how it is spoiled: ``before`` stands once in the function and becomes ``after``."""

    name: str
    where: str
    before: str
    after: str
    tests: str


def _of(file: str, tests: str, *entries: tuple[str, str, str, str]) -> list[Term]:
    found = []
    for name, function, before, after in entries:
        chosen = f"{tests} -k {name.partition(':')[0]}" if tests == NOISE else tests
        found.append(Term(name, f"{file} {function}", before, after, chosen))
    return found


TERMS: list[Term] = [
    *_of(
        "mechanisms.py",
        MECHANISMS,
        ("Gaussian: Occam term halved", "_log_likelihood", "- 0.5 * log_det", "- 0.25 * log_det"),
        ("Gaussian: Occam term dropped", "_log_likelihood", " - 0.5 * log_det", ""),
        ("Gaussian: 2 pi dropped", "_log_likelihood", "2 * np.pi * left", "left"),
        ("Gaussian: the quadratic form's n / 2 dropped", "_log_likelihood", " + 1)", ")"),
        ("Gaussian: half as many rows", "_log_likelihood", "-0.5 * n *", "-0.25 * n *"),
        ("additive: bends not smoothed by roughness", "_functions", "np.sqrt(bend / rough[k])", "np.sqrt(bend)"),
        ("additive: the line's prior variance squared", "_functions", "np.sqrt(line)", "line"),
        ("additive: unit noise left out of A", "_factor", "1.0 + root[x] * root[x]", "0.0 + root[x] * root[x]"),
        ("additive: half of log det A", "_factor", "2 * np.log(L[x, x])", "np.log(L[x, x])"),
        ("additive: nothing explained", "_factor", "left -= a[x] * a[x]", "left -= 0.0 * a[x]"),
        ("additive: the least share dropped", "_factor", "max(left, LEAST_SHARE * power)", "max(left, 1e-300)"),
        (
            "additive: best setting instead of the mean",
            "additive",
            "values[best] + np.log(total / (LINES * BENDS)), mean",
            "values[best], mean",
        ),
        (
            "additive: sum over settings instead of the mean",
            "additive",
            "np.log(total / (LINES * BENDS)), mean",
            "np.log(total), mean",
        ),
        (
            "additive: log V of the best setting instead of the mean",
            "additive",
            "mean /= total",
            "mean = log_v[best]",
        ),
        ("additive: what settings leave open of log V", "additive", "mean, variance, best", "mean, 0.0, best"),
        ("flips: Occam term of a removal", "flips", "left + lost, log_det + more", "left + lost, log_det"),
        ("flips: what a removal loses", "flips", "left + lost, log_det + more", "left, log_det + more"),
        (
            "flips: Occam term of an addition",
            "flips",
            "LEAST_SHARE * power), log_det + more",
            "LEAST_SHARE * power), log_det",
        ),
        ("joint: the network's bias", "kernel", "x = (row[t] + 2)", "x = (row[t] + 0)"),
        (
            "joint: the network's norm",
            "kernel",
            "norm[t] = 1 / np.sqrt(1 + 2 * (scale * s + 1))",
            "norm[t] = 1 / np.sqrt(3 + scale * s)",
        ),
        ("joint: the quadratic form", "kernel", " + QUADRATIC * q * q", ""),
        ("joint: the quadratic form not halved back", "kernel", "q = row[t] * 0.5 + 1", "q = row[t] + 1"),
        ("joint: not divided by the number of parents", "kernel", "SMOOTHNESS / parents", "SMOOTHNESS"),
        ("joint: not centred", "kernel", "row[t] -= mean", "row[t] -= 0.0 * mean"),
        (
            "joint: Occam term dropped",
            "joint",
            "values[k] = _log_likelihood(n, left, log_det)",
            "values[k] = _log_likelihood(n, left, 0.0)",
        ),
        (
            "joint: Occam term halved",
            "joint",
            "values[k] = _log_likelihood(n, left, log_det)",
            "values[k] = _log_likelihood(n, left, 0.5 * log_det)",
        ),
        ("joint: unit noise left out", "joint", "A[a, a] += 1.0", "A[a, a] += 0.0"),
        ("joint: best variance instead of the mean", "joint", "best + np.log(total / count), mean", "best, mean"),
        ("joint: sum over variances", "joint", "np.log(total / count), mean", "np.log(total), mean"),
        ("joint: log V of the best variance instead of the mean", "joint", "mean /= total", "mean = log_v[top]"),
        ("joint: what variances leave open of log V", "joint", "max(square / total - mean * mean, 0.0)", "0.0"),
    ),
    *_of(
        "noise.py",
        NOISE,
        (
            "link: charge dropped",
            "link",
            "return 0.5 * n * fall - 0.5 * (p - 2) * np.log(n), fall",
            "return 0.5 * n * fall, fall",
        ),
        (
            "link: charge halved",
            "link",
            "return 0.5 * n * fall - 0.5 * (p - 2)",
            "return 0.5 * n * fall - 0.25 * (p - 2)",
        ),
        (
            "link: charged for the line too",
            "link",
            "return 0.5 * n * fall - 0.5 * (p - 2)",
            "return 0.5 * n * fall - 0.5 * p",
        ),
        ("link: fall halved", "link", "return 0.5 * n * fall", "return 0.25 * n * fall"),
        ("link: a line counts as a bend", "link", "if i >= 2:", "if i >= 1:"),
        (
            "link: no charge where nothing is explained",
            "link",
            "return -0.5 * (p - 2) * np.log(n), 0.0",
            "return 0.0, 0.0",
        ),
        ("spread: prior of the coefficients", "spread", "fit -= 0.5 * lam[k] * c * c", "fit -= 0.0 * lam[k] * c"),
        ("spread: the prior's normaliser", "spread", "value + half_log - 0.5 * log_det", "value - 0.5 * log_det"),
        ("spread: Laplace's log det dropped", "spread", "value + half_log - 0.5 * log_det", "value + half_log"),
        (
            "spread: Laplace's log det halved",
            "spread",
            "value + half_log - 0.5 * log_det",
            "value + half_log - 0.25 * log_det",
        ),
        ("spread: information doubled", "spread", "H[k, j] = 0.5 * G[idx[k], idx[j]]", "H[k, j] = G[idx[k], idx[j]]"),
        (
            "spread: log of the standard deviations",
            "spread",
            "fit -= 0.5 * total + 0.5 * n * np.log(mu / v)",
            "fit -= 0.5 * n * np.log(mu / v)",
        ),
        ("spread: the mean variance", "spread", "fit -= 0.5 * total + 0.5 * n * np.log(mu / v)", "fit -= 0.5 * total"),
        ("spread: roughness", "spread", "max(rough[idx[k]], 1.0) / SPREADS[q]", "1.0 / SPREADS[q]"),
        ("spread: best prior instead of the mean", "spread", "best + np.log(total / len(SPREADS))", "best"),
        ("spread: sum over priors", "spread", "np.log(total / len(SPREADS))", "np.log(total)"),
        (
            "spread: residuals not brought to one variance",
            "spread",
            "e[t] * np.exp(-0.5 * h[t])",
            "e[t] * np.exp(-0.25 * h[t])",
        ),
        ("tilt: normaliser Z", "tilt_rows", "fit += count[b] * (log_p[b] - log_z)", "fit += count[b] * log_p[b]"),
        ("tilt: prior of theta", "tilt_rows", "fit -= 0.5 * lam[k] * new[k] * new[k]", "fit -= 0.0 * lam[k]"),
        ("tilt: the Gaussian's own likelihood", "tilt_rows", "value - plain + half_log", "value + half_log"),
        (
            "tilt: the prior's normaliser",
            "tilt_rows",
            "value - plain + half_log - 0.5 * log_det",
            "value - plain - 0.5 * log_det",
        ),
        (
            "tilt: Laplace's log det dropped",
            "tilt_rows",
            "value - plain + half_log - 0.5 * log_det",
            "value - plain + half_log",
        ),
        (
            "tilt: Laplace's log det halved",
            "tilt_rows",
            "value - plain + half_log - 0.5 * log_det",
            "value - plain + half_log - 0.25 * log_det",
        ),
        (
            "tilt: near the Gaussian, the prior's normaliser",
            "tilt_rows",
            "rise + half_log - 0.5 * log_det",
            "rise - 0.5 * log_det",
        ),
        ("tilt: near the Gaussian, log det", "tilt_rows", "rise + half_log - 0.5 * log_det", "rise + half_log"),
        (
            "tilt: near the Gaussian, the gain",
            "tilt_rows",
            "rise += 0.5 * first[k] * step[k]",
            "rise += first[k] * step[k]",
        ),
        ("tilt: prior variance of all functions alike", "tilt_rows", "(TILTS[r] * _PRIOR[k]) ** 2", "TILTS[r] ** 2"),
        ("tilt: sum over the priors", "tilt_rows", "np.exp(evidence[1] - most)) / 2)", "np.exp(evidence[1] - most)))"),
        (
            "tilt: better prior instead of the mean",
            "tilt_rows",
            "return most + np.log((np.exp(evidence[0] - most) + np.exp(evidence[1] - most)) / 2)",
            "return most",
        ),
        ("shaped: normaliser's Gamma", "shaped", " - _LOG_GAMMA[k]", ""),
        ("shaped: normaliser's 2", "shaped", "+ 1) - np.log(2.0) - log_scale", "+ 1) - log_scale"),
        ("shaped: scale", "shaped", " - log_scale", ""),
        ("shaped: the exponent at the best scale", "shaped", "- _LOG_GAMMA[k] - 1 / b", "- _LOG_GAMMA[k]"),
        (
            "shaped: the Gaussian's own likelihood",
            "shaped",
            "0.5 * (np.log(2 * np.pi * variance) + 1)",
            "0.5 * np.log(2 * np.pi * variance)",
        ),
        ("shaped: the blurred edge's two sides", "shaped", "+ total - np.log(2.0)", "+ total"),
        ("shaped: the blurred edge's width", "shaped", " + np.log(wide)) + total", ") + total"),
        ("shaped: sum over shapes", "shaped", "np.log(total / 5)", "np.log(total)"),
        ("shaped: best shape instead of the mean", "shaped", "return most + np.log(total / 5)", "return most"),
    ),
    *_of(
        "cells.py",
        CELLS,
        ("cells: prior dropped", "one_evidence", "mine[k] + prior[k] + targets", "mine[k] + targets"),
        ("cells: prior of the mechanism", "log_shares", "shares.mechanism[g] * shares", "0.2 * shares"),
        ("cells: prior of the distribution", "log_shares", "] * shares.distribution[k]", "] / 3"),
        ("scale: prior dropped", "log_shares", "np.log(found[k]) + scale", "np.log(found[k])"),
        ("scale: Jacobian dropped", "one_evidence", " + targets.jacobian[t], _NEVER", ", _NEVER"),
        (
            "scale: the own scale's share of the units",
            "one_evidence",
            "free += np.exp(values[t - first] - value)",
            "free += 0.5 * np.exp(values[t - first] - value)",
        ),
        ("link: nats not added", "_of_fit", "S, bent, base + nats", "S, bent, base"),
        ("spread: nats not added", "_of_fit", "S, even, base + nats", "S, even, base"),
        (
            "spread: stands on the bent link without its nats",
            "_of_fit",
            "bent, base + nats, lower, linked",
            "bent, base, lower, linked",
        ),
        ("distributions: shaped without its base", "_distributions", "base + shaped(e)", "shaped(e)"),
        ("distributions: any without its base", "_distributions", "base + any_distribution(", "any_distribution("),
    ),
    *_of(
        "cells.py",
        f"{ORIGINS} {DISCRETE}",
        (
            "parts: prior of a hypothesis",
            "evidence_and_changes",
            "totals = parts.least.copy()",
            "totals = 0.0 * parts.least",
        ),
        (
            "parts: a part's evidence left out",
            "evidence_and_changes",
            "totals[h] += values[p]",
            "totals[h] += values[0]",
        ),
    ),
    *_of(
        "cells.py",
        DISCRETE,
        ("other kinds: sum over cells", "of_other_kind", "value = log_mean(mine, count)", "value = log_mean(mine, 1)"),
    ),
    *_of(
        "columns.py",
        COLUMNS,
        (
            "margin: smooth density left out",
            "margin",
            "[tilt(z), shaped(z), *exponential]",
            "[shaped(z), *exponential]",
        ),
        (
            "margin: shaped densities left out",
            "margin",
            "[tilt(z), shaped(z), *exponential]",
            "[tilt(z), *exponential]",
        ),
        ("margin: the exponential's charge", "margin", " - 0.5 * np.log(n) for end", " for end"),
        ("margin: sum over forms", "margin", " - np.log(2 + len(ends))", ""),
        (
            "margin: the Gaussian's own likelihood",
            "margin",
            "(np.log(2 * np.pi * z.var()) + 1)",
            "np.log(2 * np.pi * z.var())",
        ),
    ),
    *_of(
        "design.py",
        f"{DESIGN} {RESAMPLES}",
        ("sums: mean of the target left in", "measure", "count * (squares - total**2)", "count * squares"),
        ("sums: long tables not scaled down", "measure", "G=count * (G + G.T) / 2", "G=n * (G + G.T) / 2"),
        ("rows: density of the column", "row_margin", "tilt_rows(np.ascontiguousarray(z), found)", "pass"),
        ("rows: density of the scores", "row_margin", "0.5 * effect.transform(z) ** 2 - ", "0 - "),
        ("rows: the Gaussian of the column", "row_margin", " - 0.5 * (z - z.mean()) ** 2 / z.var()", ""),
    ),
    *_of(
        "parents.py",
        SCORE,
        ("sets: prior of the best set", "_climb", "            value += odds[j, child]", "            value += 0.0"),
        ("sets: flips not summed", "local", "value += np.log1p(np.exp(f))", "value += 0.0"),
        ("sets: prior of a flip", "local", "f = ranked[j] + change", "f = ranked[j]"),
        ("sets: prior of a near flip", "local", "member, other) - now + change", "member, other) - now"),
    ),
    *_of(
        "score.py",
        SCORE,
        ("rate: prior odds of edges", "Score.set_rate", "self._given.odds + special.logit(rate)", "self._given.odds"),
        (
            "rate: the prior of sets does not sum to 1",
            "Score._log_evidence",
            " - np.logaddexp(0.0, odds[open_pairs]).sum()",
            "",
        ),
        ("rate: required edges have odds", "Score._log_evidence", " - odds[required].sum()", ""),
        (
            "rate: noise scales left out",
            "Score._log_evidence",
            "total + self.shared(np.sum([term.scale for term in terms], axis=0))",
            "total",
        ),
        (
            "noise scales: what rows leave uncertain",
            "Score._scale",
            "vague + 2 / self.problems[child].sums.n",
            "vague",
        ),
        ("noise scales: what settings leave uncertain", "Score._scale", "tau**2 + vague", "tau**2"),
        ("noise scales: the spike's normaliser", "Score._scale", " / np.sqrt(2 * np.pi * s2)", ""),
        (
            "noise scales: units of the table",
            "Score._scale",
            "log_v + self.design.log_variance[child] - mu",
            "log_v - mu",
        ),
        ("noise scales: share apart", "Score._scale", "eps / self._range", "0 * eps"),
        ("noise scales: density of those apart", "Score._scale", "eps / self._range)", "eps)"),
        ("noise scales: other scales count as apart", "Score._scale", " + free / self._range", ""),
        ("noise scales: weights of the grid", "Score.shared", "terms = total + self._grid[3]", "terms = total + 0.0"),
        (
            "noise scales: all apart left out",
            "Score.shared",
            "np.logaddexp(found, -self.width * np.log(self._range))",
            "found",
        ),
        ("noise scales: the half", "Score.shared", " - np.log(2)", ""),
    ),
    *_of(
        "likelihoods.py",
        DISCRETE,
        ("levels: the gap between thresholds", "_of_levels", "value += gaps[k]", "value += 0.0"),
        ("levels: the upper threshold", "_of_levels", "value -= _softplus(-above)", "value -= 0.0"),
        ("levels: the lower threshold", "_of_levels", "value -= _softplus(-below)", "value -= 0.0"),
        (
            "counts: fixed part",
            "_of_counts",
            "total = DISPERSIONS[k], fixed[k] + linear",
            "total = DISPERSIONS[k], linear",
        ),
        ("counts: linear part", "_of_counts", "fixed[k] + linear", "fixed[k]"),
        (
            "counts: the dispersion's normaliser",
            "_of_counts",
            "total += r * log_r - (r + y[t])",
            "total += 0.0 - (r + y[t])",
        ),
        ("other kinds: Laplace's log det", "_laplace", " - 0.5 * log_det", ""),
        ("other kinds: Laplace's log det halved", "_laplace", " - 0.5 * log_det", " - 0.25 * log_det"),
        ("other kinds: Laplace's gain", "_laplace", "base + 0.5 * np.dot(kept, c)", "base"),
        ("other kinds: roughness", "_variances", "bend / rough[k]", "bend"),
        ("other kinds: sum over settings", "fit", "np.log(total / (_LINES * bends))", "np.log(total)"),
        (
            "other kinds: best setting instead of the mean",
            "fit",
            "return best + np.log(total / (_LINES * bends)) +",
            "return best +",
        ),
        ("counts: sum over dispersions", "_spare", "np.log(total / len(profile))", "np.log(total)"),
        ("counts: best dispersion instead of the mean", "_spare", "return np.log(total / len(profile))", "return 0.0"),
    ),
    *_of(
        "discrete.py",
        DISCRETE,
        ("levels of counts: within a level", "by_family", "found[0] + discrete.within[child]", "found[0]"),
        ("categories: the first alone", "by_family", "value += found[0]", "value = found[0]"),
        (
            "table: prior of the combinations",
            "by_table",
            "found += math.lgamma(a) - math.lgamma(a + total[q])",
            "found -= math.lgamma(a + total[q])",
        ),
        ("table: rows of the combinations", "by_table", "math.lgamma(a) - math.lgamma(a + total[q])", "math.lgamma(a)"),
        (
            "table: prior of the levels",
            "by_table",
            "math.lgamma(b + times[q, k]) - math.lgamma(b)",
            "math.lgamma(b + times[q, k])",
        ),
        ("table: one row's worth of prior", "by_table", "1.0 / cells, 1.0 / (cells * K)", "1.0, 1.0 / K"),
    ),
    *_of(
        "cells.py",
        RESAMPLES,
        ("resamples: the distribution", "of_rows", "any_rows(problem.discrete, S, e, out)", "out[:] = 0.0"),
        ("resamples: the spread's standard deviations", "of_rows", "np.log(abs(e[t] / plain[t]))", "0.0"),
        ("resamples: the noise variance", "of_rows", "margin[t] - constant - 0.5", "margin[t] - 0.5"),
        ("resamples: squares not halved", "of_rows", "- 0.5 * (e[t] - mean) ** 2", "- (e[t] - mean) ** 2"),
        ("resamples: density of the column", "of_rows", "margin[t] - constant", "0.0 - constant"),
        ("resamples: weights", "one_evidence", "np.dot(problem.rows.weights, likely)", "likely.sum()"),
    ),
    *_of(
        "shares.py",
        "tests/test_shares.py",
        ("shares: prior of a count", "learned", "offered.copy(), np.ones(3)", "0.5 * offered, np.ones(3)"),
        ("shares: the table's own", "_weighted", "return one + prior", "return one + 0.0 * prior"),
        ("shares: what is left of the prior", "lost", " + np.log(rest)", ""),
    ),
]


def spoiled(term: Term) -> Mutant:
    """The mutant of a term.

    Raises
    ------
    LookupError
        The text does not stand once in the function: the score has changed, and the term must follow.
    """
    file, _, function = term.where.partition(" ")
    path = f"conditional/{file}"
    source = (SOURCE / path).read_text(encoding="utf-8")
    first, last = _lines(source, function)
    lines = source.splitlines(keepends=True)
    body = "".join(lines[first:last])
    if body.count(term.before) != 1:
        raise LookupError(f"{term.name!r}: {term.before!r} stands {body.count(term.before)} times in {term.where}")
    text = "".join(lines[:first]) + body.replace(term.before, term.after) + "".join(lines[last:])
    ast.parse(text)
    return Mutant(path, first + 1, function, term.before, term.after, text)


def _lines(source: str, function: str) -> tuple[int, int]:
    node: Any = ast.parse(source)
    for name in function.split("."):
        node = next((each for each in node.body if getattr(each, "name", None) == name), None)
        if node is None:
            raise LookupError(f"there is no {function}")
    return node.lineno - 1, node.end_lineno


def main() -> None:
    """Try the terms whose names contain one of the words, or all, and write what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--again", action="store_true", help="leave out those that were killed before")
    given = parser.parse_args()
    # Machine code that is not optimised: it is compiled anew for each term, and in half the time.
    os.environ |= {"NUMBA_OPT": "0", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", "/tmp/hypothesis-mutants")
    known = kept() if given.words or given.again else {}
    if not known:
        OUT.unlink(missing_ok=True)
    referring = references()
    for name in PRELOADED:
        importlib.import_module(name)
    for term in (*TERMS, *_controls()):
        wanted = not given.words or any(word in term.name for word in given.words)
        if not wanted or (
            given.again and known.get(term[:4], [""])[-1] == ("survived" if term.before == term.after else "killed")
        ):
            continue
        mutant, began = spoiled(term), time.perf_counter()
        pid = os.fork()
        if pid == 0:
            asked = [str(ROOT / word) if word.startswith("tests/") else word for word in shlex.split(term.tests)]
            child(mutant, asked, referring, whole=False)
        fate = awaited(pid, 900.0)
        print(f"{fate} in {time.perf_counter() - began:.0f} s: {term.name}", flush=True)
        write(kept() | {term[:4]: [*term[:4], fate]})


def _controls() -> list[Term]:
    """For each file and its tests a term that changes nothing: it must survive, or what kills is not the change."""
    first = {(term.where.split()[0], term.tests): term for term in reversed(TERMS)}
    return [
        Term(f"control: {term.where}, {term.name}", term.where, term.before, term.before, term.tests)
        for term in first.values()
    ]


def kept() -> dict[tuple[str, ...], list[str]]:
    """What is written down: name, where, before, after and fate, by the first four."""
    found = json.loads(OUT.read_text())["terms"] if OUT.exists() else []
    return {tuple(each[:4]): each for each in found}


def write(known: dict[tuple[str, ...], list[str]]) -> None:
    """Write what became of the terms that there are."""
    told = [known[term[:4]] for term in (*_controls(), *TERMS) if term[:4] in known]
    killed = sum(each[-1] == "killed" for each in told if each[2] != each[3])
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    found = {"date": str(date.today()), "commit": commit.strip(), "killed": killed, "of": len(TERMS), "terms": told}
    OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
