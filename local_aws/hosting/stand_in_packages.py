"""Packages that a stand-in needs and the environment of the local AWS does not have.

They are large, and few need them: they are installed when a model of that backend is first loaded,
and then kept in a cache.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from local_aws.errors import LocalAwsError
from local_aws.hosting import backends

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-local-aws"

_BACKEND = re.compile(r"""^\s*(?:backend|platform)\s*:\s*["'](\w+)["']""", re.MULTILINE)
_DONE = ".complete"


def provide(repository: Path, backend_directory: Path, *, cache: Path = CACHE) -> None:
    """Put what the models in `repository` need beside their stand-ins in `backend_directory`.

    Raises `LocalAwsError` when it cannot be installed.
    """
    configs = [path.read_text(errors="replace") for path in repository.rglob("config.pbtxt")]
    for backend in sorted({name for config in configs for name in _BACKEND.findall(config)}):
        requirements = Path(backends.__file__).parent / backend / "requirements.txt"
        packages = backend_directory / backend / "site-packages"
        if requirements.is_file() and not packages.exists():
            installed = _install(requirements, cache)
            packages.unlink(missing_ok=True)  # a link to a cache that is gone
            packages.symlink_to(installed)


def _install(requirements: Path, cache: Path) -> Path:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(f"{version}\n".encode() + requirements.read_bytes()).hexdigest()
    folder = cache / digest[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a killed process lets go
        if not (folder / _DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            pip += ["--disable-pip-version-check", "--target", str(folder)]
            pip += ["--requirement", str(requirements)]
            finished = subprocess.run(pip, capture_output=True, text=True, check=False)
            if finished.returncode:
                raise LocalAwsError(
                    f"the packages of the local {requirements.parent.name} backend could not be "
                    f"installed: {finished.stderr.strip()[-500:]}"
                )
            (folder / _DONE).touch()
    return folder
