"""How a long computation tells how far it is, and how it ends when its time is up.

Three things that are easily mixed are kept apart: ``progress`` is a function of the caller's that is told the phase and
the share of it that is done; the time limit is kept by a :class:`Clock`; and whoever wants to cancel raises an
exception in ``progress``, as Ctrl-C does anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Clock", "Progress", "TimeLimitError", "silent"]

#: Called as ``progress(phase, share)``; the share of the phase that is done is 0.0 where it is not known.
Progress = Callable[[str, float], None]


def silent(phase: str, share: float) -> None:
    """Progress that nobody wants to hear."""


class TimeLimitError(RuntimeError):
    """A method did not finish within its time limit, so it has no graph.

    Parameters
    ----------
    method : str
    limit, seconds : float
        The limit, and the time after which the method stopped.
    done : str
        How far it came.
    """

    def __init__(self, method: str, limit: float, seconds: float, done: str) -> None:
        super().__init__(
            f"{method} did not finish within {limit:g} seconds (stopped after {seconds:.1f}, {done}): "
            "give a larger time_limit, or fewer columns"
        )
        self.method, self.limit, self.seconds, self.done = method, limit, seconds, done

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method, self.limit, self.seconds, self.done)


class Clock:
    """The time since a method began, its time limit, and the function that is told how far it is.

    Parameters
    ----------
    method : str
    time_limit : float, optional
        Seconds of wall time.
    progress : callable, optional
        Called as ``progress(phase, share)``.

    Examples
    --------
    >>> clock = Clock("mine", 60.0, lambda phase, share: print(f"{phase}: {share:.0%}"))
    >>> clock.tell("searching", 0.5)
    searching: 50%
    """

    def __init__(self, method: str, time_limit: float | None = None, progress: Progress | None = None) -> None:
        number = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
        if time_limit is not None and not (number and time_limit > 0):
            from dagtune.validation import InputError  # here, because numpy loads with it

            raise InputError(f"time_limit must be a positive number of seconds or None, not {time_limit!r}")
        self.method, self.limit, self._progress = method, time_limit, progress or silent
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Wall time since the clock was made."""
        return time.perf_counter() - self._began

    def check(self, done: str) -> None:
        """Raise :class:`TimeLimitError` if the limit has passed; ``done`` says how far the method came."""
        if self.limit is not None and self.seconds > self.limit:
            raise TimeLimitError(self.method, self.limit, self.seconds, done)

    def tell(self, phase: str, share: float = 0.0) -> None:
        """Report progress, then check the limit."""
        self._progress(phase, share)
        self.check(f"in {phase}" if share else phase)
