"""Installation of packages from pinned wheels.

pip checks the hash of a local wheel in the same way as that of a wheel from a package index.
"""

import hashlib
import itertools
import subprocess
import zipfile
from pathlib import Path

import pytest

from model_build.formats import python as python_packages
from tests.unit.model_build.fakes import ProgressLines


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    # The platform of Triton's images, whatever platform runs the test.
    path = tmp_path / "tiny-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny/__init__.py", "")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def _requirements(wheel: Path, sha256: str) -> Path:
    path = wheel.with_name("requirements.txt")
    path.write_text(f"tiny @ {wheel.as_uri()} --hash=sha256:{sha256}\n")
    return path


def install(requirements: Path, to: Path, *, python: str) -> None:
    """Install packages, with a cache beside the folder `to`."""
    python_packages.install(
        requirements, to=to, python=python, progress=ProgressLines(), cache=to.parent / "cache"
    )


def test_wheel_for_the_python_of_triton_is_installed(wheel: Path, tmp_path: Path) -> None:
    requirements = _requirements(wheel, hashlib.sha256(wheel.read_bytes()).hexdigest())
    install(requirements, tmp_path / "site-packages", python="3.12.3")
    assert (tmp_path / "site-packages" / "tiny" / "__init__.py").is_file()
    assert not list((tmp_path / "site-packages").rglob("*.pyc"))  # .pyc files are not reproducible


def test_pip_installs_wheels_for_tritons_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr("model_build.export.pip.subprocess.run", run)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    install(requirements, tmp_path / "to", python="3.10.12")
    (command,) = commands
    options = dict(itertools.pairwise(command))
    assert options["--python-version"] == "3.10.12"
    assert options["--only-binary"] == ":all:"
    assert options["--implementation"] == "cp"
    assert Path(options["--target"]).parent == tmp_path / "cache" / "environments"
    assert options["--requirement"] == str(requirements)
    assert {"--require-hashes", "--no-deps", "--no-compile"} <= set(command)
