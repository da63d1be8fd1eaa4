"""Python code as a syntax tree: its statements as text, and its literals with their names."""

import ast
import base64
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from review.files.readers import read_text

Literal = Any
"""A text, bytes, a number, True, False, None, or a list of them."""
Names = Mapping[str, Literal]
"""Name -> the literal that a module assigns to it."""

MAX_TEXT = 10_000
"""Maximum characters of a text that is put together: more is no name, and no secret."""

MAX_DEPTH = 100
"""Maximum levels of a syntax tree, which functions with recursion read."""
LOGGING = re.compile(r"(.*\.)?(log|logger|logging|LOGGER|LOG|warnings|pb_utils\.Logger)\.\w+|print")
"""Functions that write into a log."""
MAX_STATEMENT = 90
"""Maximum characters of a statement or an expression in a report."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NESTED = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields with statements in statements."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_NOT_LITERAL = object()


def parse(content: bytes | None) -> ast.Module | None:
    """Return the syntax tree of a file, in the encoding that its first lines name.

    None if there is none, such as of a file of Python 2, or one that is nested too deeply.
    """
    try:
        read_text(content or b"")
        tree = ast.parse(content or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # also `Unreadable`
        return None
    return tree if depth(tree) <= MAX_DEPTH else None


def depth(node: ast.AST) -> int:
    """Return the number of levels of a syntax tree, at most `MAX_DEPTH` + 1."""
    levels, level = 0, [node]
    while level and levels <= MAX_DEPTH:
        level = [child for part in level for child in ast.iter_child_nodes(part)]
        levels += 1
    return levels


def last_name(node: ast.AST) -> str:
    """Return the name of a variable or an attribute, empty for another expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def first_line(node: ast.AST) -> str:
    """Return a statement or expression as text; of a compound statement, its first line."""
    return next(iter(ast.unparse(ast.fix_missing_locations(node)).splitlines()), "")


def cut(text: str, longest: int = MAX_STATEMENT) -> str:
    """Return a statement or expression with at most `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def is_sentence(text: str) -> bool:
    """Return whether a text is a sentence, not a name or a key."""
    return text.count(" ") > 2


def fold(node: ast.AST, names: Names) -> Any:
    """Return the value of an expression of literals and `names`, `_NOT_LITERAL` of another one."""
    with suppress(TypeError, ValueError, ArithmeticError, RecursionError, LookupError):
        value = _folded(node, names)
        if not isinstance(value, str | bytes) or len(value) <= MAX_TEXT:
            return value
    return _NOT_LITERAL


def is_literal(value: Any) -> bool:
    """Return whether `fold` has returned a value."""
    return value is not _NOT_LITERAL


def _folded(node: ast.AST | None, names: Names) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_folded(operand, names)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _OPERATORS:
            sides = _folded(left, names), _folded(right, names)
            if isinstance(kind, ast.Mult) and not all(isinstance(s, int | float) for s in sides):
                raise ValueError("a repeated text")
            return _OPERATORS[type(kind)](*sides)
        case ast.JoinedStr(values=parts):
            return "".join(str(_folded(part, names)) for part in parts)
        case ast.FormattedValue(value=value, format_spec=None):
            return _folded(value, names)
        case ast.Subscript(value=text, slice=ast.Slice(lower=None, upper=None, step=step)):
            return _folded(text, names)[:: _folded(step, names)]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_folded(part, names) for part in parts]
        case ast.Call(func=ast.Attribute(value=separator, attr="join"), args=[parts]):
            return _folded(separator, names).join(_folded(parts, names))
        case ast.Call(func=ast.Name(id="reversed"), args=[text]):
            return _folded(text, names)[::-1]
        case ast.Call(func=ast.Attribute(value=text, attr="decode"), args=[]):
            return _folded(text, names).decode()
        case ast.Call(func=ast.Attribute(attr="b64decode"), args=[text]):
            return base64.b64decode(_folded(text, names))
    raise LookupError


def assigned_names(tree: ast.Module) -> Names:
    """Return the names to which a module or its functions assign a literal, once."""
    counts = Counter(node.id for node in ast.walk(tree)
                     if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))  # fmt: skip
    names: dict[str, Literal] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                folded = fold(value, names)
                is_tuple = isinstance(target, ast.Tuple) and isinstance(folded, list)
                targets = target.elts if isinstance(target, ast.Tuple) else [target]
                for part, literal in zip(targets, folded if is_tuple else [folded], strict=False):
                    if isinstance(part, ast.Name) and counts[part.id] == 1 and is_literal(literal):
                        names[part.id] = literal
    return names


def literals(tree: ast.Module) -> Iterator[tuple[str, Literal, ast.expr]]:
    """Yield name, value and node of each literal, put together from the literals in names."""
    return _literals(tree, "value", assigned_names(tree))


def texts(content: bytes) -> Iterator[str]:
    """Yield KEY = "TEXT" for each text that a file puts together from literals."""
    tree = parse(content)
    for name, value, _ in literals(tree) if tree else ():
        for part in value if isinstance(value, list) else [value]:
            text = part.decode(errors="replace") if isinstance(part, bytes) else part
            for line in text.splitlines() if isinstance(text, str) else ():
                yield f'{name} = "{line}"'


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _literals(node: ast.AST, label: str, names: Names) -> Iterator[tuple[str, Literal, ast.expr]]:
    """Yield name, value and node of the literals in a node, without docstrings."""
    is_value = isinstance(node, ast.expr) and not isinstance(node, ast.Name)
    value = fold(node, names) if is_value else _NOT_LITERAL
    if isinstance(node, ast.expr) and is_literal(value):
        yield label, value, node
        return
    for name, child in named_children(node, label):
        if not _is_docstring(child):
            yield from _literals(child, name, names)


def named_children(node: ast.AST, label: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the children of a node with the name of each, by default the node's own `label`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            yield from (
                (ast.unparse(target), part) for target, part in zip(targets, values, strict=False)
            )
        case ast.Assign(targets=[target, *_], value=value):
            yield ast.unparse(target), value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield ast.unparse(target), value
        case ast.AugAssign(target=target, value=value):
            yield ast.unparse(target), value
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield str(key.value) if isinstance(key, ast.Constant) else label, value
        case ast.Call(func=function, args=arguments, keywords=keywords):
            yield label, function
            yield from ((ast.unparse(function), argument) for argument in arguments)
            yield from ((label, keyword) for keyword in keywords)
        case ast.Compare(left=left, comparators=others):
            yield label, left
            yield from ((ast.unparse(left), other) for other in others)
        case ast.arguments(posonlyargs=first, args=others, defaults=defaults):
            named = [*first, *others][len(first) + len(others) - len(defaults) :]
            yield from (
                (argument.arg, value) for argument, value in zip(named, defaults, strict=True)
            )
            pairs = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            yield from ((argument.arg, value) for argument, value in pairs if value)
        case _:
            yield from ((label, child) for child in ast.iter_child_nodes(node))
