import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_sagemaker.hosting import backends, packages
from local_sagemaker.prerequisites import Interpreter, TritonInstallation

STUB = "triton_python_backend_stub"
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


def test_stand_in_runs_in_the_environment_of_this_project(
    triton: TritonInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "make_environment", lambda *_: None)
    backends.install(triton, tmp_path / "backends")
    script = tmp_path / "backends" / "onnxruntime" / STUB
    servers = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/models"}
    command = [str(script), "a b", "c"]
    completed = subprocess.run(command, env=servers, capture_output=True, text=True, check=True)
    path, libraries, *arguments = completed.stdout.splitlines()
    assert path.split(os.pathsep)[0] == f"{sys.prefix}/bin"
    assert libraries == str(triton.own_python.library_path)
    assert arguments == ["a b", "c"]
