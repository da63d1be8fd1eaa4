"""What changes in a file of Python code, from its syntax trees before and after.

People judge code. This tells them what to look at: the statements that differ, what the code newly
calls, and checks that refuse less. Names of local variables, annotations, docstrings and the order
of imports have no effect, and are not compared.
"""

import ast
import copy
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, pairwise, starmap

from review.files import canonical_form
from review.files.called_functions import Units, called_functions
from review.files.python_code import (
    FUNCTIONS,
    assigned_names,
    cut,
    first_line,
    fold,
    is_literal,
    is_sentence,
    last_name,
    parse,
)
from review.files.statement_changes import Change, statement_changes, statements
from review.files.weaker_checks import (
    CHECKING,
    CodeWarning,
    accepted_nan,
    ignored_errors,
    kept_results,
    weaker_checks,
    wider_patterns,
)

TYPING = re.compile(r"(__future__|collections\.abc|types|typing|typing_extensions)(\.|$)")
"""Modules whose names are mostly for annotations."""
NOT_READ = "not compared: not Python, or nested too deeply"
NO_EFFECT = "only comments, docstrings, annotations or formatting: it behaves as before"
RENAMED = "only other local variables, and comments or annotations: it behaves as before"
SAME_PARTS = "the same calls, constants, raised errors and imports as before"
COMMON_CONSTANTS = {repr(value) for value in (None, True, False, 0, 1, -1, "", ())}
"""Literals that most code has; where one changes in a statement, the statement is told."""
COMMON_CALLS = frozenset(
    (
        "add", "append", "bool", "bytes", "decode", "dict", "encode", "endswith", "enumerate",
        "extend", "filter", "format", "frozenset", "get", "getattr", "int", "isinstance", "items",
        "join", "keys", "len", "list", "lower", "map", "max", "min", "next", "partition", "range",
        "removeprefix", "removesuffix", "replace", "repr", "reversed", "rpartition", "set",
        "setdefault", "sorted", "split", "splitlines", "startswith", "str", "strip", "sum", "tuple",
        "type", "update", "upper", "values", "zip",
    )
)  # fmt: skip
"""Functions and methods of Python's own types, by which the same is written in other words."""
MAX_NAMES = 6
"""Maximum names in a list of new calls, constants or functions."""
MAX_SHOWN = 2
"""Maximum new functions whose statements are shown; of more, only the names are."""
MAX_NEW_STATEMENTS = 4
"""Maximum statements of a new function."""
MAX_PURPOSE = 100
"""Maximum characters of what a docstring says of a function."""
MAX_EFFECTS = 400
"""Maximum characters of the statements by which code can act otherwise."""


class CodeChanges:
    """The differences of two versions of a file."""

    def __init__(self, before: bytes, after: bytes) -> None:
        """Parse both versions; a file that does not exist is empty."""
        trees = parse(before), parse(after)
        self.is_readable = None not in trees
        old, new = (tree or ast.Module([], []) for tree in trees)
        purposes = dict(chain(*starmap(_purposes, _Module(old).units.items())))
        self._old, self._new = (
            _Module(canonical_form.without_annotations(tree)) for tree in (old, new)
        )
        self._renamed = canonical_form.renamed_functions(self._old.units, self._new.units)
        self._purposes = {self._renamed.get(name, name): text for name, text in purposes.items()}
        if self._renamed:  # callers and the function itself are compared under the new name
            canonical_form.rename_functions(self._old.tree, self._renamed)
            self._old = _Module(self._old.tree)

    @cached_property
    def changes(self) -> list[Change]:
        """The changed statements of functions that exist before and after, and of the module.

        Statements only move to a new function that it calls, and from one that is gone.
        """
        old, new = self.units
        gone = [old[name] for name in old if name not in new]
        return [
            change
            for name in new
            if name in old and name in self._changed
            for change in self._unmoved(name, gone)
        ]

    def _unmoved(self, name: str, gone: Sequence[ast.AST]) -> Iterator[Change]:
        """Yield a function's changes without statements of `gone` and of new functions it calls."""
        old, new = self.units
        others = (*gone, *(new[other] for other in self._called[name]))
        moved = {first_line(statement) for other in others for statement in statements(other)}
        for change in statement_changes(name, old[name], new[name]):
            if change.is_pair or first_line(change.node) not in moved:
                yield change

    @property
    def units(self) -> tuple[Units, Units]:
        """The functions, classes and the module of both versions, by their qualified names."""
        return self._old.units, self._new.units

    @cached_property
    def _called(self) -> dict[str, set[str]]:
        return called_functions(self._new.units, self._old.units)

    @cached_property
    def _changed(self) -> set[str]:
        """Names of the parts that differ by more than the names of local variables."""
        old, new = self._old.units, self._new.units
        return {
            name
            for name in old.keys() | new.keys()
            if not (name in old and name in new and canonical_form.are_equal(old[name], new[name]))
        }

    def acting_functions(self, *, is_exact: bool) -> set[str]:
        """Return the changed functions that can act otherwise, an empty name for the module.

        There are none in a new file, and if only logs and messages change. There are also none if
        calls, constants, raised errors and imports are as before, no `if` is lost, and no switch is
        new or gone; with `is_exact`, operators and named arguments must be as before too.
        """
        if not (self.is_readable and self._old.tree.body):
            return set()
        statements = [change for change in self.changes if not change.is_message]
        has_other_values = any(
            change.literals or self._is_setting(change) or self._is_lost_condition(change)
            for change in statements
        )
        has_same_parts = self._has_same_parts and not (
            is_exact and self._old.operations != self._new.operations
        )
        if has_same_parts and not has_other_values:
            return set()
        return {change.function for change in statements}

    def _is_setting(self, change: Change) -> bool:
        """Return whether a name of a module or class newly has True or False, or no longer."""
        match change:
            case Change(node=ast.Assign(value=ast.Constant(value=bool())), is_pair=False):
                return not isinstance(self._new.units[change.function], FUNCTIONS)
        return False

    def _is_lost_condition(self, change: Change) -> bool:
        """Return whether an `if` or `while` is gone, and its condition is not in the function."""
        unit = self._new.units[change.function]
        return (
            change.after is None
            and isinstance(change.before, ast.If | ast.While)
            and ast.dump(change.before.test) not in map(ast.dump, ast.walk(unit))
        )

    @property
    def effects(self) -> list[str]:
        """The texts of a change by which the code can act otherwise."""
        unread = [name for name in sorted(self._old.tensors - self._new.tensors)
                  if repr(name) not in self._new.constants]  # fmt: skip
        return [f"no longer reads the tensor {name}" for name in unread] + self.texts(MAX_EFFECTS)

    @property
    def warnings(self) -> list[CodeWarning]:
        """Checks that refuse less, ignored errors and kept results."""
        sides = self.units
        changed = [(change.function, change.before, change.after) for change in self.changes]
        has_arrays = any(name.partition(" ")[0] == "numpy" for name in self._new.imports)
        return [
            *(warning for warning in self._weaker_checks if warning.is_certain),
            *wider_patterns(sides[1], changed),
            *(accepted_nan(*sides) if has_arrays else ()),
            *kept_results(*sides),
            *ignored_errors(*sides),
        ]

    @cached_property
    def _weaker_checks(self) -> dict[CodeWarning, None]:
        sides = (
            {name: canonical_form.joined(unit, lazily=True) if name in self._changed else unit
             for name, unit in side.items()}
            for side in self.units
        )  # fmt: skip
        return dict.fromkeys(weaker_checks(*sides))

    @property
    def decisions(self) -> Iterator[tuple[str, str]]:
        """Functions with other conditions, and the texts."""
        for warning in self._weaker_checks:
            if not warning.is_certain:
                yield warning.function, f"{self._described(warning.function)}: {warning.text}"

    def _described(self, name: str) -> str:
        """Return a function's name, and what the old version says of it, its class or its file."""
        owners = [name.rsplit(".", count)[0] for count in range(name.count(".") + 1)]
        purposes = filter(None, (self._purposes.get(owner) for owner in (*owners, "")))
        return f"{name}{next(purposes, '')}" if name else ""

    def _text(self, change: Change) -> str:
        """Return a change, with what the old version says of a changed constant."""
        name = last_name(next(iter(getattr(change.node, "targets", ())), ast.Name(change.name)))
        return f"{change}{self._purposes.get(f'{change.function}.{name}'.lstrip('.'), '')}"

    def called_checks(self, used: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
        """Return the checks that are newly called, and that are no longer called.

        They are those of other files, by their names, and private functions that raise errors.
        `used` are the functions of the new version that something calls.
        """
        units = self._new.units
        raising = {
            own
            for name in units.keys() & self._old.units.keys()
            if (own := name.rpartition(".")[2]).startswith("_")
            and any(isinstance(node, ast.Raise) for node in ast.walk(units[name]))
        }
        old, new = (
            {name for call in _calls(parts) for name in [call.lstrip(".")]
             if name in raising or (CHECKING.match(name) and call not in side.own_calls)}
            for side, parts in ((self._old, [self._old.tree]), (self._new, used))
        )  # fmt: skip
        return new - old, old - new

    def texts(self, longest: int) -> list[str]:
        """Return texts of about `longest` characters, those that tell most first."""
        old, new = self._old, self._new
        if not self.is_readable:
            return [NOT_READ]
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
            elif (text := self._text(change)) not in texts:
                texts.append(text)
        statements = [f"{self._described(name)}: {'; '.join(texts)}".removeprefix(": ")
                      for name, texts in by_function.items() if texts]  # fmt: skip
        is_rewritten = by_function and (functions or count) and self._has_same_parts
        if is_rewritten and not any(change.literals for change in self.changes):
            names = [name for name in by_function if name]
            where = f" in {_names(names)}" if names else ""
            return [f"rewritten{where} with {SAME_PARTS}", *functions]
        texts = [
            *statements,
            *self._order_texts(by_function),
            *self._part_texts("; ".join(statements)),
            *functions,
        ]
        texts = [text for index, text in enumerate(texts)
                 if index == 0 or sum(map(len, texts[:index])) < longest]  # fmt: skip
        return [*texts, *([f"{count} more changed statements"] if count else [])]

    def _order_texts(self, described: Collection[str]) -> Iterator[str]:
        """Yield the functions whose statements are the same, in another order or nesting."""
        for name in self._changed - {*described}:
            if name in self._old.units and name in self._new.units:
                rows = [[*map(first_line, statements(side.units[name]))]
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
        if old.tree.body and len(added) <= MAX_SHOWN:
            for name in added:
                rows = [cut(first_line(statement)) for statement in statements(new.units[name])]
                yield f"new: {'; '.join(rows[:MAX_NEW_STATEMENTS])}"
        elif added:
            yield f"new functions: {_names(added)}"
        if removed:
            yield f"gone functions: {_names(removed)}"

    @property
    def _has_same_parts(self) -> bool:
        old, new = self._old, self._new
        called = self._called.keys() | set[str]().union(*self._called.values())
        return called == new.units.keys() and (
            (old.calls, old.raised, old.constants, old.imports)
            == (new.calls, new.raised, new.constants, new.imports)
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
    is_name = not is_sentence(text) or "://" in text
    return is_name and text not in shown and any(map(str.isalnum, text))


def _purposes(name: str, unit: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield a unit's name and that of its constants, each with ` (FIRST LINE OF ITS DOCSTRING)`."""
    if isinstance(unit, (*FUNCTIONS, ast.ClassDef, ast.Module)):
        yield name, _first_line_of(ast.get_docstring(unit))
    for target, following in pairwise(getattr(unit, "body", ())):
        match target, following:
            case ast.Assign(targets=[ast.Name(id=own)]), ast.Expr(ast.Constant(value=str(text))):
                yield f"{name}.{own}".lstrip("."), _first_line_of(text)


def _first_line_of(docstring: str | None) -> str:
    line = (docstring or "").strip().partition("\n")[0]
    return f" ({cut(line, MAX_PURPOSE)})" if line else ""


@dataclass
class _Module:
    tree: ast.Module

    @cached_property
    def units(self) -> dict[str, ast.AST]:
        """Qualified name -> function, or class without its functions; empty -> the module."""
        units: dict[str, ast.AST] = {}

        def add(owner: ast.Module | ast.ClassDef, name: str) -> None:
            own = [part for part in owner.body
                   if not isinstance(part, (*FUNCTIONS, ast.ClassDef))
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
                elif isinstance(part, FUNCTIONS):
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
        calls = _calls([self.tree]) - self.own_calls
        return {call.lstrip(".") for call in calls} - COMMON_CALLS - {""}

    @property
    def own_calls(self) -> set[str]:
        """How functions and classes of the file are called: NAME, or .METHOD for a method."""
        return {"." * ("." in name) + name.rpartition(".")[2] for name in self.units}

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
    def raised(self) -> set[str]:
        nodes = (node.exc for node in ast.walk(self.tree) if isinstance(node, ast.Raise))
        return {last_name(node.func if isinstance(node, ast.Call) else node)
                for node in nodes if node} - {""}  # fmt: skip

    @cached_property
    def constants(self) -> set[str]:
        """Literals as Python writes them; names of constants are replaced by their literals."""
        tree = canonical_form.folded(self.tree, assigned_names(self.tree))
        values = {repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        return values - COMMON_CONSTANTS


def _calls(units: Iterable[ast.AST]) -> set[str]:
    """Return the names of called functions, and .METHOD of called methods."""
    calls = (part.func for part in chain(*map(ast.walk, units)) if isinstance(part, ast.Call))
    return {"." * isinstance(call, ast.Attribute) + last_name(call) for call in calls}


def _moved(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the statements of `old` that stand elsewhere in `new`."""
    for tag, start, end, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("delete", "replace"):
            yield from (row for row in old[start:end] if row in new)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{', '.join(cut(name) for name in names[:MAX_NAMES])}{more}"
