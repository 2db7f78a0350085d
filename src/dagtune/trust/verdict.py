"""One verdict in words: what can be believed, what can't, what would settle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagtune.text import printable
from dagtune.trust.hidden import HiddenCause
from dagtune.trust.independences import Independence
from dagtune.trust.questions import Question

__all__ = ["Verdict", "judge"]

#: Names listed in a sentence.
_LISTED = 4


@dataclass(frozen=True, repr=False)
class Verdict:
    """What can be believed of a fit.

    Attributes
    ----------
    headline : str
        One sentence.
    believe, doubt, settle : tuple of str
        What can be believed, what can't, and what would settle it; a sentence each.
    """

    headline: str
    believe: tuple[str, ...]
    doubt: tuple[str, ...]
    settle: tuple[str, ...]

    @property
    def words(self) -> str:
        """All of it as one text."""
        return " ".join([self.headline, *self.believe, *self.doubt, *self.settle])

    def __str__(self) -> str:
        """A line each."""
        parts = (("believe", self.believe), ("doubt", self.doubt), ("settle", self.settle))
        return "\n".join([self.headline, *(f"  {what}: {text}" for what, texts in parts for text in texts)])

    __repr__ = __str__


@dataclass(frozen=True)
class Evidence:
    """What the verdict is made of.

    Attributes
    ----------
    edges : int
        Edges of the graph.
    sure : int
        Those with a probability of at least 0.9.
    undecided : sequence of (str, str)
        Pairs whose direction is open.
    failing, checked : int
        Variables with causes for which the residual check fails, and how many were checked.
    settled : bool
        Whether the sample of graphs has settled.
    few_rows : bool
        Whether the table has too few rows to learn from.
    record : float
        The mean track record of the sure edges, or NaN.
    resampled : bool
        Whether probabilities are shares of resamples of the rows: they say how stable an edge is, not how right.
    hidden : bool
        Whether the noises of all pairs together are dependent, even if no single pair stands out.
    """

    edges: int
    sure: int | None
    undecided: Sequence[tuple[str, str]]
    failing: Sequence[str]
    checked: int
    settled: bool
    few_rows: bool
    record: float
    resampled: bool = False
    hidden: bool = False


def judge(
    evidence: Evidence,
    hidden: Sequence[HiddenCause],
    independences: Sequence[Independence],
    questions: Sequence[Question],
) -> Verdict:
    """Put into words what a fit is worth.

    Parameters
    ----------
    evidence : Evidence
        Edges, checks, the sample.
    hidden : sequence of HiddenCause
        Of all pairs.
    independences : sequence of Independence
        Of all missing edges.
    questions : sequence of Question
        What to ask next, most useful first.

    Returns
    -------
    Verdict
    """
    believe, doubt, settle = [], [], []
    if evidence.sure is not None:
        sure = "have a probability of 0.9 or more if the model holds"
        what = "come back in 9 of 10 resamples" if evidence.resampled else sure
        believe.append(f"{evidence.sure} of {evidence.edges} edges {what}.")
    if evidence.record == evidence.record:
        believe.append(f"On real tables, directions as clear as these were right in {evidence.record:.0%} of cases.")
    holding = [one for one in independences if one.holds]
    if independences:
        believe.append(
            f"{len(holding)} of {len(independences)} independences that the graph implies were not rejected; a partial "
            f"correlation of {max(one.detectable for one in independences):.2f} would have shown 4 times in 5 in each."
        )
    if evidence.few_rows:
        doubt.append("There are too few rows for this many columns: order and edges are mostly noise.")
    if not evidence.settled:
        doubt.append("The sample of graphs has not settled: another seed may give other probabilities.")
    if evidence.failing:
        doubt.append(
            f"The model does not hold for {_some(evidence.failing)} ({len(evidence.failing)} of {evidence.checked} "
            "variables with causes): edges into them may be wrong."
        )
    broken = [one for one in independences if not one.holds]
    if broken:
        doubt.append(f"Not independent, though the graph says so: {_pairs([one.pair for one in broken])}.")
    suspected = [one.pair for one in hidden if one.suspected]
    if suspected:
        doubt.append(f"These pairs seem to share a hidden cause, or something else is missing: {_pairs(suspected)}.")
    elif evidence.hidden:
        doubt.append(
            "What the causes leave unexplained is dependent, all pairs taken together: a cause seems to be hidden, or "
            f"something else is missing. Most suspect, though not for sure: {_pairs([one.pair for one in hidden[:2]])}."
        )
    blind = sum(one.blind for one in hidden)
    if blind:
        doubt.append(
            f"For {blind} joined pair{'s' * (blind > 1)} a hidden cause can't be told: noise that looks Gaussian would "
            "hide it."
        )
    if evidence.undecided:
        doubt.append(f"The direction is open: {_pairs(evidence.undecided)}.")
    settle += [f"{question.words[0].upper()}{question.words[1:]}." for question in questions[:3]]
    if suspected:
        a, b = map(printable, suspected[0])
        settle.append(f"Measure what might cause both {a} and {b}, or set one of them in an experiment.")
    failing = 2 * len(evidence.failing) > max(evidence.checked, 1)
    serious = bool(evidence.few_rows or evidence.hidden or suspected or broken or failing)
    if serious:
        headline = "Do not act on this graph as it is: the model does not hold in places."
    elif evidence.failing or evidence.undecided or not evidence.settled:
        headline = "Parts of this graph can be believed, parts can't."
    elif evidence.sure is None:
        headline = "Nothing speaks against this graph, but nothing here says how sure it is."
    else:
        headline = "Nothing speaks against this graph, as far as this table can tell."
    return Verdict(headline, tuple(believe), tuple(doubt), tuple(settle))


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    told = [f"{printable(a)} and {printable(b)}" for a, b in pairs[:_LISTED]]
    return "; ".join(told) + ("; ..." if len(pairs) > _LISTED else "")
