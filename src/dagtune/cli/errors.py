"""Exit codes, and one line on stderr for everything that can go wrong; a traceback only for those who ask for it."""

from __future__ import annotations

import ast
import contextlib
import errno
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import typer

from dagtune.cli.interrupt import tell_stopped
from dagtune.learners import offered, options_by_name

__all__ = ["DONE", "FINDINGS", "INTERRUPTED", "OUR_FAULT", "YOUR_INPUT", "as_options", "guarded"]

DONE, OUR_FAULT, YOUR_INPUT, FINDINGS, INTERRUPTED = 0, 1, 2, 3, 130

#: If this environment variable is set, the traceback follows the line.
DEBUG = "DAGTUNE_DEBUG"

# typer carries its own click or needs the package, as its version has it; BadParameter < UsageError < ClickException.
_ClickError: Any = typer.BadParameter.__mro__[2]

#: Keywords of the library that are options of the verbs; the learners' own are added to them.
_KEYWORDS = (
    "columns decimal drop drop_constant encoding header knowledge missing na noise noise_scale query recipe roots seed "
    "sep standardize tiers time_limit"
)

_DISK = {
    errno.ENOSPC: "the disk is full: free some space, or write to another disk",
    errno.EDQUOT: "your disk quota is used up: free some space, or write to another disk",
    errno.EFBIG: "a file grew over the size allowed here: raise the limit (ulimit -f), or write to another disk",
    errno.EROFS: "the disk is read-only: write to another folder",
    errno.EACCES: "permission denied: choose a folder that is yours",
    errno.EPERM: "permission denied: choose a folder that is yours",
    errno.ELOOP: "it is a link, and links are not written through: remove it, or choose another folder",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
}


def guarded(call: Callable[[], Any]) -> int:
    """The exit code of ``call``; what it raises becomes one line on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default" if DEBUG in os.environ else "ignore")
            code = int(call() or DONE)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        tell_stopped()
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone: `dagtune ... | head`
        return _unheard()
    except SystemExit as end:  # typer's answer to the same is 1; the shell's completion ends here too
        return _unheard() if end.code == 1 else int(end.code or DONE)
    except Exception as error:
        return _fail(*_judged(error))


def _judged(error: Exception) -> tuple[int, str]:
    """The exit code for an error, and the line to print."""
    from dagtune.validation import InputError  # numpy loads with it, and --help must not wait for that

    if isinstance(error, InputError):
        return YOUR_INPUT, as_options(str(error))
    if isinstance(error, _ClickError):
        return YOUR_INPUT, _usage(error)
    if isinstance(error, ImportError) and "pip install" in str(error):
        return YOUR_INPUT, str(error)
    if isinstance(error, MemoryError):
        return YOUR_INPUT, "there is not enough memory: use fewer columns (--columns) or fewer rows"
    if isinstance(error, OSError):
        _mute_stdout()
        return YOUR_INPUT, _disk(error)
    where = f"{DEBUG}=1 shows where"
    return OUR_FAULT, f"this is our fault, please report it: {type(error).__name__}: {error} ({where})"


def _fail(code: int, message: str) -> int:
    """Print the one line, and the traceback if it was asked for."""
    from dagtune.text import printable

    print(f"dagtune: {printable(' '.join(message.split()))}", file=sys.stderr)
    if DEBUG in os.environ:
        traceback.print_exc()
    return code


def as_options(message: str) -> str:
    """A message of the library with ``sep=';'`` written as ``--sep ';'``, because here people type options.

    An estimator that a message names is the method that is typed.
    """
    for learner in offered().values():
        message = re.sub(
            rf"\b{str(learner.estimator).partition(':')[2] or '$^'}\b", f"the method {learner.name}", message
        )
    keywords = "|".join({*_KEYWORDS.split(), *options_by_name()})

    def option(match: re.Match[str]) -> str:
        return f"--{match[1].replace('_', '-')}{_typed(match[2], ',' if match[1] == 'merge' else '<')}"

    text = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
    several = rf"(?:{text}|[^'\"\[\]{{}}]|\[(?:{text}|[^'\"\]])*\])*"
    return re.sub(rf"\b({keywords})=({text}|\{{{several}\}}|\[{several}\]|[\w.+-]*)", option, message)


def _typed(value: str, between: str) -> str:
    """A value as it is typed after its option: {'size': ['s', 'l']} is 'size=s<l', ['a', 'b'] is 'a,b'."""
    if value in ("", "True"):
        return ""
    try:
        found = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return f" {value}"
    if isinstance(found, dict):
        kinds = (f"{name}={kind if isinstance(kind, str) else between.join(kind)}" for name, kind in found.items())
        found = ",".join(kinds)
    return f" {_quoted(','.join(map(str, found)) if isinstance(found, list) else found)}"


def _quoted(value: Any) -> str:
    """A text in quotes that the shell takes off again, and nothing else; numbers as they are."""
    if not isinstance(value, str):
        return str(value)
    return f"'{value}'" if "'" not in value else f'"{value}"' if not set(value) & set('"$`\\!') else shlex.quote(value)


def _usage(error: Any) -> str:
    """What is wrong with an option or verb, and which help lists the right ones."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "dagtune"
    return f"{error.format_message().rstrip('.')} (see {command} --help)"


def _disk(error: OSError) -> str:
    """What the operating system refused, and what to do."""
    about = f" ({os.fspath(error.filename)!r})" if isinstance(error.filename, (str, bytes, os.PathLike)) else ""
    cure = _DISK.get(error.errno or 0, f"{error.strerror or error}: check the path and the disk")
    return f"{cure}{about}"


def _unheard() -> int:
    """The exit code when the reader of our output has gone: end silently."""
    _mute_stdout()
    return YOUR_INPUT


def _mute_stdout() -> None:
    """Discard what is still in stdout's buffer: flushing it at exit would fail again."""
    with contextlib.suppress(OSError, ValueError):  # no real file behind it, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
