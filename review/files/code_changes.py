"""What changes in a file of Python code, from its syntax trees before and after.

People judge code. This tells them what to look at: the statements that differ, what the code newly
calls, and checks that refuse less. Names of local variables, annotations, docstrings and the order
of imports have no effect, and are not compared.
"""

import ast
import copy
import pickle
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain
from typing import Any

from review.files.python_code import (
    LOGGING,
    Literal,
    assigned_names,
    cut,
    first_line,
    fold,
    is_literal,
    last_name,
    named_children,
    parse,
)
from review.files.weaker_checks import (
    CHECKING,
    CodeWarning,
    ignored_errors,
    kept_results,
    weaker_checks,
    wider_patterns,
)
from review.values import format_change

TYPING = re.compile(r"(__future__|collections\.abc|types|typing|typing_extensions)(\.|$)")
"""Modules whose names are mostly for annotations."""
NO_EFFECT = "only comments, docstrings, annotations or formatting: it behaves as before"
RENAMED = "only other local variables, and comments or annotations: it behaves as before"
SAME_PARTS = "the same calls, constants, raised errors and imports as before"
COMMON_CONSTANTS = {repr(value) for value in (None, True, False, 0, 1, -1, "", ())}
"""Literals that most code has; where one changes in a statement, the statement is told."""
COMMON_CALLS = frozenset(
    (
        *("add", "append", "bool", "bytes", "decode", "dict", "encode", "endswith", "enumerate"),
        *("extend", "filter", "format", "frozenset", "get", "getattr", "int", "isinstance"),
        *("items", "join", "keys", "len", "list", "lower", "map", "max", "min", "next"),
        *("partition", "range", "removeprefix", "removesuffix", "replace", "repr", "reversed"),
        *("rpartition", "set", "setdefault", "sorted", "split", "splitlines", "startswith", "str"),
        *("strip", "sum", "tuple", "type", "update", "upper", "values", "zip"),
    )
)
"""Functions and methods of Python's own types, by which the same is written in other words."""
MAX_NAMES = 6
"""Maximum names in a list of new calls, constants or functions."""
MAX_EFFECTS = 400
"""Maximum characters of the statements by which code can act otherwise."""
MAX_PAIRS = 1000
"""Maximum comparisons of changed statements of a function; above it, they are paired in order."""
SIMILAR = 0.5
"""Minimum similarity of two statements of which one replaces the other."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPE_NODES = (ast.Attribute, ast.BinOp, ast.BitOr, ast.Constant, ast.List, ast.Load, ast.Name,
               ast.Subscript, ast.Tuple)  # fmt: skip
_NESTED = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields with statements in statements."""
_LATER = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.IfExp,
          ast.BoolOp, ast.NamedExpr, ast.stmt)  # fmt: skip
"""Parts that run later, several times or perhaps never."""
_READING_NAMES = ("dir", "eval", "exec", "locals", "vars")
"""Functions to which the names of local variables matter."""
_RANKS = {ast.Raise: 0, ast.Assert: 0, ast.If: 1, ast.While: 1, ast.Return: 1, ast.ExceptHandler: 1}
_KEYWORDS = {ast.If: "if", ast.While: "while", ast.Return: "return", ast.Raise: "raise",
             ast.Assert: "assert", ast.For: "for", ast.With: "with"}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A changed expression or statement; one side is None if it is new or gone.

    function: the function's qualified name, empty for statements of the module.
    name: the target, key, argument or compared expression that has the value.
    keyword: the first word of the statement, such as `if`.
    rank: how much it tells, from 0.
    """

    function: str
    name: str
    keyword: str
    before: ast.AST | None
    after: ast.AST | None
    rank: int

    @property
    def literals(self) -> tuple[Literal, Literal] | None:
        """Both literals, None if a side is no literal."""
        if self.before is None or self.after is None:
            return None
        sides = fold(self.before, {}), fold(self.after, {})
        return sides if all(map(is_literal, sides)) else None

    @property
    def is_pair(self) -> bool:
        """Whether one statement or expression replaces another."""
        return self.before is not None and self.after is not None

    @property
    def node(self) -> ast.AST:
        """The statement or expression after the change, or the one that is gone."""
        node = self.after or self.before
        assert node is not None
        return node

    def __str__(self) -> str:
        own = self.function.rpartition(".")[2]
        name = "" if self.name == own else f"{cut(self.name)}:"
        start = " ".join(filter(None, (self.keyword, name)))
        if self.before is None or self.after is None:
            word = "new" if self.before is None else "gone"
            label = f"{name} " if name and isinstance(self.node, ast.expr) else ""
            return f"{word}: {label}{cut(first_line(self.node)).removesuffix(':')}"
        whole = [first_line(side).removesuffix(":") for side in (self.before, self.after)]
        short = [*map(cut, whole)]
        change = " -> ".join(short) if short[0] != short[1] else format_change(*whole)
        return f"{start}{' ' if start else ''}{change}"


class CodeChanges:
    """The differences of two versions of a file."""

    def __init__(self, before: bytes, after: bytes) -> None:
        """Parse both versions; a file that does not exist is empty."""
        trees = parse(before), parse(after)
        functions = [node for node in ast.walk(trees[0] or ast.Module([], []))
                     if isinstance(node, _FUNCTIONS)]  # fmt: skip
        self._purposes = {node.name: ast.get_docstring(node) or "" for node in functions}
        self.is_readable = None not in trees
        self._old, self._new = (
            _Module(_Plain().visit(tree or ast.Module([], []))) for tree in trees
        )
        self._renamed = _renamed_functions(self._old.units, self._new.units)
        if self._renamed:  # callers and the function itself are compared under the new name
            _Renaming(self._renamed).visit(self._old.tree)
            self._old = _Module(self._old.tree)

    @cached_property
    def changes(self) -> list[Change]:
        """The changed statements of functions that exist before and after, and of the module.

        Statements that a function gives to a new one, or takes from one that is gone, only move.
        """
        old, new = self._old.units, self._new.units
        moved = {
            first_line(statement)
            for side, other in ((old, new), (new, old))
            for name in side.keys() - other.keys()
            for statement in _statements(side[name])
        }
        return [
            change
            for name in new
            if name in old and name in self._changed
            for change in _unit_changes(name, old[name], new[name])
            if change.is_pair or first_line(change.node) not in moved
        ]

    @cached_property
    def _changed(self) -> set[str]:
        """Names of the parts that differ by more than the names of local variables."""
        old, new = self._old.units, self._new.units
        return {
            name
            for name in old.keys() | new.keys()
            if name not in old
            or name not in new
            or (
                ast.dump(old[name]) != ast.dump(new[name])
                and _canonical(old[name]) != _canonical(new[name])
            )
        }

    def effects(self, *, is_exact: bool) -> list[str]:
        """Return the texts of a change by which the code can act otherwise.

        Empty if it only writes other logs and messages, or has the same calls, constants, raised
        errors and imports, and, if `is_exact`, the same operators and named arguments. A new file
        has none.
        """
        if not (self.is_readable and self._old.tree.body):
            return []
        statements = [change for change in self.changes if not _is_message(change)]
        has_other_values = any(change.literals for change in statements)
        has_same_parts = self._has_same_parts and not (
            is_exact and self._old.operations != self._new.operations
        )
        if not statements or (has_same_parts and not has_other_values):
            return []
        unread = [name for name in sorted(self._old.tensors - self._new.tensors)
                  if repr(name) not in self._new.constants]  # fmt: skip
        return [f"no longer reads the tensor {name}" for name in unread] + self.texts(MAX_EFFECTS)

    @property
    def warnings(self) -> list[CodeWarning]:
        """Checks that refuse less, ignored errors and kept results."""
        sides = self._old.units, self._new.units
        changed = [(change.function, change.before, change.after) for change in self.changes]
        return [
            *(CodeWarning(True, text) for is_certain, text in self._weaker_checks if is_certain),
            *(CodeWarning(True, text) for text in wider_patterns(sides[1], changed)),
            *kept_results(*sides),
            *ignored_errors(*sides),
        ]

    @cached_property
    def _weaker_checks(self) -> dict[tuple[bool, str], None]:
        sides = (
            {name: _Joined(unit, lazily=True).visit(_copy(unit)) if name in self._changed else unit
             for name, unit in side.units.items()}
            for side in (self._old, self._new)
        )  # fmt: skip
        return dict.fromkeys(weaker_checks(*sides))

    @property
    def decisions(self) -> Iterator[str]:
        """Conditions that are others, with what the documentation of their functions said."""
        for text in (text for is_certain, text in self._weaker_checks if not is_certain):
            function, _, change = text.partition(": ")
            purpose = self._purposes.get(function.rpartition(".")[2], "").partition("\n")[0]
            yield f"{function}{f' ({purpose})' if purpose else ''}: {change}"

    @property
    def called_checks(self) -> tuple[set[str], set[str]]:
        """Checks that are newly called, and that are no longer called.

        They are those of other files, by their names, and private functions that raise errors.
        """
        units = self._new.units
        raising = {
            own
            for name in units.keys() & self._old.units.keys()
            if (own := name.rpartition(".")[2]).startswith("_")
            and any(isinstance(node, ast.Raise) for node in ast.walk(units[name]))
        }
        old, new = (
            {name for name in side.calls if CHECKING.match(name)} | (side.called & raising)
            for side in (self._old, self._new)
        )
        return new - old, old - new

    def texts(self, longest: int) -> list[str]:
        """Return texts of about `longest` characters, those that tell most first."""
        old, new = self._old, self._new
        if not self.is_readable:
            return ["not Python, or nested too deeply: not compared"]
        renamed = [f"{name} is renamed {other}" for name, other in self._renamed.items()]
        if not self._changed and old.imports == new.imports and renamed:
            return renamed
        if not self._changed and old.imports == new.imports:
            if old.order != new.order:
                return ["the same definitions in another order"]
            return [NO_EFFECT if old.units_text == new.units_text else RENAMED]
        functions = [*renamed, *self._function_texts()]
        by_function: dict[str, list[str]] = {}
        count = 0
        for change in sorted(self.changes, key=lambda change: change.rank):  # stable
            texts = by_function.setdefault(change.function, [])
            if sum(map(len, chain(*by_function.values()))) >= longest:
                count += 1
            elif str(change) not in texts:
                texts.append(str(change))
        statements = [f"{name}: {'; '.join(texts)}" if name else "; ".join(texts)
                      for name, texts in by_function.items() if texts]  # fmt: skip
        is_rewritten = by_function and (functions or count) and self._has_same_parts
        if is_rewritten and not any(change.literals for change in self.changes):
            names = [name for name in by_function if name]
            where = f" in {_names(names)}" if names else ""
            return [f"rewritten{where} with {SAME_PARTS}", *functions]
        texts = [
            *statements,
            *self._order_texts(by_function),
            *functions,
            *self._part_texts("; ".join(statements)),
        ]
        texts = [text for index, text in enumerate(texts)
                 if index == 0 or sum(map(len, texts[:index])) < longest]  # fmt: skip
        return [*texts, *([f"{count} more changed statements"] if count else [])]

    def _order_texts(self, described: Collection[str]) -> Iterator[str]:
        """Yield the functions whose statements are the same, in another order or nesting."""
        for name in self._changed - {*described}:
            if name in self._old.units and name in self._new.units:
                rows = [[*map(first_line, _statements(side.units[name]))]
                        for side in (self._old, self._new)]  # fmt: skip
                moved = [cut(row) for row in _moved(*rows)]
                text = (
                    f"moved: {'; '.join(moved)}"
                    if moved
                    else "the same statements, nested otherwise"
                )
                yield f"{name}: {text}".removeprefix(": ")

    def _function_texts(self) -> Iterator[str]:
        """Yield the functions and classes that are new or gone."""
        old, new = self._old, self._new
        removed = [name for name in old.units if name and name not in new.units]
        added = [name for name in new.units if name and name not in old.units]
        if added:
            yield f"new functions: {_names(added)}"
        if removed:
            yield f"gone functions: {_names(removed)}"

    @property
    def _has_same_parts(self) -> bool:
        old, new = self._old, self._new
        return (old.calls, old.raised, old.constants, old.imports) == (
            *(new.calls, new.raised, new.constants, new.imports),
        )

    def _part_texts(self, shown: str) -> Iterator[str]:
        """Yield the calls, constants, raised errors and imports that are new or gone.

        Those that the `shown` statements name are left out.
        """
        old, new = self._old, self._new
        for words, before, after in (
            (("newly calls", "no longer calls"), old.calls, new.calls),
            (("newly raises", "no longer raises"), old.raised, new.raised),
            (("new constants", "gone constants"), old.constants, new.constants),
            (("newly imports", "no longer imports"), old.imports, new.imports),
        ):
            for word, names in zip(words, (after - before, before - after), strict=True):
                parts = [name for name in sorted(names)
                         if _is_unshown(name, shown)
                         and not any(other.startswith(f"{name}.") for other in names)]  # fmt: skip
                if parts:
                    yield f"{word} {_names(parts)}"


def _is_unshown(name: str, shown: str) -> bool:
    """Return whether statements do not name a call or a constant, which is no sentence either."""
    text = name.strip("'\"")
    is_sentence = text.count(" ") > 2 and "://" not in text
    return text not in shown and not is_sentence and any(map(str.isalnum, text))


@dataclass
class _Module:
    tree: ast.Module

    @cached_property
    def units(self) -> dict[str, ast.AST]:
        """Qualified name -> function, or class without its functions; empty -> the module."""
        units: dict[str, ast.AST] = {}

        def add(owner: ast.Module | ast.ClassDef, name: str) -> None:
            own = [part for part in owner.body
                   if not isinstance(part, (*_FUNCTIONS, ast.ClassDef))
                   and not isinstance(part, ast.Import | ast.ImportFrom)]  # fmt: skip
            shell = copy.copy(owner)
            shell.body = own
            units[name] = shell
            for part in owner.body:
                full_name = f"{name}.{getattr(part, 'name', '')}".lstrip(".")
                while full_name in units:  # such as the setter of a property
                    full_name += "'"
                if isinstance(part, ast.ClassDef):
                    add(part, full_name)
                elif isinstance(part, _FUNCTIONS):
                    units[full_name] = part

        add(self.tree, "")
        return units

    @property
    def units_text(self) -> list[str]:
        return [*map(ast.dump, self.units.values())]

    @property
    def order(self) -> list[str]:
        """The definitions and statements of the module and its classes, in their order."""
        bodies = [self.tree.body]
        bodies += [node.body for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        return [getattr(part, "name", "") or ast.dump(part) for body in bodies for part in body
                if not isinstance(part, ast.Import | ast.ImportFrom)]  # fmt: skip

    @cached_property
    def imports(self) -> set[str]:
        """Full names of what is imported, with other local names; not those for annotations.

        A class that is only imported has no effect, unlike a module.
        """
        names = set[str]()
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            module = ""
            if isinstance(node, ast.ImportFrom):
                module = f"{'.' * node.level}{node.module or ''}."
                names.add(module.removesuffix("."))
            for alias in node.names:
                local_name = f" as {alias.asname}" if alias.asname else ""
                if (alias.asname or alias.name) in used or not alias.name[:1].isupper():
                    names.add(f"{module}{alias.name}{local_name}")
        return {name for name in names if not TYPING.match(name)}

    @cached_property
    def calls(self) -> set[str]:
        """Names of called functions and methods that the file does not define."""
        own = {name.rpartition(".")[2] for name in self.units}
        return self.called - own - COMMON_CALLS - {""}

    @cached_property
    def operations(self) -> Counter[str]:
        """Operators and named arguments, each with its literals, by how often they are written."""
        counts = Counter[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.keyword):
                parts = ("..." if isinstance(part, ast.expr) and not is_literal(fold(part, {}))
                         else ast.dump(part) for part in ast.iter_child_nodes(node))  # fmt: skip
                counts[f"{getattr(node, 'arg', '')} {' '.join(parts)}"] += 1
        return counts

    @cached_property
    def tensors(self) -> set[str]:
        """Names of the inputs that Triton's Python backend gives to the code."""
        calls = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        names = (fold(argument, assigned_names(self.tree)) for call in calls
                 if last_name(call.func) == "get_input_tensor_by_name"
                 for argument in call.args[1:2])  # fmt: skip
        return {name for name in names if isinstance(name, str)}

    @cached_property
    def called(self) -> set[str]:
        """Names of called functions and methods."""
        return {last_name(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}

    @cached_property
    def raised(self) -> set[str]:
        nodes = (node.exc for node in ast.walk(self.tree) if isinstance(node, ast.Raise))
        return {last_name(node.func if isinstance(node, ast.Call) else node)
                for node in nodes if node} - {""}  # fmt: skip

    @cached_property
    def constants(self) -> set[str]:
        """Literals as Python writes them; names of constants are replaced by their literals."""
        tree = _Folded(assigned_names(self.tree)).visit(_copy(self.tree))
        values = {repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        return values - COMMON_CONSTANTS


class _Plain(ast.NodeTransformer):
    """Removes what has no effect: docstrings, and annotations outside of classes."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        in_class = isinstance(node, ast.ClassDef)
        for name in _NESTED:
            if isinstance(statements := getattr(node, name, None), list):
                kept = [part for part in statements if not _has_no_effect(part)]
                if not in_class:
                    kept = [_without_annotation(part) for part in kept]
                setattr(node, name, [part for part in kept if part])
        if isinstance(node, _FUNCTIONS) and _is_type(node.returns):
            node.returns = None
        elif isinstance(node, ast.arg) and _is_type(node.annotation):
            node.annotation = None
        return super().generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        value = fold(node, {})
        return ast.copy_location(ast.Constant(value), node) if _is_amount(value) else node


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _has_no_effect(node: ast.AST) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=test, orelse=[]) if last_name(test) == "TYPE_CHECKING":
            return all(isinstance(part, ast.Import | ast.ImportFrom) for part in node.body)
    return False


def _is_type(annotation: ast.expr | None) -> bool:
    """Return whether an annotation calls nothing: Python evaluates it."""
    parts = ast.walk(annotation) if annotation else ()
    return all(isinstance(part, _TYPE_NODES) for part in parts)


def _without_annotation(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.AnnAssign) or not _is_type(node.annotation):
        return node
    return node.value and ast.Assign([node.target], node.value, lineno=node.lineno)


class _Folded(ast.NodeTransformer):
    """Replaces names of constants by their literals, and joins the texts of f-strings."""

    def __init__(self, names: Mapping[str, Literal]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and isinstance(self._names.get(node.id), str | int):
            return ast.Constant(self._names[node.id])
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        parts: list[ast.expr] = []
        for part in node.values:
            folded = fold(part, self._names)
            if not is_literal(folded):
                parts.append(self.visit(part))
            elif parts and isinstance(parts[-1], ast.Constant):
                parts[-1] = ast.Constant(str(parts[-1].value) + str(folded))
            else:
                parts.append(ast.Constant(str(folded)))
        return ast.JoinedStr(parts)


def _copy(tree: ast.AST) -> Any:
    return pickle.loads(pickle.dumps(tree))  # several times as fast as copy.deepcopy


def _canonical(unit: ast.AST) -> str:
    """Return a part as text that tells neither the names of local variables nor steps.

    A variable that only the next statement reads is replaced by its value; others are numbered.
    """
    if not isinstance(unit, _FUNCTIONS):
        return ast.dump(unit)
    if any(isinstance(part, ast.ClassDef) or last_name(part) in _READING_NAMES
           for part in ast.walk(unit)):  # fmt: skip
        return ast.dump(unit)
    renamed = _Joined(unit).visit(_copy(unit))
    parts = [*ast.walk(renamed)]
    fixed = {part.arg for part in parts if isinstance(part, ast.arg)}
    for part in parts:
        if isinstance(part, ast.Global | ast.Nonlocal):
            fixed.update(part.names)
    numbers: dict[str, str] = {}
    for part in parts:
        name = _stored_name(part)
        if name and name not in fixed:
            numbers.setdefault(name, f"<{len(numbers)}>")
    for part in parts:
        for field in ("id", "name", "rest"):
            if isinstance(part, ast.Name | ast.ExceptHandler | ast.pattern):
                name = getattr(part, field, None)
                if name in numbers:
                    setattr(part, field, numbers[name])
    return ast.dump(renamed)


class _Joined(ast.NodeTransformer):
    """Puts a local variable that only the next statement reads, once, into that statement.

    `lazily`: also where `and` or `or` might not read it, so that it would not be computed.
    """

    def __init__(self, unit: ast.AST, *, lazily: bool = False) -> None:
        self._lazily = lazily
        nodes = [*ast.walk(unit)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self._counts = Counter((node.id, type(node.ctx)) for node in names)
        self._outer = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal)
                       for name in node.names}  # fmt: skip

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in _NESTED:
            body = getattr(node, field, None)
            if isinstance(body, list):
                position = 0
                while position + 1 < len(body):
                    if self._is_joined(body[position], body[position + 1]):
                        del body[position]
                        position = max(position - 1, 0)
                    else:
                        position += 1
        return node

    def _is_joined(self, first: ast.AST, second: ast.AST) -> bool:
        """Put the value of `first` into `second`, unless calls would run in another order."""
        match first:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                self._counts[name, ast.Store] == self._counts[name, ast.Load] == 1
                and (name, ast.Del) not in self._counts
                and name not in self._outer
            ):
                return _replace_first_read(second, name, value, lazily=self._lazily)
        return False


def _replace_first_read(
    statement: ast.AST, name: str, value: ast.expr, *, lazily: bool = False
) -> bool:
    """Replace a name in a statement if nothing runs before it that `value` could change."""
    has_calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(value))

    def replace(node: ast.AST) -> bool | None:
        """Return whether the name is replaced, None if something else comes first."""
        for field, child in ast.iter_fields(node):
            if field in ("targets", "target"):
                continue  # which are evaluated last
            for index, part in enumerate(child if isinstance(child, list) else [child]):
                if isinstance(part, ast.Name) and part.id == name:
                    if isinstance(child, list):
                        child[index] = value
                    else:
                        setattr(node, field, value)
                    return True
                is_skipped = isinstance(part, ast.BoolOp) and lazily and not has_calls
                if isinstance(part, _LATER) and not is_skipped:
                    return None
                if isinstance(part, ast.AST) and (outcome := replace(part)) is not False:
                    return outcome
                is_state = isinstance(part, ast.Attribute | ast.Subscript) and field != "func"
                if is_state and has_calls:
                    return None
        return None if isinstance(node, ast.Call | ast.Await) else False

    is_simple = isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.If | ast.For)
    return is_simple and bool(replace(statement))


def _is_message(change: Change) -> bool:
    """Return whether a statement only writes a log, or a message that changes."""
    node = change.node
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Call) and LOGGING.fullmatch(ast.unparse(call.func)):
        return True
    sides = [side for side in (change.before, change.after) if side]
    is_text = all(isinstance(side, ast.JoinedStr)
                  or (isinstance(side, ast.Constant) and isinstance(side.value, str))
                  for side in sides)  # fmt: skip
    return is_text and all(ast.unparse(side).count(" ") > 2 for side in sides)


def _stored_name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.MatchMapping(rest=name):
            return name
    return None


def _body(unit: ast.AST) -> str:
    """Return a function as text, without its name."""
    anonymous = copy.copy(unit)
    if hasattr(anonymous, "name"):
        anonymous.name = ""
    return _canonical(anonymous)


def _renamed_functions(old: Mapping[str, ast.AST], new: Mapping[str, ast.AST]) -> dict[str, str]:
    """Return old -> new name of functions and classes with the same content."""
    added = [name for name in new if name and name not in old]
    by_body = {_body(new[name]): name for name in added}
    removed = (name for name in old if name and name not in new)
    pairs = ((name, by_body.pop(_body(old[name]), None)) for name in removed if by_body)
    return {name: other for name, other in pairs if other}


class _Renaming(ast.NodeTransformer):
    """Gives functions and classes other names, also where they are used, not those of others."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = {old.rpartition(".")[2]: new.rpartition(".")[2] for old, new in names.items()}

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(id=name) if name in self._names:
                node.id = self._names[name]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if name in self._names:
                node.attr = self._names[name]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name in self._names:
                node.name = self._names[name]
        return self.generic_visit(node)


def _moved(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the statements of `old` that stand elsewhere in `new`."""
    for tag, start, end, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("delete", "replace"):
            yield from (row for row in old[start:end] if row in new)


def _unit_changes(name: str, old: ast.AST, new: ast.AST) -> Iterator[Change]:
    """Yield the changed expressions of a function or class, of statements in any order."""
    sides = [[*_statements(unit)] for unit in (old, new)]
    variables = [{*map(_stored_name, ast.walk(unit))} for unit in (old, new)]
    old_counts, new_counts = (Counter(map(first_line, side)) for side in sides)
    lost, gained = old_counts - new_counts, new_counts - old_counts
    removed = [node for node in sides[0] if lost[first_line(node)]]
    added = [node for node in sides[1] if gained[first_line(node)]]
    for before, after in _pairs(removed, added):
        kind = type(after or before)
        rank, keyword = _RANKS.get(kind, 2), _KEYWORDS.get(kind, "")
        own = name.rpartition(".")[2]
        if before is None or after is None:
            yield Change(name, own, keyword, before, after, rank)
            continue
        for part, *nodes in expression_changes(own, before, after):
            is_message = keyword == "raise" and isinstance(nodes[0], ast.JoinedStr | ast.Constant)
            pair = Change(name, part, keyword, nodes[0], nodes[1], 3 if is_message else rank)
            names = tuple(node.id if isinstance(node, ast.Name) else "" for node in nodes)
            if not (
                names[0] in variables[0] - variables[1] and names[1] in variables[1] - variables[0]
            ):
                yield pair  # not another name of a variable, whose value is told where it is set


def _statements(node: ast.AST, *, is_first: bool = True) -> Iterator[ast.AST]:
    """Yield the statements of a function or class, each without the statements in it."""
    for decorator in getattr(node, "decorator_list", ()):
        yield ast.Name(f"@{ast.unparse(decorator)}")
    if isinstance(node, ast.Try) and node.finalbody:
        yield ast.Name("finally")
    if not isinstance(node, ast.Module | ast.Try) and not (
        is_first and isinstance(node, ast.ClassDef) and not node.bases
    ):
        yield _header(node)
    for name in _NESTED:
        for part in getattr(node, name, None) or ():
            if isinstance(part, ast.AST):
                yield from _statements(part, is_first=False)


def _header(node: ast.AST) -> ast.AST:
    if not any(isinstance(getattr(node, name, None), list) for name in _NESTED):
        return node
    header = copy.copy(node)
    for name in _NESTED:
        if hasattr(header, name):
            setattr(header, name, [])
    if hasattr(header, "decorator_list"):
        header.decorator_list = []
    return header


def _pairs(
    removed: Sequence[ast.AST], added: Sequence[ast.AST]
) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    """Yield each removed statement with the one that replaces it, then the new ones."""
    if len(removed) * len(added) > MAX_PAIRS:
        pairs = [*zip(removed, added, strict=False)]
    else:
        candidates = [(_similarity(old, new), old, new) for old in removed for new in added
                      if type(old) is type(new)]  # fmt: skip
        pairs, paired = [], set[int]()
        for similarity, old, new in sorted(candidates, key=lambda row: -row[0]):
            if similarity >= SIMILAR and not {id(old), id(new)} & paired:
                pairs.append((old, new))
                paired |= {id(old), id(new)}
    after = {id(old): new for old, new in pairs}
    replacing = {id(new) for _, new in pairs}
    yield from ((old, after.get(id(old))) for old in removed)
    yield from ((None, new) for new in added if id(new) not in replacing)


def _similarity(old: ast.AST, new: ast.AST) -> float:
    """Return how similar two statements are; other amounts of other names are not."""
    match old, new:
        case ast.Assign(targets=[a], value=ast.Constant(value=b)), ast.Assign(
            targets=[c], value=ast.Constant(value=d)
        ) if ast.dump(a) != ast.dump(c) and b != d:
            return 0
    before, after = first_line(old)[:300], first_line(new)[:300]
    return SequenceMatcher(None, before, after, autojunk=False).ratio()


NodePair = tuple[str, ast.AST | None, ast.AST | None]
"""Name of a value, and its node before and after."""


def expression_changes(name: str, old: ast.AST, new: ast.AST) -> Iterator[NodePair]:
    """Yield the smallest parts of two statements or expressions that differ and tell something."""
    if ast.dump(old) == ast.dump(new):
        return
    pairs = _child_pairs(name, old, new)
    if pairs is None:
        yield name, old, new
        return
    for part, before, after in pairs:
        if before is None or after is None:
            yield part, before, after
        else:
            yield from expression_changes(part, before, after)


def _child_pairs(name: str, old: ast.AST, new: ast.AST) -> list[NodePair] | None:
    """Return the parts of both nodes, None if the nodes as a whole tell what changes."""
    if type(old) is not type(new) or any(is_literal(fold(node, {})) for node in (old, new)):
        return None
    match old, new:
        case ast.Dict(), ast.Dict():
            return _named_pairs(*(
                {first_line(key) if key else "**": value
                 for key, value in zip(side.keys, side.values, strict=True)}
                for side in (old, new)
            ))  # fmt: skip
        case (
            (ast.List(elts=before), ast.List(elts=after))
            | (ast.Tuple(elts=before), ast.Tuple(elts=after))
            | (ast.Set(elts=before), ast.Set(elts=after))
        ):
            return [(name, *pair) for pair in _aligned(before, after)]
        case ast.Call(), ast.Call() if ast.dump(old.func) == ast.dump(new.func):
            label = ast.unparse(old.func)
            arguments = _named_pairs(*(
                {word.arg or "**": word.value for word in side.keywords} for side in (old, new)
            ))  # fmt: skip
            return [*((label, *pair) for pair in _aligned(old.args, new.args)), *arguments]
        case (ast.JoinedStr(), _) | (ast.UnaryOp(), _):
            return None
    return _single(name, old, new)


def _named_pairs(before: Mapping[str, ast.AST], after: Mapping[str, ast.AST]) -> list[NodePair]:
    return [(name.strip("'\""), before.get(name), after.get(name))
            for name in dict.fromkeys((*before, *after))]  # fmt: skip


def _single(name: str, old: ast.AST, new: ast.AST) -> list[NodePair] | None:
    """Return the parts if only one differs, or those of statements."""
    fields = [[(key, value) for key, value in ast.iter_fields(node)
               if not isinstance(value, ast.AST | list)] for node in (old, new)]  # fmt: skip
    operators = [[type(part) for part in ast.iter_child_nodes(node)
                  if isinstance(part, ast.cmpop | ast.operator | ast.unaryop | ast.boolop)]
                 for node in (old, new)]  # fmt: skip
    children = [[*named_children(node, name)] for node in (old, new)]
    if fields[0] != fields[1] or operators[0] != operators[1]:
        return None
    if len(children[0]) != len(children[1]):
        return None
    pairs = [(label, before, after)
             for (_, before), (label, after) in zip(*children, strict=True)
             if ast.dump(before) != ast.dump(after)]  # fmt: skip
    return pairs if len(pairs) == 1 or isinstance(old, ast.stmt) else None


def _aligned(
    before: Sequence[ast.AST], after: Sequence[ast.AST]
) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    """Yield the items of two lists that differ; both are None nowhere."""
    matcher = SequenceMatcher(None, [*map(ast.dump, before)], [*map(ast.dump, after)], False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = before[start:end], after[new_start:new_end]
        if len(old) == len(new):
            yield from zip(old, new, strict=True)
        else:
            yield from ((node, None) for node in old)
            yield from ((None, node) for node in new)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{', '.join(cut(name) for name in names[:MAX_NAMES])}{more}"
