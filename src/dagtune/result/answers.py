"""What a learned graph says of decisions: effects, what if, how far to trust it, what to ask next.

The work is done in :mod:`dagtune.effects` and :mod:`dagtune.trust`, when something is first asked or the result is
saved: a fit does not wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dagtune.effects.adjusted import AdjustedEffects
from dagtune.effects.estimates import Effect
from dagtune.effects.simulator import Counterfactual, Simulator
from dagtune.result.learned import LearnedGraph
from dagtune.text import printable
from dagtune.trust.fitted import Fitted, Workings, fit_all
from dagtune.trust.hidden import HiddenCause, HiddenCauseTest
from dagtune.trust.independences import Independence
from dagtune.trust.questions import Question, next_questions
from dagtune.trust.verdict import Evidence, Verdict, judge
from dagtune.validation import InputError, check_count

__all__ = ["AnsweringGraph"]

#: An edge is sure with this probability.
_SURE = 0.9


@dataclass(frozen=True, eq=False)
class AnsweringGraph(LearnedGraph):
    """A learned graph that answers what if.

    Parameters
    ----------
    workings : Workings or None
        The table and what else is in memory after a fit; it is not saved, except for the rows if that is asked for.
    kept : Fitted or None
        Fitted mechanisms, sums and findings, once they were needed; saved.
    """

    workings: Workings | None = None
    kept: Fitted | None = None

    @property
    def fitted(self) -> Fitted:
        """Fitted mechanisms, sums and findings; made from the table when first asked for.

        Raises
        ------
        InputError
            There are none: version 0.1 or another program saved the result.
        """
        if self.kept is None:
            if self.workings is None:
                raise InputError("this result holds no fitted mechanisms (an earlier version saved it): learn it again")
            order = [self.names.index(name) for name in self.causal_order]
            object.__setattr__(self, "kept", fit_all(self.workings, self.matrix, order))
        assert self.kept is not None
        return self.kept

    @property
    def answers(self) -> bool:
        """Whether effects and the like can be asked for."""
        return self.kept is not None or self.workings is not None

    # Effects --------------------------------------------------------------------------------------------------------

    def effect(self, x: str, y: str, *, from_: Any = None, to: Any = None, category: Any = None) -> Effect:
        """Estimate the total effect of one variable on another, over all likely graphs.

        In each graph of the sample by adjustment for the optimal set [1]_, then averaged.

        Parameters
        ----------
        x, y : str
            The variable that is set, and the one that is looked at.
        from_, to : float or str, optional
            The step of x; by default from its lower to its upper quartile. Levels by their names.
        category : float or str, optional
            For a categorical y: whose probability is looked at; by default the one that changes most.

        Returns
        -------
        Effect
            The change of the mean of y, two intervals, the share of the graphs in which x affects y, and the curve.

        Raises
        ------
        InputError
            If there is no such column, or the table says nothing of such a value.

        References
        ----------
        .. [1] L. Henckel, E. Perkovic and M. Maathuis, Graphical criteria for efficient total effect estimation via
           adjustment in causal linear models, JRSS B 84, 2022.

        Examples
        --------
        >>> import numpy as np
        >>> from dagtune import ConditionalTuning
        >>> rng = np.random.default_rng(0)
        >>> x = rng.exponential(size=300)
        >>> X = np.column_stack([x, 2 * x + rng.exponential(size=300)])
        >>> result = ConditionalTuning(random_state=0).fit(X).result_
        >>> effect = result.effect("x0", "x1", from_=1, to=2)
        >>> round(effect.value), effect.share
        (2, 1.0)
        """
        return self._effects().effect(x, y, from_, to, category)

    def effects(self, on: str) -> pd.DataFrame:
        """Rank the total effects of all variables on one.

        Parameters
        ----------
        on : str
            The variable that is looked at.

        Returns
        -------
        DataFrame
            Columns cause, from, to, effect, low, high (90 % interval), wide_low and wide_high if there is a track
            record, and share, as of :meth:`effect`; the largest effect first. For a categorical variable the category
            that changes most.

        Raises
        ------
        InputError
            If there is no such column.
        """
        return self._effects().effects(on)

    def _effects(self) -> AdjustedEffects:
        fitted = self.fitted
        known = self.__dict__.get("_adjusted")
        if known is None:
            graphs = self.graphs if len(self.graphs) else self.matrix[None]
            record = self.track_record
            if record is not None and self.margin is not None:  # knowledge leaves one direction: no record is needed
                record = np.where(np.isinf(self.margin), (self.margin > 0).astype(np.float64), record)
            suspected = [one.pair for one in fitted.hidden_causes if one.suspected]
            known = AdjustedEffects(fitted.simulator.summary, graphs, record, suspected, self._doubts())
            self.__dict__["_adjusted"] = known
        return known

    def _doubts(self) -> dict[str, str]:
        """Variables for which a sum of smooth functions plus noise was found not to hold, and what is wrong."""
        doubts = {
            self.names[mechanism.child]: f"the causes of {printable(self.names[mechanism.child])} interact"
            for mechanism in self.fitted.simulator.mechanisms
            if mechanism.products
        }
        failing = (check.child for check in self.checks if not check.holds)
        return doubts | {name: f"the residual check of {printable(name)} fails" for name in failing}

    # What if --------------------------------------------------------------------------------------------------------

    @property
    def simulator(self) -> Simulator:
        """The learned graph with its fitted mechanisms."""
        return self.fitted.simulator

    def sample(self, n: int, do: Mapping[str, Any] | None = None, *, random_state: Any = None) -> pd.DataFrame:
        """Draw rows from the learned graph, with some variables set; see :meth:`dagtune.effects.Simulator.sample`.

        Parameters
        ----------
        n : int
            Number of rows.
        do : mapping of str to float or str, optional
            Variables that are set, and to what; levels by their names.
        random_state : int or Generator, optional
            Seed.

        Returns
        -------
        DataFrame of shape (n, d)
            With the names of levels, as the table had them; ``attrs["assumptions"]`` says what it rests on.
        """
        return self.simulator.sample(n, do, random_state=random_state)

    def counterfactual(self, row: Any, do: Mapping[str, Any]) -> Counterfactual:
        """Say what a row would have been; see :meth:`dagtune.effects.Simulator.counterfactual`.

        Parameters
        ----------
        row : mapping or Series of str to float or str
            A value of every variable; levels by their names.
        do : mapping of str to float or str
            Variables that are set, and to what.

        Returns
        -------
        Counterfactual
        """
        return self.simulator.counterfactual(row, do)

    # Trust ----------------------------------------------------------------------------------------------------------

    @property
    def hidden_causes(self) -> tuple[HiddenCause, ...]:
        """Whether pairs seem to share a hidden cause, the likeliest first."""
        return self.fitted.hidden_causes

    @property
    def hidden_cause_test(self) -> HiddenCauseTest | None:
        """Whether anything seems to be hidden, over all pairs; None if the table has too few rows to tell."""
        return self.fitted.hidden_cause_test

    @property
    def implied_independences(self) -> tuple[Independence, ...]:
        """What the graph says is independent, tested: one for each missing edge, the most doubtful first."""
        return self.fitted.independences

    def next_questions(self, most: int = 10) -> tuple[Question, ...]:
        """Rank the open pairs by how much of the graph their answer would settle.

        Parameters
        ----------
        most : int
            Give no more than so many.

        Returns
        -------
        tuple of Question
            The most useful first; empty if nothing is open or there is no sample of graphs.
        """
        return next_questions(self.graphs, self.names, check_count("most", most))

    def verdict(self) -> Verdict:
        """Put into words what can be believed, what can't, and what would settle it.

        Returns
        -------
        Verdict
        """
        sure, record = None, float("nan")
        if self.probability is not None:
            at = self.matrix & (self.probability >= _SURE)
            sure = int(at.sum())
            if self.track_record is not None and sure:
                record = float(np.mean(self.track_record[at]))
        evidence = Evidence(
            edges=int(self.matrix.sum()),
            sure=sure,
            undecided=self.undecided,
            failing=[check.child for check in self.checks if not check.holds],
            checked=len(self.checks),
            settled=float(self.settings.get("disagreement", 0.0)) <= 0.2,
            few_rows=any(text.startswith("only ") for text in self.warnings),
            record=record,
            resampled=bool(self.resamples),
        )
        questions = self.next_questions()
        if not self.answers:  # saved by an earlier version: neither rows nor mechanisms to test
            return judge(evidence, (), (), questions)
        test = self.hidden_cause_test
        evidence = replace(evidence, hidden=test is not None and test.suspected)
        return judge(evidence, self.hidden_causes, self.implied_independences, questions)
