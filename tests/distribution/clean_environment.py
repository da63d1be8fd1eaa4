"""Environments with one wheel and its declared dependencies, copied from this environment.

Undeclared dependencies are missing there. No package index is used.
"""

import os
import shutil
import sys
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.processes import run_program

ROOT = Path(__file__).parents[2]
PIP = "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"


def build(project: str, folder: Path) -> Path:
    """Build the sdist of a project and a wheel from it; return the wheel."""
    before = _build_leftovers()
    command = [str(ROOT / ".ci" / "distribution.sh"), project, str(folder)]
    run_program(*command)
    assert _build_leftovers() == before
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, wheel: Path, *, extra: str = "") -> Path:
    """Create an environment with a wheel and one of its extras; return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    run_program(sys.executable, "-m", "pip", "--python", str(python), *PIP, wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (installed,) = metadata.distributions(path=[str(site)])
    for name in _requirements(installed, extra, {}):
        _install(metadata.distribution(name), site)
    return python


def run(python: Path, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """Run the Python of an environment; return its output."""
    finished = run_program(str(python), "-I", *arguments, cwd=cwd, env={**os.environ, **variables})
    return finished.stdout


def _requirements(
    distribution: metadata.Distribution, extra: str, visited: dict[str, None]
) -> dict[str, None]:
    """Return the names of all direct and indirect dependencies of a distribution."""
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for required_extra in ("", *requirement.extras):
            key = f"{canonicalize_name(requirement.name)}[{required_extra}]"
            if key not in visited:
                visited[key] = None
                _requirements(metadata.distribution(requirement.name), required_extra, visited)
    return dict.fromkeys(key.partition("[")[0] for key in visited)


def _install(distribution: metadata.Distribution, site: Path) -> None:
    """Install a package of this environment into another one.

    Files are hard links on the same file system: the sandbox of models hides the targets of
    symbolic links in a home directory.
    """
    names = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    for name in names:
        source = Path(str(distribution.locate_file(name)))
        if source.is_dir():
            shutil.copytree(source, site / name, copy_function=_link, dirs_exist_ok=True)
        elif source.is_file():
            _link(source, site / name)


def _link(source: str | Path, to: str | Path) -> None:
    """Link or copy a file unless another package of the same namespace has installed it."""
    if Path(to).exists():
        return
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)


def _build_leftovers() -> set[Path]:
    names = ("build", "dist", "*.egg-info", "*/*.egg-info", "local_sagemaker/build")
    return {path for name in names for path in ROOT.glob(name)}
