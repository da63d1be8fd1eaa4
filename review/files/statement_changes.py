"""The statements of two versions of a function that differ, and their parts that tell why."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from review.files.canonical_form import stored_name
from review.files.python_code import (
    LOGGING,
    NESTED,
    Literal,
    cut,
    first_line,
    fold,
    is_literal,
    is_sentence,
    named_children,
)
from review.values import format_change

MAX_PAIRS = 1000
"""Maximum comparisons of changed statements of a function; above it, they are paired in order."""
SIMILAR = 0.5
"""Minimum similarity of two statements of which one replaces the other."""

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
    def sides(self) -> list[ast.AST]:
        """The statement or expression before and after the change, where it exists."""
        return [side for side in (self.before, self.after) if side]

    @property
    def is_pair(self) -> bool:
        """Whether one statement or expression replaces another."""
        return len(self.sides) == 2

    @property
    def node(self) -> ast.AST:
        """The statement or expression after the change, or the one that is gone."""
        return self.sides[-1]

    @property
    def literals(self) -> list[Literal] | None:
        """Both literals, None if a side is no literal."""
        literals = [fold(side, {}) for side in self.sides]
        return literals if self.is_pair and all(map(is_literal, literals)) else None

    @property
    def is_message(self) -> bool:
        """Whether the statement only writes a log, or a message that changes."""
        call = self.node.value if isinstance(self.node, ast.Expr) else self.node
        if isinstance(call, ast.Call) and LOGGING.fullmatch(ast.unparse(call.func)):
            return True
        return all(_is_text(side) and is_sentence(ast.unparse(side)) for side in self.sides)

    def __str__(self) -> str:
        own = self.function.rpartition(".")[2]
        name = "" if self.name == own else f"{cut(self.name)}:"
        start = " ".join(filter(None, (self.keyword, name)))
        if not self.is_pair:
            word = "new" if self.before is None else "gone"
            label = f"{name} " if name and isinstance(self.node, ast.expr) else ""
            return f"{word}: {label}{cut(first_line(self.node)).removesuffix(':')}"
        whole = [first_line(side).removesuffix(":") for side in self.sides]
        short = [*map(cut, whole)]
        change = " -> ".join(short) if short[0] != short[1] else format_change(*whole)
        return f"{start}{' ' if start else ''}{change}"


def _is_text(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def statement_changes(name: str, old: ast.AST, new: ast.AST) -> Iterator[Change]:
    """Yield the changed expressions of a function or class, of statements in any order."""
    sides = [[*statements(unit)] for unit in (old, new)]
    variables = [{*map(stored_name, ast.walk(unit))} for unit in (old, new)]
    old_counts, new_counts = (Counter(map(first_line, side)) for side in sides)
    lost, gained = old_counts - new_counts, new_counts - old_counts
    removed = [node for node in sides[0] if lost[first_line(node)]]
    added = [node for node in sides[1] if gained[first_line(node)]]
    own = name.rpartition(".")[2]
    for before, after in _pairs(removed, added):
        kind = type(after or before)
        rank, keyword = _RANKS.get(kind, 2), _KEYWORDS.get(kind, "")
        if before is None or after is None:
            yield Change(name, own, keyword, before, after, rank)
            continue
        for part, *nodes in _expression_changes(own, before, after):
            is_message = keyword == "raise" and isinstance(nodes[0], ast.JoinedStr | ast.Constant)
            pair = Change(name, part, keyword, nodes[0], nodes[1], 3 if is_message else rank)
            names = tuple(node.id if isinstance(node, ast.Name) else "" for node in nodes)
            if not (
                names[0] in variables[0] - variables[1] and names[1] in variables[1] - variables[0]
            ):
                yield pair  # not another name of a variable, whose value is told where it is set


def statements(node: ast.AST, *, is_first: bool = True) -> Iterator[ast.AST]:
    """Yield the statements of a function or class, each without the statements in it."""
    for decorator in getattr(node, "decorator_list", ()):
        yield ast.Name(f"@{ast.unparse(decorator)}")
    if isinstance(node, ast.Try) and node.finalbody:
        yield ast.Name("finally")
    if not isinstance(node, ast.Module | ast.Try) and not (
        is_first and isinstance(node, ast.ClassDef) and not node.bases
    ):
        yield _header(node)
    for name in NESTED:
        for part in getattr(node, name, None) or ():
            if isinstance(part, ast.AST):
                yield from statements(part, is_first=False)


def _header(node: ast.AST) -> ast.AST:
    header = copy.copy(node)
    for name in (*NESTED, "decorator_list"):
        if isinstance(getattr(node, name, None), list):
            setattr(header, name, [])
    return header


def _pairs(
    removed: Sequence[ast.AST], added: Sequence[ast.AST]
) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    """Yield each removed statement with the one that replaces it, then the new ones."""
    replaced: dict[ast.AST, ast.AST] = {}
    if len(removed) * len(added) > MAX_PAIRS:
        replaced.update(zip(removed, added, strict=False))
    else:
        candidates = [(_similarity(old, new), old, new) for old in removed for new in added
                      if type(old) is type(new)]  # fmt: skip
        for similarity, old, new in sorted(candidates, key=lambda row: -row[0]):
            if similarity >= SIMILAR and old not in replaced and new not in replaced.values():
                replaced[old] = new
    yield from ((old, replaced.get(old)) for old in removed)
    yield from ((None, new) for new in added if new not in replaced.values())


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


def _expression_changes(name: str, old: ast.AST, new: ast.AST) -> Iterator[NodePair]:
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
            yield from _expression_changes(part, before, after)


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
