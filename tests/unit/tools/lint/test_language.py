"""The check for vague names and duplicate class names."""

from pathlib import Path

import pytest

from tests.processes import run_program
from tools.lint import language


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository as the working directory."""
    run_program("git", "init", "--quiet", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert language.main() == 1
    return capsys.readouterr().err.splitlines()


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
def test_bindings_are_checked_and_uses_are_not(root: Path, source: str) -> None:
    (root / "new.py").write_text(f"{source}\nprint(said, x.found, f(it=1), 'told')\n")
    words = [item.word for item in language.occurrences(root) if item.path == "new.py"]
    assert words == ["said"]


def test_duplicate_names_of_public_classes_are_errors(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.py", "tests/fakes.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("class Quota: pass\nclass _Own: pass\nclass TritonPythonModel: 1")
    assert language.main() == 0  # fakes in tests may have the name of the original
    (root / "b.py").write_text("class _Own: pass\nclass TritonPythonModel: pass\nclass Quota: pass")
    first, second = errors(capsys)
    assert first.startswith("error: a.py:1: class:Quota: ")
    assert second.startswith("error: b.py:3: class:Quota: ")


def test_sentences_of_configuration_files_are_checked(root: Path) -> None:
    (root / "Makefile").write_text('a: ## "AWS says" in a quotation\nb: ## what it tells\n')
    run_program("git", "add", "Makefile", cwd=root)
    assert list(language.vague_sentences(root)) == [("tells", "Makefile", 2)]
