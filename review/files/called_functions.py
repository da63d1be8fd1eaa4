"""The new functions that an existing function calls: its statements may have moved into them."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from review.files.python_code import last_name

Units = Mapping[str, ast.AST]
"""Functions, classes and modules by qualified name, those of several files by PATH:NAME.

Classes and modules are without their functions."""


def called_functions(units: Units, known: Collection[str]) -> dict[str, set[str]]:
    """Return which new functions each of the `known` ones calls, also through new ones."""
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
    """Return how code calls a function: NAME and MODULE.NAME, or .NAME for a method.

    A special method such as `__init__` is called by the name of its class.
    """
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
