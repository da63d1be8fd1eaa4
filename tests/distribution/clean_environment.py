"""Environments with one wheel, and of this one's packages those that the wheel says it needs.

What a wheel forgets to declare is missing there. No index is asked.
"""

import os
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PIP = "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"


def build(project: str, folder: Path) -> Path:
    """Build the sdist of a project, and of it the wheel, which is returned; leave nothing else."""
    before = _left_by_builds()
    command = [str(ROOT / ".ci" / "distribution.sh"), project, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert _left_by_builds() == before
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, wheel: Path, *, extra: str = "") -> Path:
    """Make an environment with a wheel and one of its extras; return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *PIP, wheel], check=True)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (installed,) = metadata.distributions(path=[str(site)])
    for name in _requirements(installed, extra, {}):
        _install(metadata.distribution(name), site)
    return python


def run(python: Path, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """Run an environment's Python; return what it prints."""
    ended = subprocess.run(
        [str(python), "-I", *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _requirements(
    distribution: metadata.Distribution, extra: str, visited: dict[str, None]
) -> dict[str, None]:
    """Return the names of all that a distribution needs, and what that needs."""
    for line in distribution.requires or ():
        needed = Requirement(line)
        if needed.marker and not needed.marker.evaluate({"extra": extra}):
            continue
        for needed_extra in ("", *needed.extras):
            key = f"{canonicalize_name(needed.name)}[{needed_extra}]"
            if key not in visited:
                visited[key] = None
                _requirements(metadata.distribution(needed.name), needed_extra, visited)
    return dict.fromkeys(key.partition("[")[0] for key in visited)


def _install(distribution: metadata.Distribution, site: Path) -> None:
    """Put the files of one of this environment's packages into another.

    As hard links, where both are on one file system: the sandbox of models hides what symbolic
    links of a home lead to.
    """
    names = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    for name in names:
        source = Path(str(distribution.locate_file(name)))
        if source.is_dir():
            shutil.copytree(source, site / name, copy_function=_link, dirs_exist_ok=True)
        elif source.is_file():
            _link(source, site / name)


def _link(source: str | Path, to: str | Path) -> None:
    """Link a file, unless another distribution with the same namespace has brought it."""
    if Path(to).exists():
        return
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)


def _left_by_builds() -> set[Path]:
    names = ("build", "dist", "*.egg-info", "*/*.egg-info", "local_sagemaker/build")
    return {path for name in names for path in ROOT.glob(name)}
