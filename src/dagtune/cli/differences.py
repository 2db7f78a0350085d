"""`dagtune compare RESULT RESULT`: how two results differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagtune.cli.terminal import Talk

if TYPE_CHECKING:
    from dagtune.result import Difference

__all__ = ["are_results", "compare_results"]

#: Changes of probability that are shown, and the least that is.
_SHOWN, _LEAST = 15, 0.1


def are_results(paths: list[Path]) -> bool:
    """Whether the paths are folders that ``dagtune learn`` wrote, rather than a table."""
    return len(paths) > 1 or (len(paths) == 1 and paths[0].is_dir())


def compare_results(paths: list[Path], talk: Talk) -> None:
    """Print how the second of two results differs from the first."""
    from dagtune.result import Result, difference
    from dagtune.validation import InputError

    if len(paths) != 2:
        raise InputError(f"compare takes one table, or two folders of results, not {len(paths)}: give both folders")
    found = difference(Result.load(paths[0]), Result.load(paths[1]))
    _say(found, paths, talk)
    talk.give("difference", {"first": str(paths[0]), "second": str(paths[1]), **found.as_dict()})


def _say(found: Difference, paths: list[Path], talk: Talk) -> None:
    from dagtune.text import columns_of_text, printable

    for path, names in zip(paths, (found.only_first, found.only_second)):
        if names:
            talk.say(f"only in {printable(path)}: {', '.join(map(printable, names))}")
    talk.say(
        f"{len(found.names)} variables in both: {len(found.kept)} edges kept, {len(found.gone)} gone, "
        f"{len(found.new)} new, {len(found.reversed)} reversed (SHD {found.shd})",
        style="bold",
    )
    for word in ("gone", "new", "reversed"):
        for cause, effect in getattr(found, word):
            talk.say(f"  {word}: {printable(cause)} -> {printable(effect)}")
    shifts = [shift for shift in found.shifts if abs(shift[2] - shift[3]) >= _LEAST]
    if shifts:
        talk.say("Probabilities that changed most")
        rows = [
            [f"  {printable(cause)} -> {printable(effect)}", f"{before:.2f}", f"{after:.2f}"]
            for cause, effect, before, after in shifts[:_SHOWN]
        ]
        for line in columns_of_text([["  edge", "first", "second"], *rows], right=(1, 2)):
            talk.say(line)
        if len(shifts) > _SHOWN:
            talk.say(f"  and {len(shifts) - _SHOWN} more (--json has them all)")
    elif found.shifts:
        talk.say(f"No probability changed by {_LEAST:g} or more.")
    for name, before, after in _entries(found.settings):
        short = [text if len(text) < 60 else f"{text[:57]}..." for text in map(_in_words, (before, after))]
        talk.say(f"{name}: {printable(short[0])} before, {printable(short[1])} now")


def _entries(settings: Mapping[str, tuple[Any, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """The settings that differ; of mappings, such as prior knowledge, the entries that do."""
    for name, (before, after) in settings.items():
        if isinstance(before or {}, dict) and isinstance(after or {}, dict):
            one, other = before or {}, after or {}
            inner = {key: (one.get(key), other.get(key)) for key in {**one, **other} if one.get(key) != other.get(key)}
            yield from ((f"{name}, {key}", *values) for key, values in inner.items())
        else:
            yield name, before, after


def _in_words(value: Any) -> str:
    """A setting as text; nothing given is "none"."""
    return "none" if value is None or value in ([], {}, "") else str(value)
