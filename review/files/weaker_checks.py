"""Checks in Python code that refuse less after a change, and results that functions newly keep.

Only forms that refuse less for every value count: a condition more, an alternative less, a part in
place of the whole. Other changed conditions are told as they are (`code_changes`).
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from review.files.python_code import cut, first_line, last_name, parse

Units = Mapping[str, ast.AST]
"""Qualified name -> function, or class or module without its functions."""

CHECKING = re.compile(r"_*(assert|check|ensure|guard|refuse|reject|require|validate|verify)(_|$)")
"""Names of functions that only check."""
BROAD = (
    "",
    "BaseException",
    "BotoCoreError",
    "ClientError",
    "Exception",
    "OSError",
    "RuntimeError",
)
"""Errors of which code that ignores them cannot know the reason."""
CACHES = ("alru_cache", "cache", "cached", "lru_cache", "memoize", "ttl_cache")
CHANGING = re.compile(
    r"(list|describe|head|scan|query|batch_get|get)(_(?!paginator|waiter)\w+)?|paginate|urlopen|now|time"
)
"""Calls whose answers change, such as those of AWS and of the clock, as methods or of modules."""
OWN_TYPES = ("get", "head", "list")
"""Names that methods of Python's own types have too, which count as functions of `MODULES`."""
MODULES = ("datetime", "httpx", "requests", "time")
PARTIAL = ("endswith", "fnmatch", "fnmatchcase", "match", "search", "startswith")
KEPT = " is kept"
"""The end of a text about results that are kept."""
LOGGING = re.compile(r"(.*\.)?(log|logger|logging|LOGGER|LOG|warnings|pb_utils\.Logger)\.\w+|print")


class Guard(NamedTuple):
    """A statement that raises an error, and the conditions under which a function runs it."""

    function: str
    error: str
    statement: str
    conditions: tuple[ast.expr, ...]

    @property
    def test(self) -> ast.expr:
        """All conditions as one expression."""
        values = [part for test in self.conditions for part in _operands(test, ast.And)]
        return values[0] if len(values) == 1 else ast.BoolOp(ast.And(), values)

    @property
    def condition(self) -> str:
        """The nearest condition, empty without one."""
        return ast.unparse(self.conditions[-1]) if self.conditions else ""


def weaker_checks(
    old: Units, new: Units, changed: Iterable[tuple[str, ast.AST | None, ast.AST | None]]
) -> Iterator[str]:
    """Yield each check that refuses less; `changed` are functions and changed expressions."""
    old_guards, new_guards = ([guard for guard in _guards(units) if guard.conditions]
                              for units in (old, new))  # fmt: skip
    conditions = "\n".join(ast.dump(guard.test) for guard in new_guards)
    for before, after in _paired(old_guards, new_guards):
        if _is_narrower(before.test, after.test) and not _is_elsewhere(before, after, conditions):
            texts = " -> ".join(cut(ast.unparse(guard.test)) for guard in (before, after))
            yield f"{before.function}: refuses less ({before.error}): if {texts}"
    accepting = _accepting(new_guards)
    for function, part, other in changed:
        name = function.rpartition(".")[2]
        unit = new.get(function)
        if isinstance(part, ast.expr) and isinstance(other, ast.expr) and unit:
            patterns = _pattern(part), _pattern(other)
            is_wider = all(patterns) and _accepts_more(*map(str, patterns))
            if is_wider and any(isinstance(node, ast.Raise) for node in ast.walk(unit)):
                texts = f"{ast.unparse(part)} -> {ast.unparse(other)}"
                yield f"{function}: accepts more: {texts}"
            elif name in accepting and _is_narrower(other, part):
                texts = f"{cut(ast.unparse(part))} -> {cut(ast.unparse(other))}"
                yield f"{function}: accepts more: {texts}"
        elif part is None and name in accepting and other and ast.unparse(other) == "return True":
            yield f"{function}: accepts more: new: return True"
    yield from _early_returns(old, new)
    yield from _uncalled(old, new)


def refusals(content: bytes | None) -> Iterator["Guard"]:
    """Yield the statements of a file that raise an error, not those that only name another one.

    Without a handler that raises another error, the first one is raised.
    """
    yield from _guards({"": parse(content) or ast.Module([], [])})


def _guards(units: Units) -> Iterator[Guard]:
    def walk(
        function: str, body: Iterable[ast.AST], tests: tuple[ast.expr, ...]
    ) -> Iterator[Guard]:
        for node in body:
            match node:
                case ast.Raise(exc=ast.Call(func=error)) | ast.Raise(exc=ast.expr() as error):
                    yield Guard(function, ast.unparse(error), ast.unparse(node), tests)
                case ast.Assert(test=test):
                    yield Guard(function, "assert", ast.unparse(node), (*tests, _negated(test)))
                case ast.If(test=test):
                    yield from walk(function, node.body, (*tests, test))
                    ends = any(isinstance(part, ast.Raise) for part in node.body)
                    others = tests if ends else (*tests, _negated(test))
                    yield from walk(function, node.orelse, others)
                case _:
                    for name in ("body", "orelse", "finalbody", "cases"):
                        yield from walk(function, getattr(node, name, None) or (), tests)

    for function, unit in units.items():
        yield from walk(function, getattr(unit, "body", ()), ())


def _negated(test: ast.expr) -> ast.expr:
    return test.operand if _is_not(test) else ast.UnaryOp(ast.Not(), test)  # type: ignore[attr-defined]


def _is_not(test: ast.AST) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _paired(old: list[Guard], new: list[Guard]) -> Iterator[tuple[Guard, Guard]]:
    """Yield the guards that differ, of a function and error, in their order."""
    rows = [[(guard.function, guard.error, ast.dump(guard.test)) for guard in side]
            for side in (old, new)]  # fmt: skip
    counts = [Counter(side) for side in rows]
    lost, new_rows = counts[0] - counts[1], counts[1] - counts[0]
    removed = [guard for guard, row in zip(old, rows[0], strict=True) if lost[row]]
    added = [guard for guard, row in zip(new, rows[1], strict=True) if new_rows[row]]
    numbers = [Counter(guard[:2] for guard in side) for side in (removed, added)]
    for before in removed:
        if numbers[1][before[:2]] > numbers[0][before[:2]]:
            continue  # a check that is divided
        same = (guard for guard in added if guard[:2] == before[:2])
        if after := next(same, None):
            added.remove(after)
            yield before, after


def _operands(test: ast.expr, kind: type[ast.boolop]) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, kind) else [test]


def _is_narrower(old: ast.expr, new: ast.expr) -> bool:
    """Return whether `new` is true for fewer values than `old`, by the forms of both."""
    if isinstance(old, ast.NamedExpr) and isinstance(new, ast.NamedExpr):
        return _is_narrower(old.value, new.value)
    for kind, fewer, more in ((ast.And, old, new), (ast.Or, new, old)):
        sides = [{ast.dump(part) for part in _operands(test, kind)} for test in (fewer, more)]
        if sides[0] < sides[1]:
            return True
        parts = [_operands(test, kind) for test in (old, new)]
        if len(parts[0]) == len(parts[1]) > 1:
            differing = [pair for pair in zip(*parts, strict=True)
                         if ast.dump(pair[0]) != ast.dump(pair[1])]  # fmt: skip
            return len(differing) == 1 and _is_narrower(*differing[0])
    (is_old_negated, positive), (is_new_negated, new_positive) = map(_positive, (old, new))
    if is_old_negated and is_new_negated:
        return _is_narrower(new_positive, positive)
    return not (is_old_negated or is_new_negated) and _is_part(old, new)


def _positive(test: ast.expr) -> tuple[bool, ast.expr]:
    """Return whether a test is negated, and the test that it negates."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            is_negated, inner = _positive(operand)
            return not is_negated, inner
        case ast.Compare(ops=[ast.NotEq() | ast.NotIn() as operator]):
            kind = ast.Eq() if isinstance(operator, ast.NotEq) else ast.In()
            return True, ast.Compare(test.left, [kind], test.comparators)
    return False, test


def _is_part(old: ast.expr, new: ast.expr) -> bool:
    """Return whether `old` compares a part, such as an ending, and `new` the whole."""
    names = [{node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
             for test in (old, new)]  # fmt: skip
    match old, new:
        case ast.Call(func=ast.Name(id="any"), args=a), ast.Call(func=ast.Name(id="all"), args=b):
            return [*map(ast.dump, a)] == [*map(ast.dump, b)]
        case ast.Compare(ops=[ast.In()], comparators=[container]), ast.Compare(ops=[ast.Eq()]):
            return bool(names[0] & names[1]) and isinstance(
                container, ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript
            )
        case ast.Call(func=function), ast.Compare(ops=[ast.Eq()]):
            return last_name(function) in PARTIAL and bool(names[0] & names[1])
        case ast.Call(func=function), ast.Call(func=ast.Attribute(attr="fullmatch")):
            return last_name(function) in ("match", "search") and bool(names[0] & names[1])
    return False


def _is_elsewhere(before: Guard, after: Guard, conditions: str) -> bool:
    """Return whether an alternative that a condition loses is in another condition."""
    parts = [{ast.dump(part): part for part in _operands(guard.test, ast.Or)}
             for guard in (before, after)]  # fmt: skip
    lost = parts[0].keys() - parts[1].keys()
    return len(parts[0]) > 1 and all(text in conditions for text in lost)


def _accepting(guards: Iterable[Guard]) -> set[str]:
    """Return the functions that have to return true, or a check raises an error."""
    return {
        last_name(part.operand.func)
        for guard in guards
        for part in ast.walk(guard.test)
        if isinstance(part, ast.UnaryOp)
        and isinstance(part.op, ast.Not)
        and isinstance(part.operand, ast.Call)
    }


def _pattern(node: ast.expr) -> str | None:
    """Return a text with a word for each computed part."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "computed"
                           for part in parts)  # fmt: skip
    return None


def _accepts_more(before: str, after: str) -> bool:
    """Return whether a pattern has a wildcard in place of a part of another text."""
    has_wildcard = after.count("*") > before.count("*") and " " not in after
    return has_wildcard and fnmatchcase(before, after)


def _early_returns(old: Units, new: Units) -> Iterator[str]:
    """Yield new conditions under which a function that only checks returns before a check."""
    for name, unit in new.items():
        if name not in old or not CHECKING.match(name.rpartition(".")[2]):
            continue
        known = {ast.dump(node.test) for node in ast.walk(old[name]) if isinstance(node, ast.If)}
        last = max(
            (node.lineno for node in ast.walk(unit) if isinstance(node, ast.Raise)), default=0
        )
        for node in ast.walk(unit):
            match node:
                case ast.If(test=test, body=[ast.Return() | ast.Continue()]) if (
                    node.lineno < last and ast.dump(test) not in known
                ):
                    yield f"{name}: does not check if {cut(ast.unparse(test))}"


def _uncalled(old: Units, new: Units) -> Iterator[str]:
    """Yield the functions of a file that raise errors, and that nothing in it calls any more."""
    calls = [{last_name(node.func) for unit in units.values() for node in ast.walk(unit)
              if isinstance(node, ast.Call)} for units in (old, new)]  # fmt: skip
    for name, unit in new.items():
        own = name.rpartition(".")[2]
        errors = [node.exc for node in ast.walk(unit) if isinstance(node, ast.Raise) and node.exc]
        if own.startswith("_") and own in calls[0] - calls[1] and errors:
            error = errors[0].func if isinstance(errors[0], ast.Call) else errors[0]
            yield f"the check {name} ({ast.unparse(error)}) is no longer called"


def ignored_errors(old: Units, new: Units) -> Iterator[tuple[bool, str]]:
    """Yield whether statements that raised an error before ignore it now, and the text."""
    known = Counter(row[:3] for row in _ignored(old))
    before = {ast.dump(node) for unit in old.values() for node in ast.walk(unit)
              if isinstance(node, ast.stmt)}  # fmt: skip
    for function, error, action, body in _ignored(new):
        if known[function, error, action] > 0:
            known[function, error, action] -= 1
            continue
        is_old = function in old and any(ast.dump(part) in before for part in body)
        is_broad = any(name.strip(" ()").rpartition(".")[2] in BROAD for name in error.split(","))
        first = f" of {cut(first_line(body[0]))}" if body else ""
        text = (
            f"{function}: errors{first} are ignored: except{f' {error}' if error else ''}: {action}"
        )
        yield is_old and is_broad, text.removeprefix(": ")


def _ignored(units: Units) -> Iterator[tuple[str, str, str, list[ast.stmt]]]:
    """Yield function, errors, what it does instead, and the statements that raise them."""
    for function, unit in units.items():
        for node in ast.walk(unit):
            if isinstance(node, ast.Try):
                for handler in node.handlers:
                    if action := _silence(handler.body):
                        error = ast.unparse(handler.type) if handler.type else ""
                        yield function, error, action, node.body
            elif isinstance(node, ast.With):
                for item in node.items:
                    call = item.context_expr
                    if isinstance(call, ast.Call) and last_name(call.func) == "suppress":
                        error = ", ".join(map(ast.unparse, call.args))
                        yield function, error, "suppress", node.body


def _silence(body: list[ast.stmt]) -> str:
    """Return the statement by which a handler hides an error, empty if it raises or tells it."""
    last = "pass"  # which is no statement of a parsed file here
    for node in body:
        match node:
            case ast.Pass() | ast.Continue() | ast.Break():
                last = ast.unparse(node)
            case ast.Return(value=None | ast.Constant() | ast.List() | ast.Dict() | ast.Tuple()):
                last = ast.unparse(node)
            case ast.Expr(value=ast.Call(func=function)) if LOGGING.fullmatch(
                ast.unparse(function)
            ):
                last = "only logged"
            case _:
                return ""
    return last


def kept_results(old: Units, new: Units) -> Iterator[tuple[bool, str]]:
    """Yield whether a function newly keeps answers that change, and the text."""
    functions = {name.rpartition(".")[2]: unit for name, unit in new.items()}
    for name, unit in new.items():
        decorators = getattr(unit, "decorator_list", ())
        caches = [ast.unparse(part) for part in decorators
                  if last_name(getattr(part, "func", part)) in CACHES]  # fmt: skip
        before = [ast.unparse(part) for part in getattr(old.get(name), "decorator_list", ())]
        if caches and caches[0] not in before:
            callers = [function for function, part in new.items() if _calls(part, name)]
            user = f" for {', '.join(callers)}" if callers else ""
            text = f"{name} gets @{caches[0]}, so that its result{user}{KEPT}"
            yield _asks(unit, functions), text
    module = new.get("", ast.Module([], []))
    known = {*_assigned(old.get("", module))}
    for name, value in _assigned(module).items():
        writers = {
            function: part if any(isinstance(node, ast.Call) for node in ast.walk(part)) else unit
            for function, unit in new.items()
            if function
            for part in ast.walk(unit)
            if _is_written(part, name)
        }
        is_container = isinstance(value, ast.Dict | ast.List | ast.Set | ast.Call)
        is_none = isinstance(value, ast.Constant) and value.value is None
        if name not in known and writers and (is_container or is_none):
            asks = any(_asks(part, functions) for part in writers.values())
            yield asks, f"what {', '.join(writers)} writes into {name}{KEPT}"


def _calls(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Call) and last_name(part.func) == name for part in ast.walk(node)
    )


def _assigned(module: ast.AST) -> dict[str, ast.expr]:
    return {target.id: node.value for node in getattr(module, "body", ())
            if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}  # fmt: skip


def _is_written(node: ast.AST, name: str) -> bool:
    match node:
        case (
            ast.Assign(targets=[ast.Subscript(value=ast.Name(id=other))])
            | ast.Global(names=[other])
        ):
            return other == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=other), attr=method)):
            return other == name and method in ("add", "append", "setdefault", "update")
    return False


def _asks(
    node: ast.AST, functions: Mapping[str, ast.AST], callers: frozenset[str] = frozenset()
) -> bool:
    """Return whether code asks AWS, another host or the clock, also by functions of its file."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        name = last_name(part.func)
        if name in functions:
            if name not in callers and _asks(functions[name], functions, callers | {name}):
                return True
        elif CHANGING.fullmatch(name):
            owner = part.func.value if isinstance(part.func, ast.Attribute) else None
            if name not in OWN_TYPES or (isinstance(owner, ast.Name) and owner.id in MODULES):
                return True
    return False
