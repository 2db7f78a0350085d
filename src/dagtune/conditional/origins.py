"""What is learned from: numbers, where their rows come from and what was done in them, and what the graph must obey.

*Groups*. Rows of different groups share the graph and its functions, not levels nor spread. A group is a categorical
column that comes before all variables and is likely to be a cause of each: then the mechanism has a level for each
group, and the cell of a varying spread one spread for each. It is no variable of the result. With many groups
(subjects) that would be too many parameters: there numbers are taken less their group's mean. (A cause of each for
sure, which was tried, makes variables pay for levels that they do not have; a joint function of all other causes that
says nothing is then cheaper, and pure noise got four causes.)

*Experiments*. What a condition did to a variable changes which rows count for it as an effect
(:mod:`dagtune.conditional.environments`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dagtune.conditional.design import Design, measure
from dagtune.conditional.environments import Happened, own_problems
from dagtune.conditional.parents import Prior
from dagtune.conditional.posterior import SURE, Posterior
from dagtune.conditional.problem import Offer
from dagtune.conditional.score import Score
from dagtune.conditional.screen import score_of
from dagtune.effects.stretches import Origins
from dagtune.graph import reachability
from dagtune.interventions import Experiments
from dagtune.knowledge import Knowledge
from dagtune.tables import MAX_CATEGORIES, Table
from dagtune.tables.derived import Derived
from dagtune.trust.fitted import LEVELLED

__all__ = [
    "Data",
    "Limits",
    "Merged",
    "Model",
    "happened",
    "origins_of",
    "posed",
    "undecided_at",
    "values_of",
    "without_groups",
]

#: Rows below which a group shares its level with other small ones.
_FEW = 10
#: Log odds, beyond those of any edge, that groups differ in a variable.
_LIKELY = float(np.log(9.0))


class Model(NamedTuple):
    """What is averaged over: the cells, the prior of the noise scales, the scales of the effects."""

    offer: Offer
    shared: str
    scales: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Data:
    """Numbers (rows, d), and what happened to variables in some of the rows.

    ``sampled`` are the rows that are looked at, if not any will do; ``together`` says which rows are drawn together.
    """

    values: np.ndarray
    happened: Mapping[int, Sequence[Happened]]
    sampled: np.ndarray | None = None
    together: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Data:
        """Some rows, some perhaps several times."""
        found = {i: [Happened(one.rows[rows], one.how) for one in ways] for i, ways in self.happened.items()}
        return Data(self.values[rows], found, together=None if self.together is None else self.together[rows])

    def only(self, some: np.ndarray) -> Data:
        """Some of the variables."""
        found = {k: self.happened[int(i)] for k, i in enumerate(some) if int(i) in self.happened}
        return Data(self.values[:, some], found, self.sampled, self.together)


def happened(table: Table, experiments: Experiments) -> dict[int, list[Happened]]:
    """What the conditions of a table's rows did to its variables."""
    found: dict[int, list[Happened]] = {}
    if table.conditions is None:
        return found
    experiments.check(table.conditions.names, table.names)
    for code, condition in enumerate(table.conditions.names):
        rows = table.conditions.codes == code
        for name, how in experiments.acts(condition, table.names).items():
            found.setdefault(table.names.index(name), []).append(Happened(rows, how))
    return found


def origins_of(table: Table, acted: Mapping[int, Sequence[Happened]], some: np.ndarray | None = None) -> Origins:
    """The same for what is asked of a result: groups, and where a variable was acted on, or may have been.

    Of ``some`` of the rows only, if they are given.
    """
    rows = slice(None) if some is None else some
    group = None if table.groups is None or len(table.groups.names) < 2 else table.groups.codes[rows]
    if not acted:
        return Origins(group, None)
    flags = np.zeros((table.count, table.width), dtype=bool)
    for i, ways in acted.items():
        for one in ways:
            flags[:, i] |= one.rows & (one.how != "bypassed")
    return Origins(group, flags[rows] if flags[rows].any() else None)


def posed(table: Table, known: Knowledge, derived: Sequence[Derived] = ()) -> tuple[Limits, np.ndarray | None]:
    """What the graph must obey, and the group of each row as one more column, if there are groups, and not too many."""
    limits = Limits.of(known, table).with_derived(derived, table.names)
    codes = _levels(table)
    return (limits, None) if codes is None else (limits.with_groups(), codes)


def values_of(table: Table, values: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """The numbers with the column of groups, or, with many groups, amounts less their group's mean."""
    if codes is not None:
        return np.column_stack([values, codes])
    if table.groups is None or len(table.groups.names) < 2:
        return values
    group = table.groups.codes
    times = np.bincount(group)
    found = values.copy()
    for j in np.flatnonzero([kind in LEVELLED for kind in table.kinds]):
        less = values[:, j] - (np.bincount(group, weights=values[:, j]) / times)[group]
        if less.std() > 1e-9 * values[:, j].std():
            found[:, j] = less
    return found


def _levels(table: Table) -> np.ndarray | None:
    """(rows,) codes of groups, small ones pooled; None if there is one only, or so many that none has a level."""
    if table.groups is None:
        return None
    codes = table.groups.codes
    times = np.bincount(codes)
    if not 2 <= len(times) <= MAX_CATEGORIES:
        return None
    pooled = np.where((times < _FEW)[codes], -1, codes)
    found = np.unique(pooled, return_inverse=True)[1].astype(np.float64)
    return found if found.max() > 0 else None


@dataclass(frozen=True, eq=False)
class Merged:
    """A table in which one group of indicators is one categorical column, the last.

    What comes before and after it is asked first: indicators one by one are poor effects and poor causes, and each may
    take another place, although they are one variable.

    Parameters
    ----------
    flags, rest : ndarray of int
        The indicators, and the other columns.
    """

    flags: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, one: Derived, names: Sequence[str], limits: Limits) -> Merged | None:
        """None if there are too many, or something is known about some of them."""
        flags = np.array([names.index(name) for name in (one.column, *one.of)])
        rest = np.setdiff1d(np.arange(len(limits.kinds)), flags)
        known = limits.required | limits.before | (limits.beliefs != 0)
        free = (
            not known[flags].any()
            and not known[np.ix_(rest, flags)].any()
            and not limits.forbidden[flags][:, rest].any()
        )
        enough = 2 <= len(flags) < MAX_CATEGORIES and len(rest) > 0
        return cls(flags, rest) if enough and free and not limits.forbidden[np.ix_(rest, flags)].any() else None

    def posed(self, data: Data, limits: Limits) -> tuple[Data, Limits]:
        """The table with one column in place of the indicators."""
        flags = data.values[:, self.flags]
        codes = np.where(flags.any(axis=1), flags.argmax(axis=1), len(self.flags))
        codes = np.unique(codes, return_inverse=True)[1].astype(np.float64)
        inner = data.only(self.rest)
        wider = limits.among(self.rest).with_groups(first=False)
        return replace(inner, values=np.column_stack([inner.values, codes])), wider

    def placed(self, found: Posterior, limits: Limits) -> Limits:
        """The limits with the indicators before, or after, what their one variable surely is."""
        before = limits.before.copy()
        share = found.ancestry[-1, :-1]  # of the sampled orders in which it comes first
        before[np.ix_(self.flags, self.rest[share >= SURE])] = True
        before[np.ix_(self.rest[share <= 1 - SURE], self.flags)] = True
        return replace(limits, before=before | reachability(before))


def undecided_at(found: Posterior, derived: Sequence[Derived], names: Sequence[str]) -> Posterior:
    """The posterior with even directions between columns of which one was computed from the others, who knows which."""
    probability, margin = found.probability.copy(), found.margin.copy()
    for one in derived:
        if one.known or one.how == "indicators":
            continue
        members = [names.index(name) for name in (one.column, *one.of)]
        at = np.ix_(members, members)
        finite = np.isfinite(margin[at])  # what knowledge decides stays
        even = (probability[at] + probability[at].T) / 2
        probability[at] = np.where(finite, even, probability[at])
        margin[at] = np.where(finite, 0.0, margin[at])
    return replace(found, probability=probability, margin=margin)


def without_groups(found: Posterior, d: int) -> Posterior:
    """The posterior of the first d variables."""
    return replace(
        found,
        order=tuple(i for i in found.order if i < d),
        probability=found.probability[:d, :d],
        ancestry=found.ancestry[:d, :d],
        margin=found.margin[:d, :d],
        graphs=found.graphs[:, :d, :d],
        orders=np.array([[i for i in order if i < d] for order in found.orders]),
    )


@dataclass(frozen=True, eq=False)
class Limits:
    """What the graph must obey, (d, d) with ``A[i, j]`` for ``i -> j``, and the kinds of the columns.

    ``beliefs`` are log odds.
    """

    required: np.ndarray
    forbidden: np.ndarray
    before: np.ndarray
    beliefs: np.ndarray
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, known: Knowledge, table: Table) -> Limits:
        names = table.names
        return cls(*known.matrices(names), known.before(names), known.beliefs(names), table.kinds)

    def score(self, data: Data, model: Model) -> Score:
        """The score of a table under these limits."""
        design = measure(data.values, self.kinds, model.scales, sampled=data.sampled)
        together = None if data.together is None else data.together[design.sampled]
        return self.over(replace(design, own=own_problems(design, data.happened), together=together), model)

    def over(self, design: Design, model: Model) -> Score:
        """The score of a table that was measured."""
        allowed = ~self.forbidden & ~np.eye(len(self.forbidden), dtype=bool)
        return score_of(
            design,
            model.offer,
            shared=model.shared,
            prior=Prior(self.beliefs, allowed, self.required),
            must_precede=self.before,
        )

    def among(self, some: np.ndarray) -> Limits:
        """The same for some of the variables."""
        at = np.ix_(some, some)
        kinds = tuple(self.kinds[int(k)] for k in some)
        return Limits(self.required[at], self.forbidden[at], self.before[at], self.beliefs[at], kinds)

    def with_derived(self, derived: Sequence[Derived], names: Sequence[str]) -> Limits:
        """The same with derived columns after what they are computed from, and no edges among indicators of a group."""
        forbidden, before = self.forbidden.copy(), self.before.copy()
        for one in derived:
            y, S = names.index(one.column), [names.index(name) for name in one.of]
            if one.how == "indicators":
                forbidden[np.ix_([y, *S], [y, *S])] |= ~self.required[np.ix_([y, *S], [y, *S])]
                np.fill_diagonal(forbidden, self.forbidden.diagonal())
            elif one.known and not before[y, S].any():
                before[S, y] = True
                before |= reachability(before)
        return replace(self, forbidden=forbidden, before=before)

    def with_groups(self, *, first: bool = True) -> Limits:
        """The same with one more categorical column, before all others and likely a cause of each, unless not first."""
        d = len(self.kinds)

        def wider(matrix: np.ndarray, row: object, column: object) -> np.ndarray:
            found = np.zeros((d + 1, d + 1), dtype=matrix.dtype)
            found[:d, :d], found[d, :d], found[:d, d] = matrix, row, column
            return found

        return Limits(
            wider(self.required, False, False),
            wider(self.forbidden, False, first),
            wider(self.before, first, False),
            wider(self.beliefs, _LIKELY if first else 0.0, 0.0),
            (*self.kinds, "categorical"),
        )
