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
REQUEST = """\
#!/bin/sh
printf '%s\\n' "$PATH" "$LD_LIBRARY_PATH" "$@"
"""


@pytest.fixture
def triton(tmp_path: Path) -> TritonInstallation:
    """The wheel's files, as far as they are used; models run in another Python than this."""
    root = tmp_path / "it's a wheel"
    bundled = root / "backends" / "python"
    bundled.mkdir(parents=True)
    (bundled / "libtriton_python.so").write_bytes(b"\x7fELF")
    (bundled / "triton_python_backend_utils.py").write_text("# utils")
    (root / "own").write_text(REQUEST)
    (root / "own").chmod(0o755)
    (root / "model").write_bytes(b"stub")
    return TritonInstallation(
        root=root,
        own_python=Interpreter(Path(sys.executable), "3.11", root / "libraries", root / "own"),
        model_python=Interpreter(root / "python3.10", "3.10", root, root / "model"),
        isolated=True,
    )


@pytest.fixture(autouse=True)
def environments(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders in which an environment for models was made; none is."""
    made: list[Path] = []

    def make(_: Any, to: Path) -> None:
        made.append(to)

    monkeypatch.setattr(packages, "make_environment", make)
    return made


def test_every_stand_in_has_its_model_and_the_python_backends_library(
    triton: TritonInstallation, tmp_path: Path, environments: list[Path]
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
    assert environments == [tmp_path / "backends"]


def test_libraries_are_copies_and_the_stub_is_a_link(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    to = tmp_path / "backends"
    backends.install(triton, to)
    for library in to.rglob("*.so"):
        assert not library.is_symlink()  # Triton refuses one that leaves the folder
        assert library.read_bytes() == b"\x7fELF"
    stub = to / "python" / STUB
    assert stub.is_symlink()  # it finds the wheel's libraries from where it really lies
    assert stub.resolve() == triton.model_python.stub.resolve()


def test_a_stand_in_runs_in_the_environment_of_this_project(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    backends.install(triton, tmp_path / "backends")
    script = tmp_path / "backends" / "onnxruntime" / STUB
    servers = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/models"}
    command = [str(script), "a b", "c"]
    done = subprocess.run(command, env=servers, capture_output=True, text=True, check=True)
    path, libraries, *arguments = done.stdout.splitlines()
    assert path.split(os.pathsep)[0] == f"{sys.prefix}/bin"
    assert libraries == str(triton.own_python.library_path)
    assert arguments == ["a b", "c"]


def test_installing_again_takes_the_new_wheels_files(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    to = tmp_path / "backends"
    backends.install(triton, to)
    (triton.root / "backends" / "python" / "libtriton_python.so").write_bytes(b"new")
    backends.install(triton, to)
    assert {library.read_bytes() for library in to.rglob("*.so")} == {b"new"}
