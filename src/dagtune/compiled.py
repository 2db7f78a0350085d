"""Functions compiled to machine code by numba: one decorator, a cache that notices changes, a word while it compiles.

numba keeps machine code on disk as long as the file of the *decorated* function is unchanged. But that code also holds
every function it calls and every constant it reads, in whatever file they stand. :func:`compiled` therefore adds to the
version that numba writes into its cache a digest of all files of the package that hold compiled functions or what they
read: change one, and all are compiled anew. The version is compared before anything else of a cache is read.

A compiled function holds the machine code of all it calls, optimised once more with it: a tower of ten calls compiles
its lowest floor ten times. :func:`far_call` calls a function by its address instead, which the data bring along: the
caller is compiled without it, and what is never called is never compiled.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from numba import njit, typeof
from numba.core import cgutils, event, imputils
from numba.extending import intrinsic

__all__ = ["address_of", "compilation_heard", "compiled", "far_call", "watched"]

Function = TypeVar("Function", bound=Callable[..., Any])

_ours: set[Callable[..., Any]] = set()
_listening: list[Callable[[], None]] = []


@overload
def compiled(function: Function) -> Function: ...


@overload
def compiled(*, fastmath: bool = ..., inner: bool = ...) -> Callable[[Function], Function]: ...


def compiled(function: Any = None, *, fastmath: bool = False, inner: bool = False) -> Any:
    """Compile a function on its first call, keep the result on disk, and let other threads run meanwhile.

    Parameters
    ----------
    function : callable
        A function that numba can compile. It may call other functions decorated so, and read numbers of their files.
    fastmath : bool, default False
        Allow floating-point operations to be rearranged: faster sums, but their last digits depend on the compiler.
    inner : bool, default False
        Only compiled functions call it: less to compile, and Python can't.

    Returns
    -------
    callable
        The function with the same signature.
    """
    if function is None:
        return partial(_compile, fastmath=fastmath, inner=inner)
    return _compile(function, fastmath=fastmath, inner=inner)


def _compile(function: Function, *, fastmath: bool, inner: bool) -> Function:
    _ours.add(function)
    how: dict[str, Any] = {"fastmath": fastmath, "no_cpython_wrapper": inner, "no_cfunc_wrapper": True}
    dispatcher = cast(Function, njit(cache=True, nogil=True, **how)(function))
    package = sys.modules.get(function.__module__.partition(".")[0])
    file = getattr(package, "__file__", None)
    # The version is internal to numba. Without it the cache is numba's own: right until a called function changes.
    kept: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(kept, "_version"):
        kept._version = f"{kept._version} {_digest(Path(file))}"
    return dispatcher


def address_of(function: Any, *arguments: Any) -> int:
    """Where the machine code of a compiled function is for arguments of these types; compiled if it is not yet.

    Parameters
    ----------
    function : callable
        Decorated with :func:`compiled`.
    *arguments
        Values of the types with which it will be called.

    Returns
    -------
    int
        Means nothing in another process.
    """
    types = tuple(typeof(argument) for argument in arguments)
    function.compile(types)
    made = function.overloads[types]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


@cast(Any, intrinsic)
def _jump(typing: Any, address: Any, like: Any, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        result, types = signature.return_type, list(signature.args[2].types)
        kind = context.call_conv.get_function_type(result, types).as_pointer()
        function = builder.inttoptr(values[0], kind)
        parts = cgutils.unpack_tuple(builder, values[2])
        status, found = context.call_conv.call_function(builder, function, result, types, parts)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return imputils.impl_ret_new_ref(context, builder, result, found)

    return like(address, like, arguments), generate


def watched(home: Path) -> list[Path]:
    """The files of a package whose change compiles all anew.

    Those that import the decorator, every numbers.py, and every problem.py: the tuples that compiled functions take.
    """
    files = sorted(home.rglob("*.py"))
    plain = ("numbers.py", "problem.py")
    return [f for f in files if f.name in plain or b"from dagtune.compiled import" in f.read_bytes()]


@cache
def _digest(entrance: Path) -> str:
    """Of all watched files in the package with this ``__init__.py`` (or of this module alone)."""
    found = hashlib.sha256()
    for path in watched(entrance.parent) if entrance.name == "__init__.py" else [entrance]:
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


@contextmanager
def compilation_heard(hear: Callable[[], None]) -> Iterator[None]:
    """Inside, ``hear()`` is called whenever one of our functions is compiled; the log says nothing then."""
    _listening.append(hear)
    try:
        yield
    finally:
        _listening.remove(hear)


@cache
def _log_once() -> None:
    # A warning, because Python shows nothing less to those who have not set up logging, and without a word the first
    # call after an installation looks as if it hung. It comes once a process, and only if something is compiled.
    logging.getLogger("dagtune").warning(
        "compiling numerical code: this takes a minute or two, only once after an installation"
    )


class _Listener(event.Listener):
    """Hears of every compilation in this process, also of functions that are not ours."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func in _ours:
            for hear in _listening or [_log_once]:
                hear()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Listener())


@compiled(inner=True)
def far_call(address: int, like: Any, arguments: Any) -> Any:
    """Inside a compiled function: call another by its address.

    Parameters
    ----------
    address : int
        From :func:`address_of`, for exactly the types of these arguments; 0 is refused.
    like : object
        Any value of the type that it returns.
    arguments : tuple

    Returns
    -------
    object
        What the function returns.
    """
    if address == 0:
        raise RuntimeError("a compiled function was called that the data did not bring along")
    return _jump(address, like, arguments)
