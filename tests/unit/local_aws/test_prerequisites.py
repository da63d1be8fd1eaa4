import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from local_aws import prerequisites
from local_aws.errors import LocalAwsError
from local_aws.prerequisites import find_triton, search_path


class Version(NamedTuple):
    """What of `sys.version_info` is looked at."""

    major: int
    minor: int


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A Python 3.11 with a shared library, nvidia-pytriton and numpy 1.26.4."""
    (tmp_path / "libpython3.11.so.1.0").touch()
    origin = tmp_path / "site-packages" / "pytriton" / "__init__.py"
    machine = SimpleNamespace(
        version_info=Version(3, 11),
        prefix=str(tmp_path),
        pytriton=SimpleNamespace(origin=str(origin)),
        numpy="1.26.4",
        libdir=str(tmp_path),
        linked=None,
        isolated=True,
    )
    monkeypatch.setattr(prerequisites, "sys", machine)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: machine.pytriton)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: machine.numpy)
    monkeypatch.setattr("sysconfig.get_config_var", lambda _: machine.libdir)
    monkeypatch.setattr("ctypes.util.find_library", lambda _: machine.linked)
    monkeypatch.setattr(prerequisites, "_can_unshare", lambda: machine.isolated)
    return machine


def test_an_installation_that_has_everything_is_found(python: Any, tmp_path: Path) -> None:
    found = find_triton()
    root = tmp_path / "site-packages" / "pytriton" / "tritonserver"
    assert found.root == root
    assert found.binary == root / "bin" / "tritonserver"
    assert found.stub == root / "python_backend_stubs" / "3.11" / "triton_python_backend_stub"
    assert found.library_path == tmp_path
    assert found.isolated


def test_the_stub_is_that_of_the_running_python(python: Any) -> None:
    python.version_info = Version(3, 12)
    python.linked = "libpython3.12.so.1.0"
    assert find_triton().stub.parent.name == "3.12"


@pytest.mark.parametrize("version", [Version(3, 10), Version(3, 13), Version(4, 11)])
def test_another_python_is_refused(python: Any, version: Version) -> None:
    python.version_info = version
    with pytest.raises(LocalAwsError) as refused:
        find_triton()
    assert str(refused.value) == (
        f"Python {version.major}.{version.minor} is not supported: use 3.11 or 3.12, the versions "
        "that the local Triton has a Python backend for"
    )


def test_a_missing_wheel_is_refused(python: Any) -> None:
    python.pytriton = None
    with pytest.raises(LocalAwsError) as refused:
        find_triton()
    assert str(refused.value) == "nvidia-pytriton is not installed: run make install"


def test_numpy_2_is_refused_because_tensors_come_back_empty(python: Any) -> None:
    python.numpy = "2.4.6"
    with pytest.raises(LocalAwsError) as refused:
        find_triton()
    assert str(refused.value) == (
        "numpy 2.4.6 is installed, with which the local Triton's Python backend returns empty "
        "tensors: run make install to get the pinned one"
    )


@pytest.mark.parametrize("libdir", ["", None])
def test_a_missing_libpython_is_refused_with_the_package_that_has_it(
    python: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, libdir: str | None
) -> None:
    monkeypatch.chdir(os.path.realpath("/"))
    python.libdir = libdir
    with pytest.raises(LocalAwsError) as refused:
        find_triton()
    assert str(refused.value) == (
        "libpython3.11.so.1.0 is not on this machine, which Triton's Python backend needs: install "
        "it (Debian, Ubuntu: apt-get install libpython3.11) or use a Python built with "
        "--enable-shared"
    )


def test_a_libpython_that_the_linker_knows_needs_no_folder(python: Any) -> None:
    python.libdir = "/nowhere"
    python.linked = "libpython3.11.so.1.0"
    assert find_triton().library_path == Path("/usr/lib")


def test_a_kernel_without_namespaces_is_no_error(python: Any) -> None:
    python.isolated = False
    assert not find_triton().isolated


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (0, True),
        (1, False),
        (FileNotFoundError("unshare"), False),
        (subprocess.TimeoutExpired("unshare", 10), False),
    ],
)
def test_servers_are_isolated_where_unshare_works(
    monkeypatch: pytest.MonkeyPatch, outcome: int | Exception, expected: bool
) -> None:
    def run(command: list[str], **_: Any) -> SimpleNamespace:
        assert command[0] == "unshare"
        assert "--net" in command
        if isinstance(outcome, Exception):
            raise outcome
        return SimpleNamespace(returncode=outcome)

    monkeypatch.setattr(subprocess, "run", run)
    assert prerequisites._can_unshare() is expected


def test_this_pythons_programs_come_first_on_the_search_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert search_path() == f"{sys.prefix}/bin:/usr/bin:/bin"
    monkeypatch.delenv("PATH")
    assert search_path() == f"{sys.prefix}/bin:{os.defpath}"
