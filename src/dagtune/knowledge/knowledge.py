"""Prior knowledge about a graph: required edges, forbidden edges, tiers, roots, and beliefs in edges.

The learned graph contains every required edge and no forbidden one. Tiers are groups of names, causes first: no edge
leads from a later tier to an earlier one, and names in no tier are unrestricted. A root has no causes. A belief decides
nothing: with probability p it multiplies the prior odds of its edge by p / (1 - p), and the data have the last word.
Knowledge that contradicts itself is refused when it is created; names that are not columns when it is applied.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dagtune.graph import find_cycle, reachability
from dagtune.knowledge.entries import arrow, read_edges, read_prior, read_roots, read_tiers
from dagtune.validation import InputError, read_entries

__all__ = ["Knowledge"]

_FIELDS = ("required", "forbidden", "tiers", "prior", "roots")


@dataclass(frozen=True, init=False)
class Knowledge:
    """Required and forbidden edges, tiers, beliefs in edges, and roots.

    Parameters
    ----------
    required : iterable of (str, str)
        (cause, effect) names of edges that the graph must contain.
    forbidden : iterable of (str, str)
        (cause, effect) names of edges that the graph must not contain.
    tiers : iterable of iterables of str
        Groups of names, causes first: no edge leads from a later group to an earlier one. A name is in one tier at
        most.
    prior : mapping of (str, str) to float, or iterable of (str, str, float)
        Beliefs: (cause, effect) and a number p strictly between 0 and 1, which multiplies the prior odds of that edge
        by p / (1 - p). So 0.5 changes nothing, 0.8 makes the edge four times as likely against no edge as it was before
        seeing the data, and 0.2 four times less. It says nothing about other edges, not even the reverse.
    roots : str or iterable of str
        Names that have no causes.

    Raises
    ------
    InputError
        If an entry is no pair of names, a belief is not strictly between 0 and 1, or the knowledge contradicts itself:
        an edge both required and forbidden, a required edge back to an earlier tier or to a root, a cycle of required
        edges, or a belief in an edge that is decided.

    Examples
    --------
    >>> Knowledge(required=[("rain", "wet")], tiers=[["rain"], ["wet", "slippery"]])
    Knowledge(required=(('rain', 'wet'),), forbidden=(), tiers=(('rain',), ('wet', 'slippery')), prior=(), roots=())
    >>> Knowledge(prior={("rain", "wet"): 0.8}).prior
    (('rain', 'wet', 0.8),)
    """

    required: tuple[tuple[str, str], ...]
    forbidden: tuple[tuple[str, str], ...]
    tiers: tuple[tuple[str, ...], ...]
    prior: tuple[tuple[str, str, float], ...]
    roots: tuple[str, ...]

    def __init__(
        self,
        required: Iterable[Sequence[Any]] = (),
        forbidden: Iterable[Sequence[Any]] = (),
        tiers: Iterable[Iterable[Any]] = (),
        prior: Mapping[Any, Any] | Iterable[Sequence[Any]] = (),
        roots: str | Iterable[Any] = (),
    ) -> None:
        object.__setattr__(self, "required", read_edges("required", required))
        object.__setattr__(self, "forbidden", read_edges("forbidden", forbidden))
        object.__setattr__(self, "tiers", read_tiers(tiers))
        object.__setattr__(self, "prior", read_prior(prior))
        object.__setattr__(self, "roots", read_roots(roots))
        self._refuse_contradictions()
        self._refuse_beliefs_in_what_is_decided()

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Knowledge:
        """Knowledge from a mapping.

        Parameters
        ----------
        mapping : Mapping
            May have the keys ``required``, ``forbidden``, ``tiers``, ``prior`` and ``roots``, with values as in the
            constructor.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If there are other keys, or the constructor refuses the values.

        Examples
        --------
        >>> Knowledge.from_mapping({"forbidden": [["wet", "rain"]]})
        Knowledge(required=(), forbidden=(('wet', 'rain'),), tiers=(), prior=(), roots=())
        """
        if not isinstance(mapping, Mapping):
            raise InputError(
                f"knowledge must be a mapping with the keys {', '.join(_FIELDS)}, not {type(mapping).__name__}"
            )
        for key in mapping:
            if key not in _FIELDS:
                close = difflib.get_close_matches(str(key), _FIELDS, n=1, cutoff=0.5)
                guess = f"; did you mean {close[0]!r}?" if close else ""
                raise InputError(f"unknown knowledge entry {key!r}: use {', '.join(_FIELDS)}{guess}")
        return cls(**{key: mapping[key] for key in _FIELDS if key in mapping})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Knowledge from a small .toml or .json file.

        The entries are those of :meth:`from_mapping`; in TOML::

            required = [["rain", "wet"]]
            forbidden = [["wet", "rain"]]
            tiers = [["rain"], ["wet", "slippery"]]
            prior = [["wet", "slippery", 0.8]]
            roots = ["rain"]

        Parameters
        ----------
        path : str or path-like
            The suffix must be .toml or .json.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If the file does not exist, can't be parsed, or holds entries that are refused.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "known.toml"
        ...     _ = path.write_text('required = [["rain", "wet"]]')
        ...     Knowledge.from_file(path)
        Knowledge(required=(('rain', 'wet'),), forbidden=(), tiers=(), prior=(), roots=())
        """
        return cls.from_mapping(read_entries(path, "knowledge"))

    @classmethod
    def of(cls, given: Any) -> Knowledge:
        """Knowledge in any form that a learner accepts.

        Parameters
        ----------
        given : None, Knowledge, Mapping, str or path-like
            None stands for no knowledge; a string is the path of a file.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            As :meth:`from_mapping` and :meth:`from_file`.

        Examples
        --------
        >>> bool(Knowledge.of(None))
        False
        """
        if given is None:
            return cls()
        if isinstance(given, Knowledge):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.from_file(given)
        return cls.from_mapping(given)

    def __bool__(self) -> bool:
        """Whether there is any knowledge at all."""
        return any(getattr(self, key) for key in _FIELDS)

    def with_roots(self, roots: str | Iterable[Any]) -> Knowledge:
        """This knowledge and further roots.

        Parameters
        ----------
        roots : str or iterable of str
            Names that have no causes.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If that contradicts what is known.

        Examples
        --------
        >>> Knowledge(required=[("rain", "wet")]).with_roots("rain").roots
        ('rain',)
        """
        more = read_roots(roots)
        return replace(self, roots=(*self.roots, *more)) if more else self

    def as_mapping(self) -> dict[str, list[Any]]:
        """Mapping that :meth:`from_mapping` reads, made of dict, list, str and float only.

        Returns
        -------
        dict of str to list
            Lists of lists of str; those of ``prior`` are (str, str, float), and ``roots`` is a list of str.

        Examples
        --------
        >>> Knowledge(required=[("rain", "wet")]).as_mapping()
        {'required': [['rain', 'wet']], 'forbidden': [], 'tiers': [], 'prior': [], 'roots': []}
        """
        return {
            key: [entry if isinstance(entry, str) else list(entry) for entry in getattr(self, key)] for key in _FIELDS
        }

    def matrices(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Required and forbidden edges as matrices.

        Parameters
        ----------
        names : sequence of str
            Columns of the table, in order.

        Returns
        -------
        required, forbidden : ndarray of bool, shape (d, d)
            Entry [i, j] is about the edge ``i -> j``. ``forbidden`` includes what the tiers forbid, causes of roots,
            and the reverse of each required edge, which would close a cycle.

        Raises
        ------
        InputError
            If the knowledge uses a name that is not in ``names``.

        Examples
        --------
        >>> required, forbidden = Knowledge(required=[("a", "b")]).matrices(["a", "b"])
        >>> forbidden
        array([[False, False],
               [ True, False]])
        """
        position = self._positions(names)
        required = np.zeros((len(names), len(names)), dtype=bool)
        forbidden = required.copy()
        for matrix, edges in ((required, self.required), (forbidden, self.forbidden)):
            for cause, effect in edges:
                matrix[position[cause], position[effect]] = True
        for late in range(len(self.tiers)):
            for early in range(late):
                forbidden[np.ix_([position[x] for x in self.tiers[late]], [position[x] for x in self.tiers[early]])] = (
                    True
                )
        for root in self.roots:
            forbidden[np.arange(len(names)) != position[root], position[root]] = True
        return required, forbidden | required.T

    def before(self, names: Sequence[str]) -> np.ndarray:
        """Which variables must come before which others in a causal order; roots come first.

        Tiers forbid edges, not paths through names that are in no tier. If required edges form such a path backwards,
        the tiers say nothing about the order and are left out.

        Parameters
        ----------
        names : sequence of str
            Columns of the table, in order.

        Returns
        -------
        ndarray of bool, shape (d, d)
            Entry [i, j] is true if i must come before j.

        Raises
        ------
        InputError
            If the knowledge uses a name that is not in ``names``.

        Examples
        --------
        >>> Knowledge(tiers=[["b"], ["a"]]).before(["a", "b"])
        array([[False, False],
               [ True, False]])
        """
        required, _ = self.matrices(names)
        tier_of = {name: number for number, members in enumerate(self.tiers) for name in members}
        tier = np.array([tier_of.get(name, -1) for name in names])
        in_tier = tier >= 0
        root = np.array([name in self.roots for name in names], dtype=bool)
        first = root[:, None] & ~root
        both = reachability(required | first | (in_tier[:, None] & in_tier & (tier[:, None] < tier)))
        return reachability(required) if both.diagonal().any() else both

    def beliefs(self, names: Sequence[str]) -> np.ndarray:
        """Beliefs as log odds, to be added to the log prior odds of each edge.

        Parameters
        ----------
        names : sequence of str
            Columns of the table, in order.

        Returns
        -------
        ndarray of float, shape (d, d)
            Entry [i, j] is log(p / (1 - p)) for the edge ``i -> j``, and 0 where nothing is said.

        Raises
        ------
        InputError
            If the knowledge uses a name that is not in ``names``.

        Examples
        --------
        >>> Knowledge(prior={("a", "b"): 0.8}).beliefs(["a", "b"]).round(3)
        array([[0.   , 1.386],
               [0.   , 0.   ]])
        """
        position = self._positions(names)
        odds = np.zeros((len(names), len(names)))
        for cause, effect, p in self.prior:
            odds[position[cause], position[effect]] = np.log(p) - np.log1p(-p)
        return odds

    def without_beliefs(self, learner: str) -> Knowledge:
        """This knowledge, for a learner that can't use beliefs; they are refused rather than ignored.

        Parameters
        ----------
        learner : str
            Name of the learner, for the message.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If there are beliefs.

        Examples
        --------
        >>> Knowledge(required=[("a", "b")]).without_beliefs("OptimalTuning").required
        (('a', 'b'),)
        """
        if self.prior:
            cause, effect, p = self.prior[0]
            raise InputError(
                f"{learner} can't use beliefs (prior: {arrow((cause, effect))} with {p:g}), only ConditionalTuning "
                "uses them: leave prior out, or make the edge required or forbidden"
            )
        return self

    def _positions(self, names: Sequence[str]) -> dict[str, int]:
        """Position of each column; names that are not columns are refused."""
        position = {name: i for i, name in enumerate(names)}
        for what, used in (
            *(("edge", edge) for edge in self.required + self.forbidden),
            *(("tier", t) for t in self.tiers),
            *(("prior", entry[:2]) for entry in self.prior),
            *(("root", (name,)) for name in self.roots),
        ):
            for name in used:
                if name not in position:
                    close = difflib.get_close_matches(name, list(position), n=1, cutoff=0.5)
                    guess = f"; did you mean {close[0]!r}?" if close else ""
                    raise InputError(f"knowledge ({what} {list(used)}) uses {name!r}, which is not a column{guess}")
        return position

    def _refuse_beliefs_in_what_is_decided(self) -> None:
        """Refuse beliefs in edges that are required, forbidden, the reverse of a required one, or against the tiers."""
        tier = {name: number for number, names in enumerate(self.tiers) for name in names}
        for cause, effect, _ in self.prior:
            if (cause, effect) in self.required:
                said = "required"
            elif (cause, effect) in self.forbidden:
                said = "forbidden"
            elif (effect, cause) in self.required:
                said = "ruled out, because its reverse is required"
            elif cause in tier and effect in tier and tier[cause] > tier[effect]:
                said = "ruled out by the tiers"
            elif effect in self.roots:
                said = f"ruled out, because {effect!r} is a root"
            else:
                continue
            raise InputError(f"prior has a belief in {arrow((cause, effect))}, which is {said}: drop one of the two")

    def _refuse_contradictions(self) -> None:
        """Refuse edges both required and forbidden, required edges against the tiers, and cycles of required edges."""
        both = [edge for edge in self.required if edge in set(self.forbidden)]
        if both:
            raise InputError(f"edge {arrow(both[0])} is both required and forbidden: drop one of the two")
        tier = {name: number for number, names in enumerate(self.tiers) for name in names}
        for cause, effect in self.required:
            if cause in tier and effect in tier and tier[cause] > tier[effect]:
                raise InputError(
                    f"required edge {arrow((cause, effect))} leads from tier {tier[cause] + 1} back to tier "
                    f"{tier[effect] + 1}: drop the edge, or move one of the names to another tier"
                )
            if effect in self.roots:
                raise InputError(
                    f"required edge {arrow((cause, effect))} gives the root {effect!r} a cause: drop one of the two"
                )
        nodes = sorted({name for edge in self.required for name in edge})
        matrix = np.zeros((len(nodes), len(nodes)), dtype=bool)
        for cause, effect in self.required:
            matrix[nodes.index(cause), nodes.index(effect)] = True
        cycle = find_cycle(matrix)
        if cycle is not None:
            raise InputError(f"required edges close a cycle ({arrow([nodes[i] for i in cycle])}): drop one of them")
