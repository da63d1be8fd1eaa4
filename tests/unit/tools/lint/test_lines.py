"""The count of code lines."""

import subprocess
from pathlib import Path

import pytest

from tools.lint import lines

SOURCE = '''\
"""A docstring,
of two lines."""

# A comment.
TEXT = """
a value is code"""


def f(a: int) -> int:
    """Return a."""

    return a  # code with a comment
'''


def test_docstrings_comments_and_blank_lines_are_not_counted() -> None:
    assert lines.code_lines(SOURCE) == 4
    assert lines.code_lines("") == 0


def test_lines_are_summed_by_package_and_for_all_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a/b/c.py", "a/d.py", "models/m/tests/reference.py", "tests/test_e.py", "gone.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A = 1\n")
    for command in (("init", "--quiet"), ("add", ".")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.py").write_text("B = 1\n")
    monkeypatch.chdir(tmp_path)
    lines.main()
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert sorted(rows[:3]) == [["1", "new.py"], ["2", "a"], ["2", "tests"]]
    assert rows[3] == ["3", "all but tests"]
