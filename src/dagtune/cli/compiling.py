"""Show when machine code is made: that takes a while, but only the first time after an installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dagtune.cli.terminal import Progress

__all__ = ["WORDS", "compiling_shown"]

#: The phase that is shown meanwhile.
WORDS = "compiling (once after an installation, up to a minute)"


@contextmanager
def compiling_shown(tell: Progress) -> Iterator[None]:
    """Inside, ``tell`` hears of every function that is compiled because the cache on disk does not have it."""
    from dagtune.compiled import compilation_heard

    with compilation_heard(lambda: tell(WORDS, 0.0)):
        yield
