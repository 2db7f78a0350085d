"""Passes over the rows that survive the end of the process: what is finished, and how far the last one was.

A fit makes the same passes in the same order whenever it is started with the same table and options. So the folder
holds one file for each finished pass, by its number, and one for the pass that is under way: the arrays so far and the
rows behind. A second start takes them from there, and the sums have the same digits as without an interruption.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dagtune.files import whole_file, write_whole
from dagtune.validation import InputError

if TYPE_CHECKING:
    from dagtune.tables.rows import Combine, Done, Rows, Statistic

__all__ = ["Store"]

#: Seconds between two looks at the clock's call to write down how far a pass is.
_SELDOM = 10.0


class Store:
    """A folder with the passes of one fit.

    Parameters
    ----------
    folder : str or path
        Made if it is not there.
    seconds : float
        How long a pass goes on before it is written down how far it is.
    """

    def __init__(self, folder: str | os.PathLike[str], seconds: float = _SELDOM) -> None:
        self.folder, self.seconds = Path(folder), seconds
        self._passes = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"the checkpoint {str(folder)!r} is a file: name a folder")
        self.folder.mkdir(parents=True, exist_ok=True)

    def belongs_to(self, part: str, **what: Any) -> None:
        """Refuse a folder that was begun with another table or other options; ``part`` says which of the two."""
        path = self.folder / f"{part}.json"
        given = json.loads(json.dumps(what, sort_keys=True, default=str))
        if path.exists():
            before = json.loads(path.read_text())
            for name in sorted({*before, *given}):
                if before.get(name) != given.get(name):
                    raise InputError(
                        f"the checkpoint {str(self.folder)!r} belongs to another {part}, with {name}="
                        f"{before.get(name)!r} instead of {given.get(name)!r}: give another folder, or remove this one"
                    )
        else:
            write_whole(path, json.dumps(given, sort_keys=True, indent=1))

    def reduce(self, rows: Rows, statistic: Statistic, combine: Combine, done: Done | None = None) -> list[np.ndarray]:
        """The same as :meth:`dagtune.tables.rows.Rows.reduce`, from where an earlier start ended."""
        number = self._passes
        self._passes += 1
        finished, begun = (self.folder / f"pass-{number:04d}{ending}.npz" for ending in ("", "-begun"))
        if finished.exists():
            return _load(finished)[0]
        totals, behind = _load(begun) if begun.exists() else (None, 0)
        last = time.monotonic()

        def keep(arrays: Sequence[np.ndarray], now_behind: int) -> None:
            nonlocal last
            if time.monotonic() - last >= self.seconds and now_behind < rows.count:
                _save(begun, arrays, now_behind)
                last = time.monotonic()

        found = rows.combined(statistic, combine, done, totals=totals, behind=behind, keep=keep)
        _save(finished, found, rows.count)
        begun.unlink(missing_ok=True)
        return found


def _save(path: Path, arrays: Sequence[np.ndarray], behind: int) -> None:
    with whole_file(path) as file:
        named = {"behind": np.array(behind), **{f"a{k}": array for k, array in enumerate(arrays)}}
        np.savez(file, **named)  # type: ignore[arg-type]  # the stubs take each for allow_pickle


def _load(path: Path) -> tuple[list[np.ndarray], int]:
    with np.load(path, allow_pickle=False) as found:
        return [found[f"a{k}"] for k in range(len(found.files) - 1)], int(found["behind"])
