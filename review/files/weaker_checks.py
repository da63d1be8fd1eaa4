"""Checks in Python code that refuse less after a change, and results that functions newly keep.

A check certainly refuses less if it has a condition more, or an alternative less. In code that
guards a stage, other changed conditions are dangers too.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from review.files.called_functions import Units, called_functions
from review.files.python_code import LOGGING, cut, first_line, last_name, named_children

CHECKING = re.compile(r"_*(assert|check|ensure|guard|refuse|reject|require|validate|verify)(_|$)")
"""Names of functions that only check."""
BROAD = (
    "", "BaseException", "BotoCoreError", "ClientError", "Exception", "OSError", "RuntimeError",
)  # fmt: skip
"""Errors of which code that ignores them cannot know the reason."""
CACHES = ("alru_cache", "cache", "cached", "lru_cache", "memoize", "ttl_cache")
CHANGING = re.compile(
    r"(list|describe|head|scan|query|batch_get|get)(_(?!paginator|waiter)\w+)?|paginate|urlopen|now|time"
)
"""Calls whose answers change, such as those of AWS and of the clock, as methods or of modules."""
OWN_TYPES = ("get", "head", "list")
"""Names that methods of Python's own types have too, which count as functions of `MODULES`."""
MODULES = ("datetime", "httpx", "requests", "time")
_WORD = re.compile(r"\w+")
OPPOSITES: dict[type[ast.cmpop] | None, type[ast.cmpop]] = {ast.LtE: ast.Gt, ast.GtE: ast.Lt}
"""Comparisons that accept -> those that refuse all other numbers."""
MAX_ANSWER = 200
"""Maximum characters of a statement whose condition changes, such as one with a message."""


class CodeWarning(NamedTuple):
    """What a function newly does wrong, and whether that is certain.

    is_kept: whether it keeps a result, and the text ends with ` is kept`.
    """

    function: str
    text: str
    is_certain: bool = True
    is_kept: bool = False

    def __str__(self) -> str:
        return f"{self.function}{' ' if self.is_kept else ': '}{self.text}".removeprefix(": ")


class Guard(NamedTuple):
    """A statement that raises an error or answers, and the conditions under which it runs.

    kind: the error, or `return`, `yield`, or the variable that gets the condition's value.
    """

    function: str
    kind: str
    statement: str
    conditions: tuple[ast.expr, ...]
    refuses: bool = True

    @property
    def test(self) -> "Normal":
        """All conditions as one."""
        return _normal(ast.BoolOp(ast.And(), [*self.conditions]))

    @property
    def condition(self) -> str:
        """The nearest condition, empty without one."""
        return ast.unparse(self.conditions[-1]) if self.conditions else ""

    @property
    def text(self) -> str:
        """All conditions as code."""
        return ast.unparse(ast.BoolOp(ast.And(), [*self.conditions]))


Normal = tuple[str, frozenset[Any]]
"""A condition without its order and double negations: `and`, `or`, or whether it is negated, with
the alternatives, or the code of one."""


def weaker_checks(old: Units, new: Units) -> Iterator[CodeWarning]:
    """Yield each condition that changes, which is certain if it refuses less.

    Conditions of errors, answers and variables; not those that are only stricter.
    """
    old_guards, new_guards = ([guard for guard in _guards(units)
                               if guard.conditions and guard.function in old.keys() & new.keys()]
                              for units in (old, new))  # fmt: skip
    written = set[tuple[str, str]]()
    called = called_functions(new, old)
    for before, after in _paired(old_guards, new_guards):
        names = called.keys() | called[before.function]
        others = {part for guard in _guards({name: new[name] for name in names})
                  if guard != after for part in _parts(guard)}  # fmt: skip
        if before.test in others:
            continue
        text = ""
        if after is None:
            text = "" if before.refuses else _lost_answer(before, new[before.function])
        elif not _is_told(before, after, others, old, new):
            change = " -> ".join(_different(before, after))
            statement = cut(before.statement, MAX_ANSWER)
            text = f"the condition of {statement} changes: {change}"
            if before.refuses and _is_narrower(before.test, after.test):
                yield CodeWarning(before.function, f"refuses less ({before.kind}): if {change}")
                text = ""
        change = text.rpartition(": ")[2]
        if text and (before.function, change) not in written:
            written.add((before.function, change))
            yield CodeWarning(before.function, text, is_certain=False)
    yield from _early_returns(old, new)


class Refusal(NamedTuple):
    """A statement of a file that raises an error, and its nearest condition, empty without one."""

    path: str
    error: str
    statement: str
    condition: str

    def __str__(self) -> str:
        return " if ".join(filter(None, (self.statement, self.condition)))


def refusals(units: Units) -> Iterator[tuple[str, Refusal]]:
    """Yield function and refusal of each statement of PATH:NAME that raises an error.

    A `raise` in an `except` block does not count: without it, the caught error would be raised.
    """
    for guard in _guards(units):
        if guard.refuses:
            path = guard.function.rpartition(":")[0]
            yield guard.function, Refusal(path, guard.kind, guard.statement, guard.condition)


def _guards(units: Units) -> Iterator[Guard]:
    def walk(
        function: str, body: Iterable[ast.AST], tests: tuple[ast.expr, ...]
    ) -> Iterator[Guard]:
        for node in body:
            text = first_line(node)
            match node:
                case ast.Raise(exc=ast.Call(func=error)) | ast.Raise(exc=ast.expr() as error):
                    yield Guard(function, ast.unparse(error), ast.unparse(node), tests)
                case ast.Assert(test=test):
                    yield Guard(function, "assert", ast.unparse(node), (*tests, _negated(test)))
                case ast.Return(value=value):
                    own = (value,) if value and _is_condition(value) else ()
                    yield Guard(function, "return", text, (*tests, *own), refuses=False)
                case ast.Expr(value=ast.Yield()):
                    yield Guard(function, "yield", text, tests, refuses=False)
                case ast.Assign(targets=[target], value=value):
                    for name, part in named_children(node, ast.unparse(target)):
                        if isinstance(part, ast.expr) and _is_condition(part):
                            yield Guard(function, name, name, (part,), refuses=False)
                case ast.If(test=test) | ast.While(test=test):
                    yield from walk(function, node.body, (*tests, test))
                    ends = any(isinstance(part, ast.Raise) for part in node.body)
                    others = tests if ends else (*tests, _negated(test))
                    yield from walk(function, node.orelse, others)
                case _:
                    for name in ("body", "orelse", "finalbody", "cases"):
                        yield from walk(function, getattr(node, name, None) or (), tests)

    for function, unit in units.items():
        yield from walk(function, getattr(unit, "body", ()), ())


def _is_condition(node: ast.expr) -> bool:
    """Return whether an expression is true or false, unlike `value or default`."""
    if isinstance(node, ast.BoolOp):
        return any(map(_is_condition, node.values))
    is_negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_negated or isinstance(node, ast.Compare)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _normal(test: ast.expr, *, negated: bool = False) -> Normal:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _normal(operand, negated=not negated)
        case ast.BoolOp(op=operator, values=values):
            kind = "or" if isinstance(operator, ast.Or) != negated else "and"
            parts = [_operands(_normal(value, negated=negated), kind) for value in values]
            operands = frozenset[Normal]().union(*parts)
            return (kind, operands) if len(operands) > 1 else next(iter(operands))
        case ast.Compare(
            left=left, ops=[ast.NotEq() | ast.NotIn() as operator], comparators=others
        ):
            opposite = ast.Eq() if isinstance(operator, ast.NotEq) else ast.In()
            return _normal(ast.Compare(left, [opposite], others), negated=not negated)
    return str(negated), frozenset((ast.dump(test),))


def _operands(test: Normal, kind: str) -> frozenset[Normal]:
    return test[1] if test[0] == kind else frozenset((test,))


def _is_narrower(old: Normal, new: Normal) -> bool:
    """Return whether `new` is true for fewer values than `old`, by the forms of both."""
    for kind, fewer, more in (("and", old, new), ("or", new, old)):
        if _operands(fewer, kind) < _operands(more, kind):
            return True
        parts = _operands(old, kind), _operands(new, kind)
        own = [[*side - other] for side, other in (parts, parts[::-1])]
        if parts[0] & parts[1] and len(own[0]) == len(own[1]) == 1:
            return _is_narrower(own[0][0], own[1][0])
    return False


def _paired(old: list[Guard], new: list[Guard]) -> Iterator[tuple[Guard, Guard | None]]:
    """Yield the guards that differ, of a function and kind, in their order."""
    rows = [[(*guard[:2], guard.test) for guard in side] for side in (old, new)]
    counts = [Counter(side) for side in rows]
    lost, new_rows = counts[0] - counts[1], counts[1] - counts[0]
    removed = [guard for guard, row in zip(old, rows[0], strict=True) if lost[row]]
    added = [guard for guard, row in zip(new, rows[1], strict=True) if new_rows[row]]
    numbers = [Counter(guard[:2] for guard in side) for side in (removed, added)]
    for before in removed:
        if before.refuses and numbers[1][before[:2]] > numbers[0][before[:2]]:
            continue  # a check that is divided
        same = (guard for guard in added if guard[:2] == before[:2])
        after = next(same, None)
        if after:
            added.remove(after)
        yield before, after


def _parts(guard: Guard) -> Iterator[Normal]:
    """Yield the conditions of a guard, and their alternatives."""
    if len(guard.conditions) > 1:
        yield guard.test
    for condition in guard.conditions:
        test = _normal(condition)
        yield test
        yield from _operands(test, "or") | _operands(test, "and")


def _is_told(
    before: Guard, after: Guard, others: Container[Normal], old: Units, new: Units
) -> bool:
    """Return whether a condition is stricter, the same in other names, or has a part elsewhere."""
    if before.refuses and _is_narrower(after.test, before.test):
        return True
    is_inverted = _normal(before.conditions[-1], negated=True) == _normal(after.conditions[-1])
    if (
        is_inverted
        and before.statement != after.statement
        and any(guard.statement == before.statement for guard in _guards({"": new[after.function]}))
    ):
        return True  # its branches change places
    names = [{node.id for node in ast.walk(side[guard.function])
              if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
             for side, guard in ((old, before), (new, after))]  # fmt: skip
    renamed = names[0] ^ names[1]
    texts = [_WORD.sub(lambda word: "" if word[0] in renamed else word[0], guard.text)
             for guard in (before, after)]  # fmt: skip
    tests = [_normal(_without_names(guard.conditions, renamed)) for guard in (before, after)]
    lost = _operands(before.test, "or") - _operands(after.test, "or")
    is_divided = len(_operands(before.test, "or")) > 1 and all(part in others for part in lost)
    return texts[0] == texts[1] or tests[0] == tests[1] or is_divided


def _without_names(conditions: tuple[ast.expr, ...], names: Collection[str]) -> ast.expr:
    """Return all conditions as one, in which the `names` are the same name."""
    tree = ast.parse(ast.unparse(ast.BoolOp(ast.And(), [*conditions])), mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = "_"
    return tree


def _different(before: Guard, after: Guard) -> list[str]:
    """Return both conditions, without those that are equal."""
    pairs = [*zip(before.conditions, after.conditions, strict=False)]
    other = [pair for pair in pairs if ast.dump(pair[0]) != ast.dump(pair[1])]
    if len(other) == 1 and len(before.conditions) == len(after.conditions):
        return [cut(ast.unparse(test)) for test in other[0]]
    return [cut(before.text), cut(after.text)]


def _lost_answer(lost: Guard, unit: ast.AST) -> str:
    """Return that a condition decides about nothing, empty if its branches change places."""
    tests = [_normal(node.test) for node in ast.walk(unit) if isinstance(node, ast.If)]
    is_inverted = _normal(lost.conditions[-1], negated=True) in tests
    if is_inverted:
        return ""
    if lost.kind not in ("return", "yield"):  # a variable
        return f"{lost.kind} no longer depends on {cut(lost.text)}"
    return f"no longer runs {cut(lost.statement)} if {cut(lost.text)}"


def wider_patterns(
    new: Units, changed: Iterable[tuple[str, ast.AST | None, ast.AST | None]]
) -> Iterator[CodeWarning]:
    """Yield the texts of functions that raise errors that get a wildcard in place of a part."""
    for function, *nodes in changed:
        before, after = map(_pattern, nodes)
        if before and after and after.count("*") > before.count("*") and " " not in after:
            raises = any(isinstance(node, ast.Raise) for node in ast.walk(new[function]))
            if raises and fnmatchcase(before, after):
                texts = " -> ".join(ast.unparse(node) for node in nodes if node)
                yield CodeWarning(function, f"accepts more: {texts}")


def accepted_nan(old: Units, new: Units) -> Iterator[CodeWarning]:
    """Yield the comparisons that NaN now passes.

    Every comparison with NaN is false (IEEE 754): code that accepts if `x <= limit` refuses NaN,
    and code that refuses if `x > limit` accepts it.
    """
    for name in old.keys() & new.keys():
        before, after = (dict(_comparisons(side[name])) for side in (old, new))
        for (operator, limit), text in before.items():
            opposite = OPPOSITES.get(operator), limit
            if (operator, limit) not in after and opposite in after.keys() - before.keys():
                yield CodeWarning(name, f"NaN passes: {text} -> {after[opposite]}")


def _comparisons(unit: ast.AST) -> Iterator[tuple[tuple[type[ast.cmpop] | None, str], str]]:
    """Yield operator and second side of comparisons with their text, not those of integers."""
    for node in ast.walk(unit):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[limit]):
                names = {last_name(part) for part in ast.walk(left)}
                is_integer = isinstance(limit, ast.Constant) and isinstance(limit.value, int)
                if not (is_integer or names & {"len", "size", "count", "ndim", "shape"}):
                    yield (type(operator), ast.dump(limit)), ast.unparse(node)


def _pattern(node: ast.AST | None) -> str:
    """Return a text with a word for each computed part, empty for other code."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_pattern(part) or "computed" for part in parts)
    return ""


def _early_returns(old: Units, new: Units) -> Iterator[CodeWarning]:
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
                    yield CodeWarning(name, f"does not check if {cut(ast.unparse(test))}")


def ignored_errors(old: Units, new: Units) -> Iterator[CodeWarning]:
    """Yield errors that are ignored; certain if the same statements raised them before."""
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
        text = f"errors{first} are ignored: except{f' {error}' if error else ''}: {action}"
        yield CodeWarning(function, text, is_old and is_broad)


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


def kept_results(old: Units, new: Units) -> Iterator[CodeWarning]:
    """Yield functions that newly keep their results; certain if these are answers that change."""
    functions = {name.rpartition(".")[2]: unit for name, unit in new.items()}
    for name, unit in new.items():
        decorators = getattr(unit, "decorator_list", ())
        caches = [ast.unparse(part) for part in decorators
                  if last_name(getattr(part, "func", part)) in CACHES]  # fmt: skip
        before = [ast.unparse(part) for part in getattr(old.get(name), "decorator_list", ())]
        if caches and caches[0] not in before:
            callers = [function for function, part in new.items() if _calls(part, name)]
            user = f" for {', '.join(callers)}" if callers else ""
            text = f"gets @{caches[0]}, so that its result{user} is kept"
            yield CodeWarning(name, text, _asks(unit, functions), is_kept=True)


def _calls(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Call) and last_name(part.func) == name for part in ast.walk(node)
    )


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
