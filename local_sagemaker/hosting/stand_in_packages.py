"""Packages that a stand-in needs and the environment of the local SageMaker does not have.

They are large, and few need them: they are installed when a model of that backend is first loaded.
"""

import re
import sys
from pathlib import Path

from local_sagemaker.hosting import backends
from local_sagemaker.hosting.package_cache import CACHE, install

MOST_CHARACTERS = 1 << 20

_BACKEND = re.compile(r"""^\s*(?:backend|platform)\s*:\s*["'](\w+)["']""", re.MULTILINE)


def provide(repository: Path, backend_directory: Path, *, cache: Path = CACHE) -> None:
    """Put what the models in `repository` need beside their stand-ins in `backend_directory`.

    Raises `LocalSageMakerError` when it cannot be installed.
    """
    configs = [_beginning(path) for path in repository.rglob("config.pbtxt")]
    for backend in sorted({name for config in configs for name in _BACKEND.findall(config)}):
        requirements = Path(backends.__file__).parent / backend / "requirements.txt"
        packages = backend_directory / backend / "site-packages"
        if requirements.is_file() and not packages.exists():
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            installed = install(requirements, python=version, cache=cache)
            packages.unlink(missing_ok=True)  # a link to a cache that is gone
            packages.symlink_to(installed)


def _beginning(config: Path) -> str:
    """Return what a configuration begins with: it is an archive's, and may be of any size."""
    with config.open(errors="replace") as file:
        return file.read(MOST_CHARACTERS)
