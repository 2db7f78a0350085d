"""A result on disk: ``result.npz`` holds everything, ``result.json`` the same description for people.

The .npz holds the arrays and the description, so that one rename replaces everything. Format 2 is that of version 0.1:
there the phases of conditional tuning were named after the paper's, which they are not.
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
from dagtune.validation import InputError, check_choice, check_names

__all__ = ["FORMER_PHASES", "load_fields", "save_fields"]

_FORMAT = 3
_READABLE = (2, _FORMAT)
#: Fields that are arrays; not every learner gives the optional ones.
_ARRAYS = ("strength", "opening")
_OPTIONAL = ("score", "probability")
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
)

#: Phases of conditional tuning up to 0.1, and the phases of today whose graphs together were the graph after each.
FORMER_PHASES = {
    "optimal": ("order",),
    "deletion": ("screened",),
    "addition": ("screened", "kept"),
    "formalization": ("kept",),
}


def save_fields(folder: str | os.PathLike[str], fields: Mapping[str, Any]) -> Path:
    """Write the fields of a Result into ``folder``; an earlier result there is replaced at once."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    described = json.dumps(
        {
            "format": _FORMAT,
            **{name: fields[name] for name in _PLAIN},
            "settings": dict(fields["settings"]),
            "phases": list(fields["graphs"]),
            "changes": [_pack(change) for change in fields["changes"]],
            "checks": [check._asdict() for check in fields["checks"]],
        },
        indent=1,
    ).encode()
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        graphs=np.array(list(fields["graphs"].values())),
        description=np.frombuffer(described, dtype=np.uint8),
        **{name: fields[name] for name in (*_ARRAYS, *_OPTIONAL) if fields[name] is not None},
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
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("graphs", *_ARRAYS)}
            arrays |= {name: file[name] for name in _OPTIONAL if name in file}
            found = json.loads(file["description"].tobytes())
        if found["format"] not in _READABLE:
            known = " and ".join(map(str, _READABLE))
            raise InputError(f"{str(folder)!r} has format {found['format']!r}, this version reads {known}")
        if found["format"] == 2 and found["settings"].get("learner") == "conditional-tuning":
            found, arrays["graphs"] = _with_phases_of_today(found, arrays["graphs"])
        return _fitting(found, arrays)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"can't read the result in {str(folder)!r} ({error}): save it again") from error


def _fitting(found: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The fields, if shapes, names and order fit together."""
    names = check_names(found["names"], count=len(arrays["strength"]))
    shape = (len(names), len(names))
    graphs, squares = arrays["graphs"], {name: array for name, array in arrays.items() if name != "graphs"}
    if graphs.shape != (len(found["phases"]), *shape) or any(square.shape != shape for square in squares.values()):
        raise ValueError("the arrays do not fit the names")
    if found["order"] and sorted(found["order"]) != sorted(names):
        raise ValueError("the order does not name every variable once")
    fields = {name: tuple(value) if isinstance(value := found[name], list) else value for name in _PLAIN}
    return fields | {
        "names": names,
        "graphs": {phase: graph.as_matrix(each) for phase, each in zip(found["phases"], graphs, strict=True)},
        "changes": tuple(_unpack(change) for change in found["changes"]),
        "checks": tuple(Check(**{**check, "against": tuple(check["against"])}) for check in found["checks"]),
        **squares,
    }


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
    cause, effect = packed["edge"]
    return Change(
        phase=packed["phase"],
        action=check_choice("action", packed["action"], ACTIONS),
        edge=(cause, effect),
        rule=packed["rule"],
        triple=None if packed["triple"] is None else tuple(packed["triple"]),
        numbers=tuple(Measured(what, child, tuple(pa), float(value)) for what, child, pa, value in packed["numbers"]),
        cycle=tuple(packed["cycle"]),
    )
