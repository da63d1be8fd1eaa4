import subprocess
from pathlib import Path

import pytest

from lint.messages import Message, messages, problems

ROOT = Path(__file__).parents[3]


def test_the_messages_of_the_product_have_one_form() -> None:
    collected = list(messages(ROOT))
    assert {"release", "model_build", "stages", "triton_sagemaker"} <= {
        part for message in collected for part in Path(message.path).parts
    }
    wrong = [
        f"{each.path}:{each.line}: {problem}" for each in collected for problem in problems(each)
    ]
    assert not wrong, "\n".join(wrong)


def test_values_in_a_message_are_left_out(tmp_path: Path) -> None:
    source = 'raise KeyError(f"{name}: no such model: choose one of {names}")\n'
    assert collect(tmp_path, source) == ["{...}: no such model: choose one of {...}"]


def test_an_argument_without_a_space_is_not_a_message(tmp_path: Path) -> None:
    assert collect(tmp_path, 'raise KeyError("name")\n') == []


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("cli/a.py", "no model a: write b", []),
        ("cli/a.py", "No model a.", ["ends with a full stop"]),
        ("local_sagemaker/a.py", "Could not find model a.", []),
        ("cli/a.py", "whoever asked", ['"whoever": name the subject and the action']),
    ],
)
def test_the_form_of_a_message(path: str, text: str, wrong: list[str]) -> None:
    assert list(problems(Message(text, path, 1))) == wrong


def collect(root: Path, source: str) -> list[str]:
    (root / "cli").mkdir()
    (root / "cli" / "a.py").write_text(source)
    subprocess.run(["git", "init", "-q", root], check=True)
    return [message.text for message in messages(root)]
