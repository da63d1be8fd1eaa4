from pathlib import Path

import pytest

from local_aws.hosting import backends
from local_aws.prerequisites import TritonInstallation

FILES = {
    "python": [
        "libtriton_python.so",
        "triton_python_backend_stub",
        "triton_python_backend_utils.py",
    ],
    "onnxruntime": ["libtriton_python.so", "model.py", "stand_in.py"],
}


@pytest.fixture
def triton(tmp_path: Path) -> TritonInstallation:
    """The wheel's files, as far as they are copied."""
    made = TritonInstallation(root=tmp_path / "wheel", library_path=tmp_path, isolated=True)
    bundled = made.root / "backends" / "python"
    bundled.mkdir(parents=True)
    (bundled / "libtriton_python.so").write_bytes(b"\x7fELF")
    (bundled / "triton_python_backend_utils.py").write_text("# utils")
    made.stub.parent.mkdir(parents=True)
    made.stub.write_bytes(b"stub")
    return made


def test_every_stand_in_has_its_model_and_the_python_backends_library(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    backends.install(triton, tmp_path / "backends")
    found = {
        folder.name: sorted(path.name for path in folder.iterdir())
        for folder in (tmp_path / "backends").iterdir()
    }
    assert found.keys() == {"python", *(path.name for path in backends.STAND_INS)}
    assert {name: found[name] for name in FILES} == FILES


def test_libraries_are_copies_and_the_stub_is_a_link(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    to = tmp_path / "backends"
    backends.install(triton, to)
    for library in to.rglob("*.so"):
        assert not library.is_symlink()  # Triton refuses one that leaves the folder
        assert library.read_bytes() == b"\x7fELF"
    stub = to / "python" / "triton_python_backend_stub"
    assert stub.is_symlink()  # it finds the wheel's libraries from where it really lies
    assert stub.resolve() == triton.stub.resolve()


def test_installing_again_takes_the_new_wheels_files(
    triton: TritonInstallation, tmp_path: Path
) -> None:
    to = tmp_path / "backends"
    backends.install(triton, to)
    (triton.root / "backends" / "python" / "libtriton_python.so").write_bytes(b"new")
    backends.install(triton, to)
    assert {library.read_bytes() for library in to.rglob("*.so")} == {b"new"}
