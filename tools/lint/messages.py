"""Collection of the messages that users can see: `python -m tools.lint.messages` prints them.

A message is the text of an exception, of a rule, or of a construct's problem. It does not end with
a full stop, except in local_sagemaker, whose messages have AWS's form, and has no word of `VAGUE`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.lint.lines import is_test, python_files

MESSAGE_CALLS = {"Danger", "FileProblem", "Finding", "Problem", "Violation"}
"""Classes other than exceptions whose texts users can see."""
VAGUE = re.compile(r"\b(?:asked|asks|said|says|tells|told|whoever)\b")


class Message(NamedTuple):
    """A message, with `{...}` for each value, and its place in the code."""

    text: str
    path: str
    line: int


def messages(root: Path) -> Iterator[Message]:
    """Yield the messages in the Python files of a repository, without tests."""
    for path in python_files(root):
        if is_test(path) or path.parts[0] in {"docs", "lint", "bench", "models"}:
            continue
        tree = ast.parse((root / path).read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                call = node.exc
            elif isinstance(node, ast.Call) and _name(node) in MESSAGE_CALLS:
                call = node
            else:
                continue
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                if (text := _text(argument)) and " " in text.strip():
                    yield Message(text, str(path), argument.lineno)


def problems(message: Message) -> Iterator[str]:
    """Yield the problems of a message's form."""
    in_aws_form = message.path.startswith("local_sagemaker/")
    if message.text.endswith(".") and not in_aws_form:
        yield "ends with a full stop"
    if vague := VAGUE.search(message.text):
        yield f'"{vague.group()}": name the subject and the action'


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{...}" for part in parts
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (_text(left) or "{...}") + (_text(right) or "{...}")
    return None


if __name__ == "__main__":
    for message in messages(Path()):
        print(f"{message.path}:{message.line}: {message.text}")
