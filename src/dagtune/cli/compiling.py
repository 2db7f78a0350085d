"""Whether numba has machine code in its cache, or will make it at the first call."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["compiles_first"]


def compiles_first() -> bool:
    """Whether a compiled function of a loaded room has nothing in numba's cache that fits its source."""
    rooms = [module for name, module in list(sys.modules.items()) if name.startswith("dagtune.")]
    return any(not _cached(function) for module in rooms for function in _compiled(module))


def _compiled(module: ModuleType) -> list[Any]:
    """Functions that numba compiles and keeps, where they are written."""
    return [
        thing
        for thing in vars(module).values()
        if hasattr(thing, "py_func") and thing.__module__ == module.__name__ and thing.stats.cache_path
    ]


def _cached(function: Any) -> bool:
    """Whether numba's index for the function is there and not older than the source."""
    code = function.py_func.__code__
    source = Path(code.co_filename)
    pattern = f"{source.stem}.{function.py_func.__qualname__}-{code.co_firstlineno}.*.nbi"
    found = Path(function.stats.cache_path).glob(pattern)
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in found)
