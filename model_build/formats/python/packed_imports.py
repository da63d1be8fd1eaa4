"""Whether a Python model's packages can be imported, tried once before they are packed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from model_build.errors import BuildError
from model_build.formats.python.imports import PACKAGES, imports
from model_build.progress import Progress

_OPTIONS = "-B", "-I", "-S", "-c"
"""Without bytecode, which has times in it and would go into the archive."""
_IMPORT = "import sys; sys.path[1:1] = sys.argv[2:4]; __import__(sys.argv[1])"


def import_once(version: Path, *, requirements: Path, python: str, progress: Progress) -> None:
    """Import what the Python files of the folder `version` take from the packages beside them.

    They see the standard library, numpy, and nothing else of this machine's. Where models run in
    another Python than this one, nothing can be tried, and `progress` is told. Raises `BuildError`
    with what Python said.
    """
    here = ".".join(map(str, sys.version_info[:2]))
    packed = {path.name.partition(".")[0] for path in (version / PACKAGES).iterdir()}
    modules = {each.module for file in version.glob("*.py") for each in imports(file.read_bytes())}
    if python.split(".")[:2] != here.split("."):
        progress(f"{requirements.name} is for Python {python}: not imported by {here}")
        return
    with TemporaryDirectory(prefix="numpy-") as folder:
        _link_numpy(Path(folder))
        for module in sorted(modules & packed):
            finished = subprocess.run(
                [sys.executable, *_OPTIONS, _IMPORT, module, version / PACKAGES, folder],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if finished.returncode:
                error = finished.stderr.strip() or f"exit code {finished.returncode}"
                raise BuildError(
                    f"{requirements}: `import {module}` fails: {error.splitlines()[-1]}: pin "
                    "everything that it needs, too"
                )


def _link_numpy(to: Path) -> None:
    numpy = importlib.metadata.distribution("numpy")
    for name in sorted({file.parts[0] for file in numpy.files or ()} - {".."}):
        (to / name).symlink_to(Path(str(numpy.locate_file(name))))
