"""What the verbs print: text for people or one JSON document on stdout, and progress.

On a terminal progress is a bar on stderr, with the time left. Otherwise it is plain lines on stdout, or nothing if
stdout holds JSON, so that a log of stderr holds errors only. Verbs import this module at their top, so nothing heavy
may load with it.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dagtune.progress import Progress

__all__ = ["VERSION", "Talk"]

#: Version of the JSON documents: it grows when a field goes or changes its meaning, not when one is added.
VERSION = 1

#: Seconds between two plain lines about one phase.
_BETWEEN = 5.0


class Talk:
    """Where a verb prints: ``quiet`` leaves errors only, ``as_json`` keeps stdout for one document."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json

    def say(self, text: str = "", *, style: str = "") -> None:
        """Print lines for a person, in a ``style`` if on a terminal. Names in them must be printable already."""
        if not self.quiet and not self.as_json:
            _print(text, style)

    def give(self, kind: str, document: dict[str, Any]) -> None:
        """Print the JSON document of a kind in docs/schema.json, if one was asked for; NaN and infinity become null."""
        if self.as_json:
            print(json.dumps({"document": kind, "version": VERSION, **_finite(document)}, indent=2))

    @contextmanager
    def progress(self, *, after: float = 0.0) -> Iterator[Progress]:
        """A function that is told (phase, share done) and shows it while the block runs.

        Plain lines begin after so many seconds: what takes less needs none.
        """
        if self.quiet:
            yield lambda phase, share: None
        elif sys.stderr.isatty():
            with _bar() as tell:
                yield tell
        elif self.as_json:
            yield lambda phase, share: None
        else:
            yield _PlainLines(after)


class _PlainLines:
    """A line when a phase begins, then one every few seconds."""

    def __init__(self, after: float) -> None:
        self._phase, self._told, self._after = "", 0.0, after
        self._start = self._phase_start = time.monotonic()

    def __call__(self, phase: str, share: float) -> None:
        now = time.monotonic()
        if now - self._start < self._after:
            return
        if phase != self._phase:
            self._phase, self._phase_start = phase, now
            text = _visible(phase)
        elif now - self._told >= _BETWEEN and share < 1:
            left = f"{(now - self._phase_start) * (1 - share) / share:.0f}" if share else ""
            text = f"{_visible(phase)}: " + (f"{share:.0%}, about {left} s left" if share else "still at it")
        else:
            return
        self._told = now
        print(f"[{now - self._start:6.1f} s] {text}", flush=True)


@contextmanager
def _bar() -> Iterator[Progress]:
    """A bar on stderr for the current phase; it disappears when the block ends."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task, current = bar.add_task("starting", total=1.0), ""

        def tell(phase: str, share: float) -> None:
            nonlocal current
            if phase != current:
                bar.reset(task, description=escape(_visible(phase)), total=1.0)
                current = phase
            bar.update(task, completed=share)

        yield tell


def _visible(phase: str) -> str:
    """A phase, which may hold the name of a file, made safe for a terminal."""
    if phase.isprintable():
        return phase
    from dagtune.text import printable

    return printable(phase)


def _print(text: str, style: str) -> None:
    if style and sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        Console(file=sys.stdout, soft_wrap=True).print(Text(text, style=style))
    else:
        print(text)


def _finite(value: Any) -> Any:
    """``value`` with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
