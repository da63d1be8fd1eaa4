"""The commands of the README, run in order in a fresh clone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from release.tree import git

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of the repository with installed environments."""
    for name in git(ROOT, "ls-files", "-z", "-co", "--exclude-standard").rstrip("\0").split("\0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    for folder in (".venv", ".venv/bin", "node_modules"):
        (tmp_path / folder).mkdir()
        for path in (ROOT / folder).iterdir():
            if path.name not in {"bin", "tritonsm", "activate"} and ".installed" not in path.name:
                (tmp_path / folder / path.name).symlink_to(path)
    activate = (ROOT / ".venv/bin/activate").read_text().replace(str(ROOT), str(tmp_path))
    (tmp_path / ".venv/bin/activate").write_text(activate)
    (tmp_path / ".venv/bin/tritonsm").symlink_to("../../tritonsm")
    for name in (".venv/.installed-cdk", ".venv/.installed", "node_modules/.installed"):
        (tmp_path / name).touch()
    return tmp_path


def test_readme_commands_succeed(clone: Path) -> None:
    blocks = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    commands = [line[2:] for block in blocks for line in block.splitlines() if line[:2] == "$ "]
    assert commands[0] == "make demo"
    assert "tritonsm down" in commands
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        cwd=clone,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(clone), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    assert "Triton against PyTorch" in finished.stdout
    assert "virginica" in finished.stdout


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120
