"""Changes of the app's code that can make a deployment differ from the reviewed templates."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from release.review.files.file_change import FileChange, FileLine

NAG_NAMES = {"add_plugins", "AwsSolutionsChecks"}
"""Names in statements that add cdk-nag's checks to the app."""

APP_PATHS = ("app.py", "constructs/", "stacks/")
IMPURE_MODULES = {
    *("boto3", "botocore", "ctypes", "getpass", "httpx", "importlib", "platform", "random"),
    *("requests", "secrets", "socket", "subprocess", "time", "urllib3", "uuid"),
}
IMPURE_NAMES = {
    *("__import__", "date.today", "datetime.now"),
    *("datetime.utcnow", "eval", "exec", "http.client", "os.environ", "os.getenv", "os.getlogin"),
    *("os.popen", "os.system", "os.uname", "urllib.request"),
}
"""Modules and names with which code can do something else in a deployment than in a review, for
example depending on credentials; chosen for this project."""


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed or conditional cdk-nag checks, and newly used impure modules and names.

    Templates show all other effects of the code.
    """
    old, new = ({*_impure_names(_parse(side))} for side in (change.before, change.after))
    for name in sorted(new - old):
        text = f"uses {name}: the deployment may differ from the review"
        yield FileLine(text, rule="external_inputs")
    if any(name.encode() in (change.before or b"") for name in NAG_NAMES):
        before, after = _nag_statements(change.base), _nag_statements(change.head)
        if removed := sorted(before - after):
            added = ", ".join(sorted(after - before)) or "nothing"
            text = f"cdk-nag no longer checks every stack: {', '.join(removed)} -> {added}"
            yield FileLine(text, rule="weakened_checks")


def _parse(content: bytes | None) -> ast.Module:
    """Return a parsed module, an empty module if the content is not Python."""
    with suppress(SyntaxError, ValueError, RecursionError):
        return ast.parse(content or b"")
    return ast.Module([], [])


def _impure_names(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                imported = {alias.name for alias in names}
            case ast.ImportFrom(module=str(source), names=names, level=0):
                imported = {source, *(f"{source}.{alias.name}" for alias in names)}
            case ast.Name(id=name):
                yield from {name} & IMPURE_NAMES
                continue
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
                yield from {f"{owner}.{name}"} & IMPURE_NAMES
                continue
            case _:
                continue
        yield from imported & IMPURE_NAMES
        yield from {name.partition(".")[0] for name in imported} & IMPURE_MODULES


def _nag_statements(files: Mapping[str, bytes]) -> Counter[str]:
    """Return the app's statements that add cdk-nag checks, each with its conditions."""
    return Counter(
        statement
        for path, content in files.items()
        if path.startswith(APP_PATHS) and any(name.encode() in content for name in NAG_NAMES)
        for statement in _conditional_statements(ast.iter_child_nodes(_parse(content)), "")
    )


def _conditional_statements(nodes: Iterable[ast.AST], conditions: str) -> Iterator[str]:
    """Yield the statements that add cdk-nag checks below `nodes`, after all their conditions.

    An earlier conditional `return` or `continue` is a condition, too.
    """
    for node in nodes:
        names = {getattr(child, "attr", getattr(child, "id", None)) for child in ast.walk(node)}
        if isinstance(node, ast.Expr | ast.Assign) and names & NAG_NAMES:
            yield f"{conditions}{ast.unparse(node)}"
        elif isinstance(node, ast.If | ast.While | ast.For | ast.Try | ast.With):
            condition = f"{conditions}{ast.unparse(node).splitlines()[0]} "
            yield from _conditional_statements(ast.iter_child_nodes(node), condition)
            if any(isinstance(child, ast.Return | ast.Continue) for child in ast.walk(node)):
                conditions = f"{condition}return; "
        else:
            yield from _conditional_statements(ast.iter_child_nodes(node), conditions)
