"""The new functions that functions call, to which their statements can move."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from review.files.python_code import last_name

Units = Mapping[str, ast.AST]
"""Qualified name, also PATH:NAME -> function, or class or module without its functions."""


def called_functions(units: Units, known: Collection[str]) -> dict[str, set[str]]:
    """Return for each of the `known` functions the other ones that it calls, also by others."""
    by_form: dict[str, set[str]] = {}
    for name in units.keys() - known:
        for form in _forms(name):
            by_form.setdefault(form, set()).add(name)
    calls = {name: set[str]().union(*(by_form.get(form, ()) for form in _used(unit)))
             for name, unit in units.items()}  # fmt: skip
    called: dict[str, set[str]] = {}
    for name in (name for name in units if name in known):
        called[name], pending = set(), {name}
        while pending:
            pending = set[str]().union(*(calls[other] for other in pending)) - called[name]
            called[name] |= pending
    return called


def _forms(name: str) -> tuple[str, ...]:
    """Return how code calls a function: a method as an attribute, a special one by its class."""
    path, _, own = name.rstrip("'").rpartition(":")
    *owner, last = re.sub(r"\.__\w+__$", "", own).split(".")
    module = path.rpartition("/")[2].removesuffix(".py")
    return (f".{last}",) if owner else (last, f"{module or last}.{last}")


def _used(unit: ast.AST) -> Iterator[str]:
    """Yield the forms of the functions that code names, unless that is a whole statement."""
    parts = {*ast.walk(unit)}
    for part in parts - {part.value for part in parts if isinstance(part, ast.Expr)}:
        match part:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(value=value, attr=name):
                yield from (f".{name}", f"{last_name(value)}.{name}")
