"""Names that mean nothing, and public classes of one name, are errors."""

import subprocess
from pathlib import Path

import pytest

from lint import language


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the working directory."""
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert language.main() == 1
    return capsys.readouterr().err.splitlines()


def test_a_banned_name_is_an_error_with_file_line_and_word(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "new.py").write_text("\ndef f(said): pass\n")
    (error,) = errors(capsys)
    assert error.startswith("error: new.py:2: said: no name for a value or function: write a noun")


@pytest.mark.parametrize(
    "source",
    [
        "said: int = 1",
        "def said(): pass",
        "class Said: pass",
        "_said = 1",
        "self.said = 1",
        "f = lambda said: 1",
        "[1 for said in x]",
        "import a as said",
        "def f(*said): pass",
        "with x as said: pass",
        "try: pass\nexcept E as said: pass",
        "match x:\n    case [1, *said]: pass",
    ],
)
def test_each_way_to_give_a_name_counts_and_a_use_does_not(root: Path, source: str) -> None:
    (root / "new.py").write_text(f"{source}\nprint(said, x.found, f(it=1), 'told')\n")
    new = [each.word for each in language.occurrences(root) if each.path == "new.py"]
    assert new == ["said"]


def test_a_file_has_a_name_too(root: Path) -> None:
    (root / "asked.py").write_text("")
    assert ("asked", "asked.py", 1) in list(language.occurrences(root))


def test_public_classes_of_one_name_are_told_apart(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.py", "tests/fakes.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("class Quota: pass\nclass _Own: pass\nclass TritonPythonModel: 1")
    assert language.main() == 0  # a fake has the name of what it stands for
    (root / "b.py").write_text("class _Own: pass\nclass TritonPythonModel: pass\nclass Quota: pass")
    first, second = errors(capsys)
    assert first.startswith("error: a.py:1: class:Quota: ")
    assert second.startswith("error: b.py:3: class:Quota: ")
