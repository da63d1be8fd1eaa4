"""The form of messages."""

import subprocess
from pathlib import Path

import pytest

from tools.lint.messages import Message, messages, problems

ROOT = Path(__file__).parents[4]


def test_messages_of_this_repository_have_the_form() -> None:
    collected = list(messages(ROOT))
    assert {"release", "model_build", "stages", "triton_sagemaker"} <= {
        part for message in collected for part in Path(message.path).parts
    }
    errors = [
        f"{message.path}:{message.line}: {problem}"
        for message in collected
        for problem in problems(message)
    ]
    assert not errors, "\n".join(errors)


def test_values_in_messages_are_replaced(tmp_path: Path) -> None:
    source = 'raise KeyError(f"{name}: no such model: choose one of {names}")\n'
    assert collect(tmp_path, source) == ["{...}: no such model: choose one of {...}"]


def test_argument_without_space_is_not_a_message(tmp_path: Path) -> None:
    assert collect(tmp_path, 'raise KeyError("name")\n') == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("cli/a.py", "no model a: write b", []),
        ("cli/a.py", "No model a.", ["ends with a full stop"]),
        ("local_sagemaker/a.py", "Could not find model a.", []),
        ("cli/a.py", "whoever asked", ['"whoever": name the subject and the action']),
    ],
)
def test_form_of_messages(path: str, text: str, expected: list[str]) -> None:
    assert list(problems(Message(text, path, 1))) == expected


def collect(root: Path, source: str) -> list[str]:
    (root / "cli").mkdir()
    (root / "cli" / "a.py").write_text(source)
    subprocess.run(["git", "init", "-q", root], check=True)
    return [message.text for message in messages(root)]
