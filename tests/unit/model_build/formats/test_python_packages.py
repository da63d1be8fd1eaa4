"""Installation of packages from pinned wheels.

pip checks the hash of a local wheel in the same way as that of a wheel from a package index.
"""

import hashlib
import zipfile
from pathlib import Path

import pytest

from model_build.formats import python as python_packages
from tests.unit.model_build.fakes import ProgressLines


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    # Platform and Python of Triton's images, whatever platform and Python run the test.
    path = tmp_path / "tiny-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny/__init__.py", "")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: cp310-cp310-manylinux_2_28_x86_64\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_wheel_for_the_python_of_triton_is_installed(wheel: Path, tmp_path: Path) -> None:
    requirements, to = tmp_path / "requirements.txt", tmp_path / "site-packages"
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    requirements.write_text(f"tiny @ {wheel.as_uri()} --hash=sha256:{sha256}\n")
    python_packages.install(
        requirements,
        to=to,
        python="3.10.12",
        progress=ProgressLines(),
        cache=tmp_path / "cache",
    )
    assert (to / "tiny" / "__init__.py").is_file()
    assert not list(to.rglob("*.pyc"))  # .pyc files are not reproducible
