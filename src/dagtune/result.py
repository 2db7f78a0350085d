"""What was learned, each step that led there with its evidence, and ways to hand it on.

A :class:`Result` holds the graph after each phase and the :class:`Change` objects between the first and the last:
replaying all changes over the first graph gives the last. Column names are somebody's text: they are escaped wherever
they could mean something else (DOT, GraphML, the terminal).
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pandas as pd

from dagtune import graph
from dagtune.pictures import draw_graph, draw_phases
from dagtune.text import printable
from dagtune.validation import InputError, check_choice, check_names

__all__ = ["Change", "Check", "Measured", "Result", "replay"]

#: What an action does to its edge.
_PRESENT_AFTER = {"add": True, "require": True, "delete": False, "remove": False, "forbid": False}
_FORMAT = 2
#: Arrays that not every learner gives.
_OPTIONAL = ("score", "probability")


class Measured(NamedTuple):
    """One of the numbers compared: ``what`` measured between ``child`` and its candidate ``parents`` together."""

    what: str
    child: Any
    parents: tuple[Any, ...]
    value: float

    def __str__(self) -> str:
        """``HSIC(c, a + b) = 0.0123``; a joint kernel writes ``joint HSIC(c, (a, b))``."""
        names = [printable(name) for name in self.parents]
        together = f"({', '.join(names)})" if self.what.startswith("joint") and len(names) > 1 else " + ".join(names)
        return f"{self.what}({printable(self.child)}, {together}) = {self.value:.4g}"


class Change(NamedTuple):
    """One edge that came or went: when, by which rule, and the numbers that were compared.

    Inside the tuning phase nodes are positions; in a :class:`Result` they are names.
    """

    #: The phase it happened in, one of ``Result.phases``.
    phase: str
    #: "add" and "require" put the edge in; "delete", "remove" and "forbid" take it out.
    action: str
    #: (cause, effect).
    edge: tuple[Any, Any]
    #: The rule that fired, in words.
    rule: str
    #: (child, j, k, ...) whose rule fired, if it was one of a child and its candidate parents.
    triple: tuple[Any, ...] | None = None
    #: The numbers compared.
    numbers: tuple[Measured, ...] = ()
    #: The directed cycle that had to be broken, its first node repeated at the end, if there was one.
    cycle: tuple[Any, ...] = ()

    def named(self, names: Sequence[str]) -> Change:
        """The same change with names for positions."""
        return self._replace(
            edge=(names[self.edge[0]], names[self.edge[1]]),
            triple=None if self.triple is None else tuple([names[i] for i in self.triple]),
            numbers=tuple(
                [Measured(m.what, names[m.child], tuple([names[j] for j in m.parents]), m.value) for m in self.numbers]
            ),
            cycle=tuple([names[i] for i in self.cycle]),
        )

    def __str__(self) -> str:
        """One line for a person."""
        cause, effect = map(printable, self.edge)
        compared = f" [{'; '.join(map(str, self.numbers))}]" if self.numbers else ""
        around = f" in the cycle {' -> '.join(map(printable, self.cycle))}" if self.cycle else ""
        return f"{self.phase}: {self.action} {cause} -> {effect}{around}: {self.rule}{compared}"


class Check(NamedTuple):
    """One look at the fitted model: are the residuals of ``child`` independent of ``against``, as additive noise asks?

    ``p_value`` is of independence, small where the model does not hold; ``holds`` is that judgement after allowing for
    the number of checks, ``words`` says it to a person.
    """

    child: str
    against: tuple[str, ...]
    statistic: float
    p_value: float
    holds: bool
    words: str


def replay(first: np.ndarray, changes: Iterable[Change], names: Sequence[str]) -> np.ndarray:
    """The boolean (d, d) matrix that ``changes`` (by name) turn ``first`` into; each must change something."""
    position = {name: i for i, name in enumerate(names)}
    matrix = first.copy()
    for change in changes:
        cause, effect = (position[name] for name in change.edge)
        if matrix[cause, effect] == _PRESENT_AFTER[change.action]:
            raise InputError(f"the trace does not fit its graph at '{change}'")
        matrix[cause, effect] = not matrix[cause, effect]
    return matrix


@dataclass(frozen=True, eq=False)
class Result:
    """A learned DAG with its history; made by the learners, or read back by :meth:`load`.

    ``graphs`` holds one boolean (d, d) matrix a phase, in order; ``A[i, j]`` means ``i -> j``.
    """

    names: tuple[str, ...]
    graphs: Mapping[str, np.ndarray]
    changes: tuple[Change, ...]
    #: (d, d) strength of each edge of the last graph, NaN elsewhere; ``strength_words`` says what it is.
    strength: np.ndarray
    strength_words: str
    #: (d, d) number by which the first phase judged each edge, and what it is called.
    opening: np.ndarray
    opening_words: str
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: How the learner was called: JSON values only.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: The learner's own order, causes first, if it has one; otherwise any order of the graph serves.
    order: tuple[str, ...] = ()
    #: (d, d) number for every ordered pair by which edges are ranked, high means edge; None ranks by strength alone.
    score: np.ndarray | None = None
    #: (d, d) probability of every directed edge, if the learner gives it, and in words what stands behind it.
    probability: np.ndarray | None = None
    probability_words: str = ""
    #: Where the fitted model was looked at, and whether it holds.
    checks: tuple[Check, ...] = ()

    # The graph ------------------------------------------------------------------------------------------------------

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases, in the order they ran."""
        return tuple(self.graphs)

    def after(self, phase: str) -> pd.DataFrame:
        """0/1 DataFrame of the graph as it stood after ``phase``; row causes column."""
        return graph.to_frame(self.graphs[check_choice("phase", phase, self.phases)], self.names)

    @property
    def matrix(self) -> np.ndarray:
        """Boolean (d, d) matrix of the learned DAG; ``A[i, j]`` means ``i -> j``."""
        return self.graphs[self.phases[-1]]

    @property
    def causal_order(self) -> list[str]:
        """Names, causes first: the learner's order, or of all orders of the graph the one closest to the columns'."""
        return list(self.order) or [self.names[i] for i in graph.topological_order(self.matrix)]

    @property
    def complete_dag(self) -> pd.DataFrame:
        """0/1 DataFrame in which everything causes all that comes later in ``causal_order``; row causes column."""
        rank = np.argsort([self.names.index(name) for name in self.causal_order])
        return graph.to_frame(rank[:, None] < rank, self.names)

    @property
    def scores(self) -> pd.DataFrame:
        """A number for every ordered pair, high means edge, for ranking (``metrics.aupr``); row causes column."""
        values = np.where(self.matrix, self.strength, 0.0) if self.score is None else self.score
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))

    @property
    def strengths(self) -> pd.DataFrame:
        """Strength of each edge, NaN where there is none; row causes column. ``strength_words`` says what it is."""
        return pd.DataFrame(self.strength, index=list(self.names), columns=list(self.names))

    def edges(self) -> pd.DataFrame:
        """One row an edge: cause, effect, strength; the strongest first."""
        where = np.argwhere(self.matrix)
        rows = [(self.names[i], self.names[j], float(self.strength[i, j])) for i, j in where]
        table = pd.DataFrame(rows, columns=["cause", "effect", "strength"])
        return table.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    def parents(self, name: str) -> list[str]:
        """Direct causes of ``name``."""
        return [self.names[i] for i in graph.parents(self.matrix, self._position(name))]

    def descendants(self, name: str) -> list[str]:
        """Everything that ``name`` causes, directly or through others."""
        return [self.names[i] for i in graph.descendants(self.matrix, self._position(name))]

    def adjustment_set(self, cause: str, effect: str) -> list[str]:
        """A set that closes every back door from ``cause`` to ``effect``: the parents of the cause.

        Valid for the learned graph, as far as that is right and no common cause is hidden. Refused where there is
        nothing to adjust for: the effect is the cause, comes before it, or does not depend on it.
        """
        a, b = self._position(cause), self._position(effect)
        if a == b:
            raise InputError(f"cause and effect are both {cause!r}: name two columns")
        reach = graph.reachability(self.matrix)
        if reach[b, a]:
            raise InputError(
                f"{effect!r} comes before {cause!r} in the learned graph ({effect!r} causes it, directly or through "
                f"others), so {cause!r} has no effect on it and no set is needed: swap the two?"
            )
        if not reach[a, b]:
            raise InputError(
                f"no directed path leads from {cause!r} to {effect!r} in the learned graph: its effect there is zero "
                "and no set is needed"
            )
        return self.parents(cause)

    # Why ------------------------------------------------------------------------------------------------------------

    def why(self, cause: str, effect: str) -> str:
        """In a few sentences, why ``cause -> effect`` is in the graph, or why not."""
        a, b = self._position(cause), self._position(effect)
        if a == b:
            raise InputError(f"cause and effect are both {cause!r}: name two columns")
        arrow = f"{printable(cause)} -> {printable(effect)}"
        told = [f"{arrow} is {'' if self.matrix[a, b] else 'not '}in the graph.", self._opening_sentence(a, b)]
        if [cause, effect] in self.settings.get("knowledge", {}).get("required", []):
            told.append("It is required by prior knowledge, so no rule may take it out.")
        story = [change for change in self.changes if change.edge == (cause, effect)]
        told += [_sentence(change) for change in story]
        if self.matrix[a, b]:
            back = [change for change in self.changes if change.edge == (effect, cause) and change.action == "remove"]
            told += [f"Its reverse is out: {_sentence(change)}" for change in back[-1:]]
        if len(told) == 2:
            told.append("No later rule touched it.")
        if self.matrix[b, a]:
            told.append(f"The graph has {printable(effect)} -> {printable(cause)} instead.")
        return " ".join(told)

    def _opening_sentence(self, a: int, b: int) -> str:
        """What the first phase did with the edge, by which number, and where that stands among all."""
        first = self.graphs[self.phases[0]]
        scores, kept = self.opening, first
        judged = ~np.eye(len(scores), dtype=bool)
        if np.array_equal(scores, scores.T):  # the first phase judged pairs, not edges
            judged, kept = np.triu(judged), first | first.T
        rank = 1 + int((scores[judged] > scores[a, b]).sum())
        verb = "kept it" if first[a, b] else ("kept it the other way round" if kept[a, b] else "did not keep it")
        return (
            f"The {self.phases[0]} phase {verb}: {self.opening_words} {scores[a, b]:.4g}, number {rank} of "
            f"{int(judged.sum())}, of which it kept {int(kept[judged].sum())}."
        )

    def __str__(self) -> str:
        """The edges, strongest first, and what to keep in mind."""
        edges = self.edges()
        lines = [f"{len(edges)} edges among {len(self.names)} variables ({self.strength_words})"]
        lines += [
            f"  {printable(cause)} -> {printable(effect)}  {strength:.4g}"
            for cause, effect, strength in edges.itertuples(index=False)
        ]
        if "decision" in self.settings:
            lines.append(f"decided: {self.settings['decision']}")
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    # Pictures -------------------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, title: str = "") -> Any:
        """Draw the graph in layers with matplotlib, stronger edges wider; returns the axes."""
        return draw_graph(self.matrix, self.names, strength=self.strength, ax=ax, title=title)

    def plot_phases(self, axes: Any = None) -> np.ndarray:
        """Draw one panel a phase: edges that came are bold, those that went dashed; returns the axes."""
        return draw_phases(self.graphs, self.names, axes=axes)

    # Ways out -------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """0/1 DataFrame with names; row causes column."""
        return graph.to_frame(self.matrix, self.names)

    def to_networkx(self) -> nx.DiGraph:
        """DiGraph of names; each edge has its ``strength``."""
        result = graph.to_networkx(self.matrix, self.names)
        for i, j in np.argwhere(self.matrix):
            result.edges[self.names[i], self.names[j]]["strength"] = float(self.strength[i, j])
        return result

    def to_lingam(self) -> np.ndarray:
        """0/1 matrix as the lingam package stores it: ``B[i, j] = 1`` means ``j -> i`` (row is the child)."""
        return self.matrix.T.astype(np.float64)

    def to_causal_learn(self) -> np.ndarray:
        """Matrix as causal-learn stores it: ``i -> j`` is ``G[j, i] = 1`` (arrowhead) and ``G[i, j] = -1`` (tail)."""
        tails = self.matrix.astype(np.int64)
        return tails.T - tails

    def to_dot(self) -> str:
        """Graphviz text; nodes are n0, n1, ... with the names as labels."""
        lines = ["digraph {"]
        lines += [f'  n{i} [label="{_dot_text(name)}"];' for i, name in enumerate(self.names)]
        lines += [f"  n{i} -> n{j};" for i, j in np.argwhere(self.matrix)]
        return "\n".join([*lines, "}"]) + "\n"

    def to_graphml(self) -> str:
        """GraphML text; nodes are n0, n1, ... with the attribute ``name``, edges have ``strength``."""
        root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
        for key, kind, what in (("name", "string", "node"), ("strength", "double", "edge")):
            ElementTree.SubElement(root, "key", {"id": key, "for": what, "attr.name": key, "attr.type": kind})
        body = ElementTree.SubElement(root, "graph", edgedefault="directed")
        for i, name in enumerate(self.names):
            node = ElementTree.SubElement(body, "node", id=f"n{i}")
            ElementTree.SubElement(node, "data", key="name").text = printable(name)  # XML has no control characters
        for i, j in np.argwhere(self.matrix):
            edge = ElementTree.SubElement(body, "edge", source=f"n{i}", target=f"n{j}")
            ElementTree.SubElement(edge, "data", key="strength").text = repr(float(self.strength[i, j]))
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def to_json(self) -> str:
        """JSON text for other programs: names, edges with strengths, order, assumptions, warnings, settings."""
        rows = [
            {"cause": cause, "effect": effect, "strength": strength}
            for cause, effect, strength in self.edges().itertuples(index=False)
        ]
        return json.dumps(
            {
                "names": list(self.names),
                "edges": rows,
                "causal_order": self.causal_order,
                "strength": self.strength_words,
                "assumptions": list(self.assumptions),
                "warnings": list(self.warnings),
                "settings": dict(self.settings),
            },
            indent=2,
        )

    def to_csv(self) -> str:
        """Edge list as CSV text: cause, effect, strength; the strongest first."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["cause", "effect", "strength"])
        for cause, effect, strength in self.edges().itertuples(index=False):
            writer.writerow([cause, effect, repr(strength)])
        return text.getvalue()

    # Keeping --------------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``result.npz`` and ``result.json`` into ``folder``; an earlier result there is replaced at once.

        The .npz holds the arrays and the description, so that one rename replaces everything; the .json is the same
        description for people and other programs.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        described = json.dumps(
            {
                "format": _FORMAT,
                "names": list(self.names),
                "phases": list(self.phases),
                "changes": [_pack(change) for change in self.changes],
                "strength_words": self.strength_words,
                "opening_words": self.opening_words,
                "assumptions": list(self.assumptions),
                "warnings": list(self.warnings),
                "settings": dict(self.settings),
                "order": list(self.order),
                "probability_words": self.probability_words,
                "checks": [check._asdict() for check in self.checks],
            },
            indent=1,
        ).encode()
        packed = io.BytesIO()
        graphs = np.array([self.graphs[phase] for phase in self.phases])
        description = np.frombuffer(described, dtype=np.uint8)
        optional = {key: getattr(self, key) for key in _OPTIONAL if getattr(self, key) is not None}
        np.savez_compressed(
            packed, graphs=graphs, strength=self.strength, opening=self.opening, description=description, **optional
        )
        _write_whole(folder / "result.npz", packed.getvalue())
        _write_whole(folder / "result.json", described)
        return folder

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """What :meth:`save` wrote. Nothing in the file is executed; what does not fit together is refused."""
        folder = Path(folder)
        if not (folder / "result.npz").is_file():
            raise InputError(f"there is no saved result in {str(folder)!r}: it has no result.npz")
        try:
            with np.load(folder / "result.npz", allow_pickle=False) as arrays:
                graphs, strength, opening = (arrays[key] for key in ("graphs", "strength", "opening"))
                optional = {key: arrays[key] for key in _OPTIONAL if key in arrays}
                found = json.loads(arrays["description"].tobytes())
            if found["format"] != _FORMAT:
                raise InputError(f"{str(folder)!r} has format {found['format']!r}, this version reads {_FORMAT}")
            names = check_names(found["names"], count=len(strength))
            shape = (len(names), len(names))
            squares = [strength, opening, *optional.values()]
            if graphs.shape != (len(found["phases"]), *shape) or any(square.shape != shape for square in squares):
                raise ValueError("the arrays do not fit the names")
            if found["order"] and sorted(found["order"]) != sorted(names):
                raise ValueError("the order does not name every variable once")
            return cls(
                names=names,
                graphs={phase: graph.as_matrix(each) for phase, each in zip(found["phases"], graphs, strict=True)},
                changes=tuple(_unpack(change) for change in found["changes"]),
                strength=strength,
                strength_words=found["strength_words"],
                opening=opening,
                opening_words=found["opening_words"],
                assumptions=tuple(found["assumptions"]),
                warnings=tuple(found["warnings"]),
                settings=found["settings"],
                order=tuple(found["order"]),
                probability_words=found["probability_words"],
                checks=tuple(Check(**{**check, "against": tuple(check["against"])}) for check in found["checks"]),
                **optional,
            )
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"can't read the result in {str(folder)!r} ({error}): save it again") from error

    def _position(self, name: str) -> int:
        return self.names.index(check_choice("column", name, self.names))


def _dot_text(name: str) -> str:
    """``name`` inside a quoted Graphviz label, where a backslash starts an escape."""
    return printable(name).replace("\\", "\\\\").replace('"', '\\"')


def _sentence(change: Change) -> str:
    """A change told to a person."""
    verbs = {"add": "added", "require": "put", "forbid": "took", "delete": "deleted", "remove": "removed"}
    where = {"require": " in", "forbid": " out"}.get(change.action, "")
    if change.cycle:
        where += f" from the cycle {' -> '.join(map(printable, change.cycle))}"
    numbers = f" ({'; '.join(map(str, change.numbers))})" if change.numbers else ""
    return f"The {change.phase} phase {verbs[change.action]} it{where}: {change.rule}{numbers}."


def _pack(change: Change) -> dict[str, Any]:
    """A change as JSON values."""
    return {
        "phase": change.phase,
        "action": change.action,
        "edge": list(change.edge),
        "rule": change.rule,
        "triple": None if change.triple is None else list(change.triple),
        "numbers": [[m.what, m.child, list(m.parents), m.value] for m in change.numbers],
        "cycle": list(change.cycle),
    }


def _unpack(packed: Mapping[str, Any]) -> Change:
    cause, effect = packed["edge"]
    return Change(
        phase=packed["phase"],
        action=check_choice("action", packed["action"], _PRESENT_AFTER),
        edge=(cause, effect),
        rule=packed["rule"],
        triple=None if packed["triple"] is None else tuple(packed["triple"]),
        numbers=tuple(Measured(what, child, tuple(pa), float(value)) for what, child, pa, value in packed["numbers"]),
        cycle=tuple(packed["cycle"]),
    )


def _write_whole(path: Path, content: bytes) -> None:
    """Write under a temporary name, then rename: nobody sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
