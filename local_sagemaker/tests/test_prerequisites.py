import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from local_sagemaker import prerequisites
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.prerequisites import Interpreter, find_triton, search_path

STUB = """\
if [ -e "$LD_LIBRARY_PATH/libpython{version}.so.1.0" ]; then exit 1; else exit 127; fi
"""


class Version(NamedTuple):
    """The major and minor fields of sys.version_info."""

    major: int
    minor: int


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A Python 3.11 with a shared library, nvidia-pytriton and numpy 1.26.4; no Python 3.10."""
    package = tmp_path / "site-packages" / "pytriton"
    for version in ("3.10", "3.11", "3.12"):
        folder = package / "tritonserver" / "python_backend_stubs" / version
        folder.mkdir(parents=True)
        _write_program(folder / "triton_python_backend_stub", STUB.format(version=version))
    libraries, programs = tmp_path / "lib", tmp_path / "bin"
    for path in (libraries, programs):
        path.mkdir()
    (libraries / "libpython3.11.so.1.0").touch()
    machine = SimpleNamespace(
        version_info=Version(3, 11),
        executable="/usr/bin/python3.11",
        pytriton=SimpleNamespace(origin=str(package / "__init__.py")),
        numpy="1.26.4",
        libraries=libraries,
        programs=programs,
        isolated=True,
    )
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(prerequisites, "sys", machine)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: machine.pytriton)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: machine.numpy)
    monkeypatch.setattr("sysconfig.get_config_var", lambda _: str(libraries))
    monkeypatch.setattr(prerequisites, "_can_unshare", lambda: machine.isolated)
    return machine


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_complete_installation(python: Any, tmp_path: Path) -> None:
    result = find_triton()
    root = tmp_path / "site-packages" / "pytriton" / "tritonserver"
    assert result.root == root
    assert result.binary == root / "bin" / "tritonserver"
    stub = root / "python_backend_stubs" / "3.11" / "triton_python_backend_stub"
    assert result.own_python == Interpreter(
        Path("/usr/bin/python3.11"), "3.11", tmp_path / "lib", stub
    )
    assert result.isolated


def test_models_use_the_image_python_version_if_installed(python: Any) -> None:
    program, libraries = python.programs / "python3.10", python.libraries
    _write_program(program, f"echo {libraries}")
    (libraries / "libpython3.10.so.1.0").touch()
    stub = find_triton().root / "python_backend_stubs" / "3.10" / "triton_python_backend_stub"
    assert find_triton().model_python == Interpreter(program, "3.10", libraries, stub)


@pytest.mark.parametrize("script", [None, "echo /nowhere", "echo not installed >&2; exit 127"])
def test_models_use_this_python_if_the_image_python_cannot_be_embedded(
    python: Any, script: str | None
) -> None:
    if script:
        _write_program(python.programs / "python3.10", script)
    result = find_triton()
    assert result.model_python == result.own_python


@pytest.mark.parametrize("platform", [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_unsupported_platform_is_refused(
    python: Any, platform: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    python.pytriton = None
    monkeypatch.setattr("platform.system", lambda: platform[0])
    monkeypatch.setattr("platform.machine", lambda: platform[1])
    with pytest.raises(LocalSageMakerError) as error:
        find_triton()
    assert str(error.value) == (
        "the local Triton needs Linux on x86-64, but this is "
        f"{platform[0]} on {platform[1]}, for which nvidia-pytriton has no wheel: deploy to AWS, "
        "or use a Linux machine"
    )


@pytest.mark.parametrize(
    ("requirement", "value", "message"),
    [
        ("version_info", Version(3, 10), "Python 3.10 is not supported: use 3.11 or 3.12"),
        ("version_info", Version(3, 13), "Python 3.13 is not supported: use 3.11 or 3.12"),
        ("version_info", Version(4, 11), "Python 4.11 is not supported: use 3.11 or 3.12"),
        ("pytriton", None, "nvidia-pytriton is not installed: in a checkout, pip install"),
        ("numpy", "2.4.6", "numpy 2.4.6 is not supported: the local Triton's Python backend"),
    ],
)  # fmt: skip
def test_missing_requirement_is_refused(
    python: Any, requirement: str, value: Any, message: str
) -> None:
    setattr(python, requirement, value)
    with pytest.raises(LocalSageMakerError) as refused:
        find_triton()
    assert str(refused.value).startswith(message)


def test_missing_libpython_is_refused(python: Any) -> None:
    (python.libraries / "libpython3.11.so.1.0").unlink()
    with pytest.raises(LocalSageMakerError) as refused:
        find_triton()
    assert str(refused.value) == (
        "libpython3.11.so.1.0, which Triton's Python backend needs, is missing: install "
        "it (Debian, Ubuntu: apt-get install libpython3.11) or use a Python built with "
        "--enable-shared"
    )


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (0, True),
        (1, False),
        (FileNotFoundError("unshare"), False),
        (subprocess.TimeoutExpired("unshare", 10), False),
    ],
)
def test_isolation_needs_unshare(
    monkeypatch: pytest.MonkeyPatch, outcome: int | Exception, expected: bool
) -> None:
    def run(command: list[str], **_: Any) -> SimpleNamespace:
        assert Path(command[0]).name == "unshare"
        assert "--net" in command
        if isinstance(outcome, Exception):
            raise outcome
        return SimpleNamespace(returncode=outcome)

    monkeypatch.setattr(subprocess, "run", run)
    assert prerequisites._can_unshare() is expected


def test_search_path_starts_with_this_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert search_path() == f"{sys.prefix}/bin:/usr/bin:/bin"
    assert search_path(Path("/environment")) == "/environment/bin:/usr/bin:/bin"
    monkeypatch.delenv("PATH")
    assert search_path() == f"{sys.prefix}/bin:{os.defpath}"


def test_folder_without_a_tritonserver_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCAL_SAGEMAKER_TRITONSERVER", str(tmp_path))
    with pytest.raises(LocalSageMakerError) as refused:
        find_triton()
    stub = tmp_path / "backends" / "python" / "triton_python_backend_stub"
    assert str(refused.value) == (
        f"{tmp_path} is no tritonserver: No such file or directory: {stub}: name a folder like "
        "/opt/tritonserver in NVIDIA's images, with bin/tritonserver"
    )
