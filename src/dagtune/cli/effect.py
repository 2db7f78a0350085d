"""`dagtune effect`: what happens to one variable if another is set, from a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dagtune.cli.options import Json, Quiet

__all__ = ["register"]


_HEAD = ["  cause", "step", "effect", "interval", "graphs"]


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("effect", epilog="Example: dagtune effect result --of spend --on income --from 10 --to 20")(effect)


def effect(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder that dagtune learn wrote.")],
    on: Annotated[str, typer.Option(metavar="NAME", help="Variable that is looked at.")],
    of: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable that is set; without it, all are ranked.")
    ] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="VALUE", help="Default: lower quartile.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="VALUE", help="Default: upper quartile.")] = None,
    category: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="If --on has categories: the one looked at.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what happens to one variable if another is set, and how sure that is."""
    from dagtune.cli.terminal import Talk
    from dagtune.result import Result
    from dagtune.text import columns_of_text, printable
    from dagtune.validation import InputError

    talk = Talk(quiet=quiet, as_json=as_json)
    found = Result.load(result)
    if of is None:
        if (start, end, category) != (None, None, None):
            raise InputError("--from, --to and --category need --of: which variable is set?")
        table = found.effects(on)
        talk.say(f"Total effects on {printable(on)} of a step from the lower to the upper quartile, 90 % intervals:")
        rows = table.to_dict("records")
        for line in columns_of_text([_HEAD, *(_cells(row) for row in rows)], right=(2, 3, 4)):
            talk.say(line)
        talk.give("effects", {"on": on, "effects": rows})
        return
    answer = found.effect(of, on, from_=start, to=end, category=category)
    talk.say(answer.words)
    for text in answer.assumptions:
        talk.say(f"  assumed: {text}")
    talk.give("effect", answer.as_dict())


def _cells(row: dict[Any, Any]) -> list[str]:
    """A row of the table of all effects."""
    from dagtune.text import printable, value_words

    on = f" of {value_words(row['category'])}" if "category" in row else ""
    step = f"{value_words(row['from'])} to {value_words(row['to'])}"
    interval = f"{row['low']:.3g} to {row['high']:.3g}"
    return [f"  {printable(row['cause'])}", step, f"{row['effect']:.3g}{on}", interval, f"{row['share']:.0%}"]
