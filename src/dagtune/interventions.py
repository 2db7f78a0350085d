"""Experiments: under which condition each row was taken, and which variables each condition acted on, and how.

    Experiments(column="condition", targets={"pma": ["pkc"], "knock-out": {"raf": "set"}, "heat": "?"})

says that the column "condition" names each row's condition. Under "pma" something was done to pkc, the data say what;
under "knock-out" raf was set from outside; under "heat" it is not known what was acted on; under other conditions
nothing was done. In a file the same words stand in TOML or JSON.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagtune.text import printable
from dagtune.validation import InputError, check_choice, read_entries

__all__ = ["HOW", "Experiments"]

#: What may be said of a variable under a condition: set from outside; disturbed, so that its causes act in another way;
#: not known, so that the data say.
HOW = ("set", "disturbed", "?")
_FIELDS = ("column", "rows", "targets")


@dataclass(frozen=True)
class Experiments:
    """The condition of each row, and what each condition acted on.

    Parameters
    ----------
    column : str
        The column of the table that names each row's condition; it is no variable of the graph.
    rows : sequence
        Or the condition of each row, one after the other.
    targets : mapping of str to mapping, sequence of str, or "?"
        For each condition the variables that were acted on: ``{"raf": "set"}`` or ``{"raf": "disturbed"}``; ``["raf"]``
        if it is not known how; "?" if it is not known on which. Conditions that are not named acted on nothing.

    Examples
    --------
    >>> Experiments.of({"column": "drug", "targets": {"u0126": ["mek"]}}).acts("u0126", ["raf", "mek"])
    {'mek': '?'}
    """

    column: str = ""
    rows: tuple[str, ...] = ()
    targets: Mapping[str, Mapping[str, str] | str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.column or self.rows)

    @property
    def conditions(self) -> str | tuple[str, ...] | None:
        """What says the condition of each row: the name of a column, or labels."""
        return self.column or self.rows or None

    @classmethod
    def of(cls, given: Any) -> Experiments:
        """Experiments in any form that a learner accepts.

        Parameters
        ----------
        given : None, Experiments, mapping, or path of a .toml or .json file
            None stands for no experiments. A mapping has the entries ``column`` or ``rows``, and ``targets``.

        Returns
        -------
        Experiments

        Raises
        ------
        InputError
            If it can't be read, or says something else.
        """
        if given is None:
            return cls()
        if isinstance(given, Experiments):
            return given
        if isinstance(given, (str, os.PathLike)):
            given = read_entries(given, "experiments")
        if not isinstance(given, Mapping) or set(given) - set(_FIELDS):
            raise InputError(
                'experiments= takes a mapping such as {"column": "condition", "targets": {"drug": ["mek"]}}, or the '
                f"file of one, not {given!r:.60}: its entries are {', '.join(_FIELDS)}"
            )
        column, rows = given.get("column", ""), given.get("rows")
        rows = () if rows is None else tuple(str(row) for row in rows)
        if not isinstance(column, str) or bool(column) == bool(rows):
            raise InputError(
                'experiments= does not say the condition of each row: give "column", the name of a column, or "rows", '
                "one condition for each row"
            )
        targets = given.get("targets", {})
        if not isinstance(targets, Mapping):
            raise InputError('"targets" of experiments= must name conditions: {"drug": ["mek"]}')
        return cls(column, rows, {str(name): _acted(str(name), acted) for name, acted in targets.items()})

    def acts(self, condition: str, names: Sequence[str]) -> dict[str, str]:
        """What a condition did: for each variable acted on "set", "disturbed" or "?"; "unknown" for all if any may be.

        Parameters
        ----------
        condition : str
        names : sequence of str
            The variables.

        Returns
        -------
        dict of str to str
        """
        acted = self.targets.get(condition, {})
        return dict.fromkeys(names, "unknown") if isinstance(acted, str) else dict(acted)

    def check(self, conditions: Sequence[str], names: Sequence[str]) -> None:
        """Refuse conditions that no row has, and targets that are no variables.

        Parameters
        ----------
        conditions, names : sequence of str
            The conditions of the rows, and the variables.

        Raises
        ------
        InputError
        """
        for condition, acted in self.targets.items():
            if condition not in conditions:
                some = ", ".join(map(printable, conditions[:8])) + (", ..." if len(conditions) > 8 else "")
                raise InputError(
                    f'"targets" of experiments= names the condition {condition!r}, which no row has: they are {some}'
                )
            for name in acted if not isinstance(acted, str) else ():
                if name not in names:
                    some = ", ".join(map(printable, names[:8])) + (", ..." if len(names) > 8 else "")
                    raise InputError(
                        f"experiments= says that {condition!r} acted on {name!r}, which is not a column: the columns "
                        f"are {some}"
                    )

    def as_mapping(self) -> dict[str, Any]:
        """The experiments as plain values, without the rows."""
        targets = {name: acted if isinstance(acted, str) else dict(acted) for name, acted in self.targets.items()}
        return {"column": self.column, "targets": targets} if self else {}


def _acted(condition: str, acted: Any) -> Mapping[str, str] | str:
    if isinstance(acted, str):
        return "?" if acted == "?" else {acted: "?"}
    if isinstance(acted, Mapping):
        what = f"what {condition!r} did to a variable"
        return {str(name): check_choice(what, how, HOW) for name, how in acted.items()}
    if isinstance(acted, Sequence):
        return dict.fromkeys(map(str, acted), "?")
    raise InputError(
        f"experiments= says {acted!r} of the condition {condition!r}: name the variables that were acted on, or '?'"
    )
