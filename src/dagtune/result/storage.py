"""A result on disk: ``result.npz`` holds everything, ``result.json`` the same description for people.

The .npz holds the arrays and the description, so that one rename replaces everything. Format 2 is that of version 0.1:
there the phases of conditional tuning were named after the paper's, which they are not. Up to format 3 the history was
called graphs, and there was neither a sample of graphs nor a track record.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dagtune import graph
from dagtune.files import write_whole
from dagtune.result.changes import ACTIONS, Change, Check, Measured
from dagtune.tables import Table
from dagtune.tables.rows import MemoryRows
from dagtune.trust.fitted import Workings, pack, unpack
from dagtune.validation import InputError, check_choice, check_names, format_bytes

__all__ = ["FORMER_PHASES", "load_fields", "save_fields"]

_FORMAT = 4
_READABLE = (2, 3, _FORMAT)
#: The most bytes that a saved result may unpack to.
_LARGEST = 2**30
#: Fields that are arrays; not every learner gives the optional ones.
_ARRAYS = ("strength", "opening")
_OPTIONAL = ("score", "probability", "margin", "track_record", "explained")
#: Fields that are JSON values as they are.
_PLAIN = (
    "names",
    "order",
    "strength_words",
    "opening_words",
    "probability_words",
    "assumptions",
    "warnings",
    "settings",
    "track_record_words",
    "cells",
    "derived",
)
#: Their forms, and those of changes and checks: a type, a list of one form, or a mapping with exactly these keys.
_TEXTS, _NUMBER = [str], (float, int)
_FORMS: dict[str, Any] = {
    "names": _TEXTS,
    "order": _TEXTS,
    "assumptions": _TEXTS,
    "warnings": _TEXTS,
    "phases": _TEXTS,
    "cells": _TEXTS,
    "derived": _TEXTS,
    "strength_words": str,
    "opening_words": str,
    "probability_words": str,
    "track_record_words": str,
    "settings": dict,
    "changes": [
        {
            "phase": str,
            "action": str,
            "edge": _TEXTS,
            "rule": str,
            "triple": (_TEXTS, type(None)),
            "numbers": [[(str, _TEXTS, int, float)]],
            "cycle": _TEXTS,
        }
    ],
    "checks": [
        {
            "child": str,
            "against": _TEXTS,
            "statistic": _NUMBER,
            "p_value": _NUMBER,
            "holds": bool,
            "words": str,
        }
    ],
}
#: What formats 2 and 3 do not have.
_NEW: dict[str, Any] = {"track_record_words": "", "cells": [], "derived": []}

#: Phases of conditional tuning up to 0.1, and the phases of today whose graphs together were the graph after each.
FORMER_PHASES = {
    "optimal": ("order",),
    "deletion": ("screened",),
    "addition": ("screened", "kept"),
    "formalization": ("kept",),
}


def save_fields(folder: str | os.PathLike[str], fields: Mapping[str, Any], *, keep_rows: bool = False) -> Path:
    """Write the fields of a Result into ``folder``; an earlier result there is replaced at once."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    fitted: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if fields["kept"] is not None:
        fitted["fitted"], more["fitted"] = pack(fields["kept"])
    if keep_rows:
        more["rows"] = fields["workings"].table.values
    described = json.dumps(
        {
            "format": _FORMAT,
            **{name: fields[name] for name in _PLAIN},
            "settings": dict(fields["settings"]),
            "phases": list(fields["history"]),
            "changes": [_pack(change) for change in fields["changes"]],
            "checks": [check._asdict() for check in fields["checks"]],
            **fitted,
        },
        indent=1,
    ).encode()
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        history=np.array(list(fields["history"].values())),
        graphs=np.asarray(fields["graphs"], dtype=bool),
        description=np.frombuffer(described, dtype=np.uint8),
        **{name: fields[name] for name in (*_ARRAYS, *_OPTIONAL) if fields[name] is not None},
        **more,
    )
    write_whole(folder / "result.npz", packed.getvalue())
    write_whole(folder / "result.json", described)
    return folder


def load_fields(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a Result; nothing in the file is executed, what does not fit together is refused."""
    path = Path(folder) / "result.npz"
    if not path.is_file():
        raise InputError(f"there is no saved result in {str(folder)!r}: it has no result.npz")
    try:
        _refuse_bomb(path)
        with np.load(path, allow_pickle=False) as file:
            found = json.loads(file["description"].tobytes())
            if found["format"] not in _READABLE:
                known = " and ".join(map(str, _READABLE))
                raise InputError(f"{str(folder)!r} has format {found['format']!r}, this version reads {known}")
            former = found["format"] != _FORMAT
            arrays = {name: file[name] for name in (*_ARRAYS, "graphs", *(() if former else ("history",)))}
            arrays |= {name: file[name] for name in _OPTIONAL if name in file}
            more = {name: file[name] for name in ("fitted", "rows") if name in file}
        if former:
            found, arrays["history"] = {**_NEW, **found}, arrays["graphs"]
            arrays["graphs"] = np.zeros((0, *arrays["strength"].shape), dtype=bool)
        if found["format"] == 2 and found["settings"].get("learner") == "conditional-tuning":
            found, arrays["history"] = _with_phases_of_today(found, arrays["history"])
        fields = _fitting(found, arrays)
        return fields | _answering(found, more, fields)
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises whatever its readers do: zlib.error, RecursionError, ...
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"can't read the result in {str(folder)!r} ({why}): save it again") from error


def _refuse_bomb(path: Path) -> None:
    """Refuse an archive that unpacks to more than any result holds."""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > _LARGEST:
        raise ValueError(f"it unpacks to {format_bytes(size)}, more than {format_bytes(_LARGEST)}")


def _fitting(found: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The fields, if shapes, names and order fit together."""
    names = check_names(found["names"], count=len(arrays["strength"]))
    shape = (len(names), len(names))
    history, sample = arrays["history"], arrays["graphs"]
    squares = {name: array for name, array in arrays.items() if name not in ("history", "graphs")}
    if history.shape != (len(found["phases"]), *shape) or sample.shape[1:] != shape:
        raise ValueError("the arrays do not fit the names")
    if any(square.shape != shape for square in squares.values()):
        raise ValueError("the arrays do not fit the names")
    if sample.dtype != bool or any(square.dtype.kind not in "fiub" for square in squares.values()):
        raise ValueError("the arrays hold something else than numbers")
    found = {"derived": [], **found}
    for name, form in _FORMS.items():
        if not _has_form(found[name], form):
            raise ValueError(f"{name!r} has another form; perhaps it is not text")
    if found["order"] and sorted(found["order"]) != sorted(names):
        raise ValueError("the order does not name every variable once")
    if not len(history) or not all(graph.is_dag(each) for each in (graph.as_matrix(history[-1]), *sample)):
        raise ValueError("a learned graph has a cycle, or there is none")
    fields = {name: tuple(value) if isinstance(value := found[name], list) else value for name in _PLAIN}
    return fields | {
        "names": names,
        "history": {phase: graph.as_matrix(each) for phase, each in zip(found["phases"], history, strict=True)},
        "graphs": sample,
        "changes": tuple(_unpack(change) for change in found["changes"]),
        "checks": tuple(Check(**{**check, "against": tuple(check["against"])}) for check in found["checks"]),
        **squares,
    }


def _has_form(value: Any, form: Any) -> bool:
    """Whether a JSON value is as :data:`_FORMS` says."""
    if isinstance(form, tuple):
        return any(_has_form(value, each) for each in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(each, form[0]) for each in value)
    if isinstance(form, dict):
        fits = isinstance(value, dict) and set(value) == set(form)
        return fits and all(_has_form(value[name], form[name]) for name in form)
    return isinstance(value, form)


def _answering(found: Mapping[str, Any], more: Mapping[str, np.ndarray], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fitted mechanisms, and the table if its rows were kept."""
    if "fitted" not in more:
        return {}
    names, matrix = fields["names"], list(fields["history"].values())[-1]
    kept = unpack(found["fitted"], more["fitted"], names, matrix)
    if "rows" not in more:
        return {"kept": kept}
    rows = more["rows"]
    if rows.dtype != np.float64 or rows.ndim != 2 or rows.shape[1] != len(names) or not np.isfinite(rows).all():
        raise ValueError("the rows do not fit the names")
    summary = kept.simulator.summary
    table = Table(MemoryRows(rows), names, summary.kinds, labels=dict(summary.labels))
    return {"kept": kept, "workings": Workings(table)}


def _with_phases_of_today(found: dict[str, Any], graphs: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Rename the phases of version 0.1; its addition is the first half of what is called kept now."""
    now = {former: phases[-1] for former, phases in FORMER_PHASES.items()}
    stays = [phase != "addition" for phase in found["phases"]]
    phases = [now.get(phase, phase) for phase, stay in zip(found["phases"], stays) if stay]
    changes = [{**change, "phase": now.get(change["phase"], change["phase"])} for change in found["changes"]]
    return {**found, "phases": phases, "changes": changes}, graphs[np.array(stays)]


def _pack(change: Change) -> dict[str, Any]:
    """A change as JSON values."""
    return change._asdict() | {"numbers": [list(measured) for measured in change.numbers]}


def _unpack(packed: Mapping[str, Any]) -> Change:
    """The change that was packed."""
    cause, effect = packed["edge"]  # two names
    return Change(
        phase=packed["phase"],
        action=check_choice("action", packed["action"], ACTIONS),
        edge=(cause, effect),
        rule=packed["rule"],
        triple=None if packed["triple"] is None else tuple(packed["triple"]),
        numbers=tuple(Measured(what, child, tuple(pa), float(value)) for what, child, pa, value in packed["numbers"]),
        cycle=tuple(packed["cycle"]),
    )
