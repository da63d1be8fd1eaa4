import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.hosting import backends, packages
from local_sagemaker.prerequisites import Interpreter, TritonInstallation

STUB = "triton_python_backend_stub"
BACKEND = {"libtriton_python.so", STUB, "triton_python_backend_utils.py"}
PRINT_ENVIRONMENT = """\
#!/bin/sh
printf '%s\\n' "$PATH" "$LD_LIBRARY_PATH" "$@"
"""


@pytest.fixture
def triton(tmp_path: Path) -> TritonInstallation:
    """A Triton installation whose models run in another Python version than this project."""
    root = tmp_path / "it's a wheel"
    bundled = root / "backends" / "python"
    bundled.mkdir(parents=True)
    (bundled / "libtriton_python.so").write_bytes(b"\x7fELF")
    (bundled / "triton_python_backend_utils.py").write_text("# utils")
    (root / "own").write_text(PRINT_ENVIRONMENT)
    (root / "own").chmod(0o755)
    (root / "model").write_bytes(b"stub")
    return TritonInstallation(
        root=root,
        own_python=Interpreter(Path(sys.executable), "3.11", root / "libraries", root / "own"),
        model_python=Interpreter(root / "python3.10", "3.10", root, root / "model"),
        isolated=True,
    )


@pytest.fixture(autouse=True)
def environment_folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that `make_environment` was called with; it is replaced."""
    folders: list[Path] = []

    def make(_: Any, folder: Path) -> None:
        folders.append(folder)

    monkeypatch.setattr(packages, "make_environment", make)
    return folders


def test_each_stand_in_has_a_model_and_the_python_backend(
    triton: TritonInstallation, tmp_path: Path, environment_folders: list[Path]
) -> None:
    backends.install(triton, tmp_path / "backends")
    result = {
        folder.name: {path.name for path in folder.iterdir()}
        for folder in (tmp_path / "backends").iterdir()
    }
    stand_ins = {"dali", "fil", "onnxruntime", "pytorch"}
    assert result == {
        "python": BACKEND,
        **dict.fromkeys(stand_ins, BACKEND | {"model.py", "stand_in.py"}),
    }
    assert environment_folders == [tmp_path / "backends"]


def test_libraries_are_copied_and_the_stub_is_linked(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    folder = tmp_path / "backends"
    backends.install(triton, folder)
    for library in folder.rglob("*.so"):
        assert not library.is_symlink()  # Triton refuses a link out of the folder
        assert library.read_bytes() == b"\x7fELF"
    stub = folder / "python" / STUB
    assert stub.is_symlink()  # the stub finds the libraries relative to its resolved path
    assert stub.resolve() == triton.model_python.stub.resolve()


def test_stand_in_runs_in_the_environment_of_this_project(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    backends.install(triton, tmp_path / "backends")
    script = tmp_path / "backends" / "onnxruntime" / STUB
    servers = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/models"}
    command = [str(script), "a b", "c"]
    completed = subprocess.run(command, env=servers, capture_output=True, text=True, check=True)
    path, libraries, *arguments = completed.stdout.splitlines()
    assert path.split(os.pathsep)[0] == f"{sys.prefix}/bin"
    assert libraries == str(triton.own_python.library_path)
    assert arguments == ["a b", "c"]


def test_second_installation_replaces_the_libraries(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    folder = tmp_path / "backends"
    backends.install(triton, folder)
    (triton.root / "backends" / "python" / "libtriton_python.so").write_bytes(b"new")
    backends.install(triton, folder)
    assert {library.read_bytes() for library in folder.rglob("*.so")} == {b"new"}
