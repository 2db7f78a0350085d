"""The registered methods on the command line: their names for completion, and the options of the learners.

:mod:`dagtune.learners` declares the options; nothing here knows a learner by name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from dagtune.cli.options import METHOD, among
from dagtune.learners import METHODS, offered, options_by_name

__all__ = ["LearnerVerb", "method_names", "options_of"]


def method_names(incomplete: str) -> list[str]:
    """What the shell may complete a list of methods with: "ges,ca" with "ges,cam"."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{word}" for word in among("all", *METHODS)(last)]


class LearnerVerb:
    """A verb with the options of every learner that is registered, beside its own.

    typer reads the signature whenever the program is built, which is at every call: a learner registered before that is
    there with its options.

    Parameters
    ----------
    verb : callable
        Takes ``method`` and, as ``**given``, the options of the learners.
    """

    def __init__(self, verb: Callable[..., None]) -> None:
        functools.update_wrapper(self, verb)
        self._verb = verb

    def __call__(self, **given: Any) -> None:
        self._verb(**given)

    @property
    def __signature__(self) -> inspect.Signature:
        own = inspect.signature(self._verb, eval_str=True)
        parameters = []
        for each in own.parameters.values():
            if each.name == "method":
                parameters.append(each.replace(annotation=_method()))
                parameters += [
                    inspect.Parameter(name, each.kind, default=None, annotation=annotation)
                    for name, annotation in _options(taken=own.parameters).items()
                ]
            elif each.kind is not each.VAR_KEYWORD:
                parameters.append(each)
        return own.replace(parameters=parameters)


def _method() -> Any:
    """The declaration of ``--method`` for typer."""
    about = [f"{learner.name} is {learner.about}" for learner in offered().values() if learner.about]
    rare = [option.flag for option, _ in options_by_name().values() if option.rare]
    settings = typer.Option(
        metavar="WORD",
        help=f"{' or '.join(offered())}; {'; '.join(about)}{'. More options: ' if rare else ''}{', '.join(rare)}.",
        rich_help_panel=METHOD,
        show_default=False,
        autocompletion=among(*offered()),
    )
    return Annotated[str, settings]


def _options(taken: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration of each learner's options for typer; a name that the command itself has is refused."""
    found = {}
    everyone = len(offered())
    for name, (option, learners) in options_by_name().items():
        if name in taken:
            from dagtune.validation import InputError

            raise InputError(f"{learners[0]} has an option {option.flag}, but dagtune learn has its own: rename it")
        settings = typer.Option(
            option.flag,
            help=option.help,
            metavar=option.metavar,
            rich_help_panel=option.panel
            if len(learners) == everyone
            else f"{option.panel}, {' and '.join(learners)} only",
            autocompletion=among(*option.choices),
            hidden=option.rare,
        )
        found[name] = Annotated[option.type | None, settings]
    return found


def options_of(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given for the learner, as it takes it.

    Parameters
    ----------
    method : str
        Name of a learner that is offered.
    given : mapping
        Options of all learners, by name. None, and an empty list, stand for an option that was not typed.

    Raises
    ------
    InputError
        If the method is unknown, or an option belongs to other learners.
    """
    from dagtune.validation import InputError, check_choice

    own = {option.name for option in offered()[check_choice("--method", method, offered())].options}
    options = {}
    for name, (option, learners) in options_by_name().items():
        value = given.get(name)
        if value is None or value == []:
            continue
        if name not in own:
            others = " or ".join(learners)
            raise InputError(f"{option.flag} belongs to --method {others}: leave it out, or choose that method")
        options[name] = value if option.read is None else option.read(value)
    return options
