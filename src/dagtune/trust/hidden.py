"""Do two variables share a hidden cause?

Without one, what the causes leave of each variable is its own noise, and the noises are independent of each other. A
hidden common cause is in both noises. If the learner then joins the two, the edge takes up their correlation, and what
is left shows in dependence beyond it: not at all if effects are straight lines and the noise Gaussian.

With f_1, ..., f_4 the functions z, tanh z, tanh^2 z and |z| of a standardised noise, made uncorrelated, two noises a, b
have

    Q_ab = sum over k, l of n mean(f_k(a) f_l(b))^2 / var(f_k(a) f_l(b)),

about chi-squared of 16 degrees of freedom if they are independent; of a joined pair without k = l = 1, which the edge
has taken up, and with 15. There are two tests: of the smallest p-value over all pairs, and of the sum of their
logarithms, because a hidden cause of several variables shows a little in many pairs. Noises are estimated, and those
with sharp edges (uniform, exponential) look dependent for that reason alone. So tables are drawn from the fitted
mechanisms, where nothing is hidden, fitted again in the same graph and measured: the largest value is compared to a
Gumbel distribution with their mean and variance, the sum to Student's t.

A wrong mechanism or direction leaves dependence as well, so a finding says that something is missing, and a hidden
cause is one explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dagtune.effects.mechanisms import fit_mechanism
from dagtune.effects.simulator import Simulator, fit_simulator
from dagtune.effects.summary import summarize
from dagtune.regression import Spline
from dagtune.tables import Table
from dagtune.text import printable

__all__ = ["LEVEL", "HiddenCause", "HiddenCauseTest", "draw_noises", "find_hidden_causes", "noises"]

#: Chance of a false alarm of each of the two tests.
LEVEL = 0.05
#: Rows looked at, evenly spread; with fewer than the second number nothing would show.
_ROWS, _FEWEST = 5000, 100
#: Tables drawn from the fitted mechanisms; fewer where there are many variables, each of which takes longer.
_DRAWS, _FEWER, _MANY = 20, 10, 50
#: Noise looks Gaussian unless the test of Jarque and Bera says otherwise at this level.
_GAUSSIAN = 0.01
#: Bends that the fit leaves out look like dependence, so it is finer than elsewhere.
_FUNCTIONS_OF_CAUSES = Spline(16, 15)
#: Functions of a noise.
_FUNCTIONS = 4


class HiddenCause(NamedTuple):
    """Whether two variables seem to share a hidden cause.

    Attributes
    ----------
    pair : tuple of str
        The two.
    joined : bool
        Whether the graph has an edge between them.
    statistic : float
        Dependence of their noises, about chi-squared of 16 (joined: 15) degrees of freedom if there is none.
    p_value : float
        The chance that any pair of a table without hidden causes has as much.
    suspected : bool
        Whether that is at most 0.05.
    blind : bool
        Whether a hidden cause could hardly have shown: they are joined, and both noises look Gaussian.
    words : str
        The same for a person.
    """

    pair: tuple[str, str]
    joined: bool
    statistic: float
    p_value: float
    suspected: bool
    blind: bool
    words: str


class HiddenCauseTest(NamedTuple):
    """Whether anything seems to be hidden, over all pairs.

    Attributes
    ----------
    worst : float
        p-value of the most dependent pair, all pairs allowed for.
    together : float
        p-value of the dependence of all pairs together.
    suspected : bool
        Whether either is at most 0.05.
    words : str
        The same for a person.
    """

    worst: float
    together: float
    suspected: bool
    words: str


def noises(simulator: Simulator, X: np.ndarray) -> np.ndarray:
    """What the causes leave of each variable.

    Parameters
    ----------
    simulator : Simulator
        A graph with fitted mechanisms.
    X : (rows, d) array
        A table.

    Returns
    -------
    (d, rows) array
        Of a discrete variable normal scores, drawn from what its value leaves open.
    """
    rng = np.random.default_rng(0)
    left = []
    for j, mechanism in enumerate(simulator.mechanisms):
        noise = mechanism.noise_of(simulator.summary, X, X[:, j], rng)
        left.append(special.ndtri(np.clip(noise, 1e-9, 1 - 1e-9)) if mechanism.discrete else noise)
    return np.stack(left)


def draw_noises(table: Table, graph: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The noises of a table, and those of tables drawn from the fitted mechanisms and fitted again.

    Parameters
    ----------
    table : Table
        The table.
    graph : (d, d) array of bool
        The DAG; ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    noise : (d, rows) array
        Of the table, at some of its rows if it has many.
    drawn : list of (d, rows) arrays
        Of the drawn tables; empty if the table has fewer than 100 rows.
    """
    X = table.values
    X = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), _ROWS)).astype(np.intp))]
    table = table.with_values(X)
    simulator = fit_simulator(summarize(table, _FUNCTIONS_OF_CAUSES), table, graph)
    drawn: list[np.ndarray] = []
    if len(X) < _FEWEST:
        return noises(simulator, X), drawn
    for draw in range(_DRAWS if table.width <= _MANY else _FEWER):
        Y = simulator.draw(len(X), random_state=draw)
        if (Y.min(axis=0) < Y.max(axis=0)).all():  # else a rare event did not happen
            drawn.append(_noises_again(simulator, table.with_values(Y)))
    return noises(simulator, X), drawn


def _noises_again(simulator: Simulator, drawn: Table) -> np.ndarray:
    """The noises of a drawn table, numbers fitted again; discrete variables, slow to fit, keep their mechanisms."""
    Y = drawn.values
    left = noises(simulator, Y)
    summary = summarize(drawn, _FUNCTIONS_OF_CAUSES)
    for j, mechanism in enumerate(simulator.mechanisms):
        if not mechanism.discrete:
            again = fit_mechanism(summary, Y, j, mechanism.parents)
            left[j] = again.noise_of(summary, Y, Y[:, j], np.random.default_rng(0))
    return left


def find_hidden_causes(
    noise: np.ndarray, drawn: Sequence[np.ndarray], graph: np.ndarray, names: Sequence[str]
) -> tuple[HiddenCauseTest | None, tuple[HiddenCause, ...]]:
    """Test the noises of all pairs for dependence.

    Parameters
    ----------
    noise : (d, rows) array
        What the causes leave of each variable.
    drawn : sequence of (d, rows) arrays
        The same of tables in which nothing is hidden, from :func:`draw_noises`.
    graph : (d, d) array of bool
        The DAG; ``A[i, j]`` means ``i -> j``.
    names : sequence of str
        The variables.

    Returns
    -------
    test : HiddenCauseTest or None
        Over all pairs; None if fewer than five tables were drawn.
    pairs : tuple of HiddenCause
        One for each pair, the smallest p-value first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.exponential(size=500)
    >>> noise = np.stack([hidden + rng.normal(size=500), hidden + rng.normal(size=500), rng.normal(size=500)])
    >>> drawn = rng.normal(size=(20, 3, 500))
    >>> test, pairs = find_hidden_causes(noise, drawn, np.zeros((3, 3), dtype=bool), "abc")
    >>> test.suspected, [found.pair for found in pairs if found.suspected]
    (True, [('a', 'b')])
    """
    varied = np.flatnonzero(noise.std(axis=1) > 1e-9)
    if len(varied) < 2 or len(drawn) < 5:
        return None, ()
    joined = (graph | graph.T)[np.ix_(varied, varied)]
    Q, surprise = _dependence(noise[varied], joined)
    null = np.array([_dependence(one[varied], joined)[1] for one in drawn])
    p_values = _gumbel_tail(surprise, null.max(axis=1))
    worst, together = float(p_values.min()), _student_tail(float(surprise.sum()), null.sum(axis=1))
    suspected = min(worst, together) <= LEVEL
    gaussian = stats.jarque_bera(noise[varied], axis=1).pvalue > _GAUSSIAN
    first, second = np.triu_indices(len(varied), 1)
    found = []
    for k in np.argsort(-surprise, kind="stable"):
        a, b, p = int(first[k]), int(second[k]), float(p_values[k])
        alarm = p <= LEVEL
        blind = bool(joined[a, b] and not alarm and gaussian[a] and gaussian[b])
        pair = (names[int(varied[a])], names[int(varied[b])])
        words = _words(pair, p, alarm, bool(joined[a, b]), blind)
        found.append(HiddenCause(pair, bool(joined[a, b]), float(Q[k]), p, alarm, blind, words))
    return HiddenCauseTest(worst, together, suspected, _all_words(worst, together, suspected)), tuple(found)


def _dependence(noise: np.ndarray, joined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q of each pair i < j, and minus the logarithm of its p-value."""
    d, n = noise.shape
    F = np.concatenate([_functions(one) for one in noise])
    mean = F @ F.T / n
    variance = np.maximum((F**2) @ (F**2).T / n - mean**2, 1e-12)
    terms = (n * mean**2 / variance).reshape(d, _FUNCTIONS, d, _FUNCTIONS)
    terms[:, 0, :, 0] *= ~joined
    pairs = np.triu_indices(d, 1)
    Q = terms.sum(axis=(1, 3))[pairs]
    return Q, -np.asarray(stats.chi2.logsf(Q, _FUNCTIONS**2 - joined[pairs]))


def _functions(noise: np.ndarray) -> np.ndarray:
    """(4, rows): z, tanh z, tanh^2 z, |z|, each without its mean and what goes with those before it, of variance 1."""
    z = (noise - noise.mean()) / noise.std()
    F = np.stack([z, np.tanh(z), np.tanh(z) ** 2, np.abs(z)])
    return np.linalg.qr((F - F.mean(axis=1, keepdims=True)).T)[0].T * np.sqrt(len(z))


def _gumbel_tail(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The chance of larger values than these, for a Gumbel distribution with the moments of what was drawn."""
    scale = drawn.std(ddof=1) * np.sqrt(6) / np.pi
    return -np.expm1(-np.exp(-(values - drawn.mean()) / max(scale, 1e-12) - np.euler_gamma))


def _student_tail(value: float, drawn: np.ndarray) -> float:
    """The chance of one more draw above a value."""
    spread = max(float(drawn.std(ddof=1)), 1e-12) * np.sqrt(1 + 1 / len(drawn))
    return float(stats.t.sf((value - drawn.mean()) / spread, len(drawn) - 1))


def _words(pair: tuple[str, str], p: float, suspected: bool, joined: bool, blind: bool) -> str:
    a, b = map(printable, pair)
    if suspected:
        other = "their edge points the wrong way or is not of the kind assumed" if joined else "an edge is missing"
        return f"what is left of {a} and of {b} is dependent (p = {p:.2g}): a hidden cause of both, or {other}"
    if blind:
        return f"whether {a} and {b} share a hidden cause can't be told: both noises look Gaussian"
    return f"no sign that {a} and {b} share a hidden cause (p = {p:.2g})"


def _all_words(worst: float, together: float, suspected: bool) -> str:
    numbers = f"p = {worst:.2g} for the most dependent pair, {together:.2g} for all pairs together"
    if suspected:
        return (
            f"what is left of the variables is dependent ({numbers}): a cause is hidden, or something else is missing"
        )
    return f"no sign of hidden causes ({numbers})"
