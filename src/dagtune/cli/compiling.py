"""Show when numba compiles: that takes a while, but only once after an installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dagtune.progress import Progress

__all__ = ["WORDS", "compiling_shown"]

#: The phase that is shown while it compiles.
WORDS = "compiling (once after an installation, up to a minute)"


@contextmanager
def compiling_shown(tell: Progress) -> Iterator[None]:
    """In this block ``tell`` is told of every function that numba compiles, because its cache on disk lacks it."""
    from dagtune.compiled import compilation_heard

    with compilation_heard(lambda: tell(WORDS, 0.0)):
        yield
