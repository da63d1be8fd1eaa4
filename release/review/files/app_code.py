"""Changes of the app's code through which a deployment can differ from the reviewed templates."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from release.review.files.file_change import FileChange, FileLine

CHECKS = {"add_plugins", "AwsSolutionsChecks"}
FOLDERS = ("app.py", "constructs/", "stacks/")
MODULES = {
    *("boto3", "botocore", "ctypes", "getpass", "httpx", "importlib", "platform", "random"),
    *("requests", "secrets", "socket", "subprocess", "time", "urllib3", "uuid"),
}
NAMES = {
    *("__import__", "date.today", "datetime.now"),
    *("datetime.utcnow", "eval", "exec", "http.client", "os.environ", "os.getenv", "os.getlogin"),
    *("os.popen", "os.system", "os.uname", "urllib.request"),
}
"""Modules and names through which code can behave differently in a deployment than in a review, for
example depending on credentials; chosen for this project."""


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed or conditional cdk-nag checks, and new uses of `MODULES` and `NAMES`.

    Templates show all other effects of the code.
    """
    old, new = ({*_impure_names(_parsed(side))} for side in (change.before, change.after))
    for name in sorted(new - old):
        text = f"uses {name}: the deployment may differ from the review"
        yield FileLine(text, "unreviewed_code")
    if any(name.encode() in (change.before or b"") for name in CHECKS):
        before, after = _checks(change.base), _checks(change.head)
        if removed := sorted(before - after):
            added = ", ".join(sorted(after - before)) or "nothing"
            text = f"cdk-nag no longer checks every stack: {', '.join(removed)} -> {added}"
            yield FileLine(text, "weakened_checks")


def _parsed(content: bytes | None) -> ast.Module:
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
                yield from {name} & NAMES
                continue
            case ast.Attribute(value=ast.Name(id=first) | ast.Attribute(attr=first), attr=name):
                yield from {f"{first}.{name}"} & NAMES
                continue
            case _:
                continue
        yield from imported & NAMES
        yield from {name.partition(".")[0] for name in imported} & MODULES


def _checks(files: Mapping[str, bytes]) -> Counter[str]:
    """Return the app's statements that add cdk-nag checks, each with its conditions."""
    return Counter(
        text
        for path, content in files.items()
        if path.startswith(FOLDERS) and any(name.encode() in content for name in CHECKS)
        for text in _statements(ast.iter_child_nodes(_parsed(content)), "")
    )


def _statements(nodes: Iterable[ast.AST], conditions: str) -> Iterator[str]:
    for node in nodes:
        names = {getattr(part, "attr", getattr(part, "id", None)) for part in ast.walk(node)}
        if isinstance(node, ast.Expr | ast.Assign) and names & CHECKS:
            yield f"{conditions}{ast.unparse(node)}"
        elif isinstance(node, ast.If | ast.While | ast.For | ast.Try | ast.With):
            condition = f"{conditions}{ast.unparse(node).splitlines()[0]} "
            yield from _statements(ast.iter_child_nodes(node), condition)
            if any(isinstance(part, ast.Return | ast.Continue) for part in ast.walk(node)):
                conditions = f"{condition}return; "
        else:
            yield from _statements(ast.iter_child_nodes(node), conditions)
