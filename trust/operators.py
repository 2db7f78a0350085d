"""Mutants of a module's source: one small change each, of the kinds that programmers make by mistake.

Left alone: docstrings and other text, annotations, decorators, ``__all__``, words of messages (f-strings), imports for
type checkers, ``stacklevel=``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Mutant", "mutants_of"]

_COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "triu": "tril",
    "zeros": "ones",
    "ones": "zeros",
    "sin": "cos",
    "cos": "sin",
}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what stood there and what stands there now, and the whole mutated module."""

    path: str
    line: int
    function: str
    before: str
    after: str
    source: str
    number: int = 1  #: among those that read alike in the same function

    @property
    def key(self) -> str:
        """What stays the same when lines move."""
        which = f" [{self.number}]" if self.number > 1 else ""
        return f"{self.path} {self.function}: {self.before} => {self.after}{which}"


def mutants_of(path: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    count = sum(1 for _ in _opportunities(ast.parse(source)))
    found: list[Mutant] = []
    alike: Counter[tuple[str, ...]] = Counter()
    for number in range(count):
        tree = ast.parse(source)
        function, node, change = next(each for k, each in enumerate(_opportunities(tree)) if k == number)
        line, before = node.lineno, ast.unparse(node)
        told = (function, _short(before), _short(change()))
        alike[told] += 1
        found.append(Mutant(path, line, *told, ast.unparse(ast.fix_missing_locations(tree)), alike[told]))
    return found


def _short(text: str) -> str:
    first = text.splitlines()[0] if text.strip() else text
    return first if len(first) <= 100 else first[:97] + "..."


def _opportunities(tree: ast.Module) -> Iterator[tuple[str, Any, Any]]:
    """(function, node, change) of every change; ``change()`` makes it and gives the new text."""
    yield from _within(tree, "", tree)


def _within(node: Any, function: str, parent: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}" if function else node.name
    if not isinstance(node, ast.Module):
        for change in _changes(node):
            yield function, node, change
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_comment"):
            continue
        if isinstance(value, list):
            for position, child in enumerate(value):
                if not isinstance(child, ast.AST) or _left_alone(child):
                    continue
                if name in ("body", "orelse", "finalbody") and _removable(child):
                    yield function, child, _removal(value, position, child)
                yield from _within(child, function, node)
        elif isinstance(value, ast.AST) and not _left_alone(value):
            yield from _within(value, function, node)


def _left_alone(node: Any) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.keyword) and node.arg in ("stacklevel",):
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and any(ast.unparse(target) == "__all__" for target in node.targets):
        return True
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return True
    if isinstance(node, ast.FunctionDef) and any("overload" in ast.unparse(each) for each in node.decorator_list):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _removable(node: Any) -> bool:
    """Statements that can be left out without a name being missing: calls, and changes in place."""
    return isinstance(node, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def _removal(body: list[Any], position: int, node: Any) -> Any:
    def change() -> str:
        body[position] = ast.copy_location(ast.Pass(), node)
        return "pass"

    return change


def _changes(node: Any) -> Iterator[Any]:
    """The changes of one node itself."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        yield lambda: _set(node, "ops", [_COMPARED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        if not isinstance(node, ast.BinOp) or not _text(node.left):
            yield lambda: _set(node, "op", _ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield lambda: _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp):
        yield lambda: _become(node, node.operand)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield lambda: _negated(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda: _set(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda: _set(node, "value", node.value + 1 if isinstance(node.value, int) else 2 * node.value or 1.0)
    elif isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name) and called.id in _NAMES:
            yield lambda: _renamed(node, called, "id")
        elif isinstance(called, ast.Attribute) and called.attr in _NAMES:
            yield lambda: _renamed(node, called, "attr")


def _text(node: Any) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _set(node: Any, name: str, value: Any) -> str:
    setattr(node, name, value)
    return ast.unparse(node)


def _renamed(node: Any, called: Any, name: str) -> str:
    setattr(called, name, _NAMES[getattr(called, name)])
    return ast.unparse(node)


def _negated(node: Any) -> str:
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return ast.unparse(node)


def _become(node: Any, other: Any) -> str:
    """Turn a unary operation into its operand, in place: ``-x`` becomes ``+x``, ``not x`` becomes ``not not x``."""
    if isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), other)
    else:
        node.op = ast.UAdd()
    return ast.unparse(node)
