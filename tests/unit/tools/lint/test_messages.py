"""The form of messages."""

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
