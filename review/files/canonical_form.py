"""The canonical form of Python code: equal for code that only looks different.

Docstrings, annotations, the names of local variables, and variables that only name a step have no
effect. Source of the order of evaluation: Python's language reference, "Expressions".
"""

import ast
import copy
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from review.files.python_code import FUNCTIONS, NESTED, Literal, depth, fold, is_literal, last_name

_TYPE_NODES = (ast.Attribute, ast.BinOp, ast.BitOr, ast.Constant, ast.List, ast.Load, ast.Name,
               ast.Subscript, ast.Tuple)  # fmt: skip
_LATER = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.IfExp,
          ast.NamedExpr, ast.stmt)  # fmt: skip
"""Parts that run later, several times or perhaps never."""
MAX_LEVELS = 100
"""Maximum nesting of a statement with an inserted value, which recursive functions read."""
_READING_NAMES = ("dir", "eval", "exec", "locals", "vars")
"""Functions to which the names of local variables matter."""


def without_annotations(tree: ast.Module) -> ast.Module:
    """Return a tree without docstrings, and without annotations outside of classes."""
    plain: ast.Module = _Plain().visit(tree)
    return plain


def folded(tree: ast.AST, names: Mapping[str, Literal]) -> ast.AST:
    """Return a tree in which `names` are their literals, and the texts of f-strings are joined."""
    form: ast.AST = _Folded(names).visit(_copy(tree))
    return form


def joined(unit: ast.AST, *, lazily: bool = False) -> ast.AST:
    """Return a function in which variables that only the next statement reads are their values.

    `lazily`: also where `and` or `or` might not read it, so that it would not be computed.
    """
    form: ast.AST = _Joined(unit, lazily=lazily).visit(_copy(unit))
    return form


def are_equal(old: ast.AST, new: ast.AST) -> bool:
    """Return whether two functions differ by no more than the names of local variables."""
    return ast.dump(old) == ast.dump(new) or _canonical(old) == _canonical(new)


def renamed_functions(old: Mapping[str, ast.AST], new: Mapping[str, ast.AST]) -> dict[str, str]:
    """Return old -> new name of functions and classes with the same content, in the same class.

    A function is not renamed to a name that the old code already uses.
    """
    used = {last_name(part) or getattr(part, "arg", "")
            for unit in old.values() for part in ast.walk(unit)}  # fmt: skip
    added = [name for name in new if name not in old and name.rpartition(".")[2] not in used]
    by_body = {(name.rpartition(".")[0], _body(new[name])): name for name in added}
    removed = (name for name in old if name and name not in new)
    pairs = ((name, by_body.pop((name.rpartition(".")[0], _body(old[name])), None))
             for name in removed if by_body)  # fmt: skip
    return {name: other for name, other in pairs if other}


def rename_functions(tree: ast.Module, names: Mapping[str, str]) -> None:
    """Give functions and classes of a file other names, of the form CLASS.METHOD."""
    _Renaming(names).visit(tree)


class _Renaming(ast.NodeTransformer):
    """Gives functions and classes other names, also where they are used, not those of others.

    A method is used as an attribute of `self` or `cls` in its class.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._class = ""

    def visit(self, node: ast.AST) -> ast.AST:
        outer = self._class
        match node:
            case ast.Name(id=name):
                node.id = self._names.get(name, name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if outer:
                node.attr = self._names.get(f"{outer}{name}", name).rpartition(".")[2]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                node.name = self._names.get(f"{outer}{name}", name).rpartition(".")[2]
                self._class += f"{name}." if isinstance(node, ast.ClassDef) else ""
        self.generic_visit(node)
        self._class = outer
        return node


def stored_name(node: ast.AST) -> str | None:
    """Return the name that a node assigns a value to."""
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


def _canonical(unit: ast.AST) -> str:
    """Return a part as text that tells neither the names of local variables nor steps.

    A variable that only the next statement reads is replaced by its value; others are numbered.
    """
    if not isinstance(unit, FUNCTIONS):
        return ast.dump(unit)
    if any(isinstance(part, ast.ClassDef) or last_name(part) in _READING_NAMES
           for part in ast.walk(unit)):  # fmt: skip
        return ast.dump(unit)
    form = joined(unit)
    parts = [*ast.walk(form)]
    fixed = {part.arg for part in parts if isinstance(part, ast.arg)} | _outer_names(parts)
    numbers: dict[str | None, str] = {}
    for name in filter(None, map(stored_name, parts)):
        if name not in fixed:
            numbers.setdefault(name, f"<{len(numbers)}>")
    variables = (part for part in parts
                 if isinstance(part, ast.Name | ast.ExceptHandler | ast.pattern))  # fmt: skip
    for part in variables:
        for field in ("id", "name", "rest"):
            if number := numbers.get(getattr(part, field, None)):
                setattr(part, field, number)
    return ast.dump(form)


def _outer_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are not local variables."""
    return {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal)
            for name in node.names}  # fmt: skip


def _copy(tree: ast.AST) -> Any:
    return pickle.loads(pickle.dumps(tree))  # several times as fast as copy.deepcopy


class _Joined(ast.NodeTransformer):
    def __init__(self, unit: ast.AST, *, lazily: bool) -> None:
        self._lazily = lazily
        nodes = [*ast.walk(unit)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self._counts = Counter((node.id, type(node.ctx)) for node in names)
        self._outer = _outer_names(nodes)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in NESTED:
            if isinstance(body := getattr(node, field, None), list):
                setattr(node, field, self._join(body))
        return node

    def _join(self, body: list[ast.AST]) -> list[ast.AST]:
        kept: list[ast.AST] = []
        for statement in body:
            while kept and self._is_joined(kept[-1], statement):
                kept.pop()
            kept.append(statement)
        return kept

    def _is_joined(self, first: ast.AST, second: ast.AST) -> bool:
        """Put the value of `first` into `second`, unless calls would run in another order."""
        match first:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                self._counts[name, ast.Store] == self._counts[name, ast.Load] == 1
                and (name, ast.Del) not in self._counts
                and name not in self._outer
                and _is_read_first(second, name, value, lazily=self._lazily)
                and depth(second) + depth(value) <= MAX_LEVELS
            ):
                _Substitution(name, value).visit(second)
                return True
        return False


class _Substitution(ast.NodeTransformer):
    """Puts a value in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def _is_read_first(statement: ast.AST, name: str, value: ast.expr, *, lazily: bool) -> bool:
    """Return whether nothing runs before a statement reads a name that `value` could change."""
    if not isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.If | ast.For):
        return False
    has_calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(value))
    later: tuple[type[ast.AST], ...] = _LATER
    if has_calls or not lazily:
        later += (ast.BoolOp,)
    if "\\" in ast.unparse(value):
        later += (ast.JoinedStr,)  # `ast.unparse` of Python 3.11 raises an error for it
    methods = [part.func for part in ast.walk(statement) if isinstance(part, ast.Call)]
    for part in _evaluated(statement, later):
        if isinstance(part, ast.Name) and part.id == name:
            return True
        if isinstance(part, (*later, ast.Call, ast.Await)):
            return False
        if has_calls and isinstance(part, ast.Attribute | ast.Subscript) and part not in methods:
            return False
    return False


def _evaluated(node: ast.AST, later: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    """Yield the parts of a node in the order of evaluation; of `later` types, as a whole."""
    targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
    for part in ast.iter_child_nodes(node):
        if part not in targets:  # which are evaluated last
            if not isinstance(part, later):
                yield from _evaluated(part, later)
            yield part


class _Plain(ast.NodeTransformer):
    """Removes what has no effect: docstrings, and annotations outside of classes."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        in_class = isinstance(node, ast.ClassDef)
        for name in NESTED:
            if isinstance(statements := getattr(node, name, None), list):
                kept = [part for part in statements if not _has_no_effect(part)]
                if not in_class:
                    kept = [_without_annotation(part) for part in kept]
                setattr(node, name, [part for part in kept if part])
        if isinstance(node, FUNCTIONS) and _is_type(node.returns):
            node.returns = None
        elif isinstance(node, ast.arg) and _is_type(node.annotation):
            node.annotation = None
        return super().generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        value = fold(node, {})
        is_amount = isinstance(value, int | float | str)
        return ast.copy_location(ast.Constant(value), node) if is_amount else node


def _has_no_effect(node: ast.AST) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=test, orelse=[]) if last_name(test) == "TYPE_CHECKING":
            return all(isinstance(part, ast.Import | ast.ImportFrom) for part in node.body)
    return False


def _is_type(annotation: ast.expr | None) -> bool:
    """Return whether an annotation has no call, which Python would run."""
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
