"""How two results differ: last month's table and this month's, or two learners on one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dagtune.graph import as_matrix
from dagtune.metrics import shd
from dagtune.text import plain
from dagtune.validation import InputError

if TYPE_CHECKING:
    from dagtune.result.result import Result

__all__ = ["Difference", "difference"]

#: Settings that say how a run went, not what was asked for.
_NOT_TOLD = ("seconds", "disagreement", "edge_rate")


@dataclass(frozen=True)
class Difference:
    """How the second of two results differs from the first, among the variables that both have.

    Parameters
    ----------
    names : tuple of str
        The variables of both, in the order of the first.
    only_first, only_second : tuple of str
        Variables of one of them.
    kept, gone, new, reversed : tuple of (str, str)
        (cause, effect): edges of both; of the first only; of the second only; and those of the first that have the
        other direction in the second.
    shifts : tuple of (str, str, float, float)
        (cause, effect, before, after): the probabilities of directed edges, the largest change first. Empty if a result
        has none.
    settings : mapping of str to (object, object)
        Settings that differ.
    shd : int
        Structural Hamming distance: how many pairs are joined differently.
    """

    names: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    gone: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]
    reversed: tuple[tuple[str, str], ...]
    shifts: tuple[tuple[str, str, float, float], ...]
    settings: dict[str, tuple[Any, Any]]
    shd: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        pairs = {name: [list(edge) for edge in getattr(self, name)] for name in ("kept", "gone", "new", "reversed")}
        return {
            "names": list(self.names),
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            **pairs,
            "shifts": [
                {"cause": cause, "effect": effect, "before": before, "after": after}
                for cause, effect, before, after in self.shifts
            ],
            "settings": {name: list(values) for name, values in self.settings.items()},
            "shd": self.shd,
        }


def difference(first: Result, second: Result) -> Difference:
    """How the second result differs from the first.

    Parameters
    ----------
    first, second : Result

    Returns
    -------
    Difference

    Raises
    ------
    InputError
        If they have fewer than two variables in common.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import OptimalTuning
    >>> from dagtune.result import difference
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> result = OptimalTuning().fit(x).result_
    >>> difference(result, result).shd
    0
    """
    names = tuple(name for name in first.names if name in second.names)
    if len(names) < 2:
        raise InputError(
            f"the two results have {len(names)} variables in common, of {len(first.names)} and {len(second.names)}: "
            "compare results of the same table, or of tables with the same columns"
        )
    before, after = (as_matrix(result.to_frame().loc[list(names), list(names)]) for result in (first, second))

    def edges(which: np.ndarray) -> tuple[tuple[str, str], ...]:
        return tuple((names[i], names[j]) for i, j in np.argwhere(which))

    turned = before & ~after & after.T
    return Difference(
        names=names,
        only_first=tuple(name for name in first.names if name not in names),
        only_second=tuple(name for name in second.names if name not in names),
        kept=edges(before & after),
        gone=edges(before & ~after & ~turned),
        new=edges(after & ~before & ~turned.T),
        reversed=edges(turned),
        shifts=_shifts(first, second, names),
        settings={
            name: (plain(first.settings.get(name)), plain(second.settings.get(name)))
            for name in dict.fromkeys((*first.settings, *second.settings))
            if name not in _NOT_TOLD and first.settings.get(name) != second.settings.get(name)
        },
        shd=int(shd(before, after)),
    )


def _shifts(first: Result, second: Result, names: tuple[str, ...]) -> tuple[tuple[str, str, float, float], ...]:
    if first.probability is None or second.probability is None:
        return ()
    p, q = (
        result.probability[np.ix_(*2 * [[result.names.index(name) for name in names]])]  # type: ignore[index]
        for result in (first, second)
    )
    order = np.argsort(-np.abs(p - q), axis=None, kind="stable")
    pairs = [divmod(int(k), len(names)) for k in order]
    return tuple((names[i], names[j], float(p[i, j]), float(q[i, j])) for i, j in pairs if p[i, j] != q[i, j])
