"""Changes of the app's code that a release does not show."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from review.files.file_change import FileChange, FileLine

NAG_NAMES = {"add_plugins", "AwsSolutionsChecks"}
"""Names in statements that add cdk-nag's checks to the app."""

APP_PATHS = ("app.py", "constructs/", "stacks/")


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed or conditional cdk-nag checks.

    The release shows all other effects of the code, and is deployed as it was reviewed.
    """
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
