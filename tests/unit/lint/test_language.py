"""The baseline of banned names only shrinks."""

import subprocess
from pathlib import Path

import pytest

from lint import language


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a baseline, which is the working directory."""
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.setattr(language, "BASELINE", tmp_path / "language.txt")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.py").write_text("found = 1\nfor it in (1, 2):\n    print(it)\n")
    assert language.main(["--update"]) == 0
    assert (tmp_path / "language.txt").read_text() == "1 found old.py\n1 it old.py\n"
    return tmp_path


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert language.main([]) == 1
    return capsys.readouterr().err.splitlines()


def test_a_repository_as_in_its_baseline_passes(root: Path) -> None:
    assert language.main([]) == 0


def test_growth_fails_with_file_line_and_word_and_is_not_written_into_the_baseline(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "new.py").write_text("\ndef f(said): pass\n")
    (error,) = errors(capsys)
    assert error.startswith("error: new.py:2: said: 1 here, 0 allowed: name the thing")
    before = (root / "language.txt").read_text()
    assert language.main(["--update"]) == 1
    assert (root / "language.txt").read_text() == before


def test_growth_in_a_file_is_not_balanced_by_another(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "other.py").write_text("it = 1\n")
    (root / "old.py").write_text("found = 1\n")
    assert errors(capsys)[0].startswith("error: other.py:1: it: 1 here, 0 allowed")


def test_fewer_need_a_new_baseline_by_the_command_that_the_error_names(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "old.py").write_text("found = 1\n")
    (error,) = errors(capsys)
    assert error.endswith("python -m lint.language --update")
    assert language.main(["--update"]) == 0
    assert (root / "language.txt").read_text() == "1 found old.py\n"
    assert language.main([]) == 0


def test_a_file_can_be_renamed_and_another_new_file_has_no_allowance(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "old.py").rename(root / "renamed.py")
    assert language.main([]) == 0
    (root / "another.py").write_text("it = 1\n")
    assert len(errors(capsys)) == 2  # of two files that are new, either can be the renamed one


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
    assert language.main([]) == 0  # a fake has the name of what it stands for
    (root / "b.py").write_text("class _Own: pass\nclass TritonPythonModel: pass\nclass Quota: pass")
    first, second = errors(capsys)
    assert first.startswith("error: a.py:1: class:Quota: ")
    assert second.startswith("error: b.py:3: class:Quota: ")
