"""Python packages that models and the substitutes for C++ backends can import."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from local_sagemaker.hosting import packages
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.serving import ServingError, TritonServer, serve
from local_sagemaker.tests.support.tiny_models import CONFIG, ENSEMBLE, TIMES, pack, write
from model_build.formats import python as python_packages

IMPORTS = """
import numpy
from factors import FACTOR
"""
TWICE = """
<ir_version: 9, opset_import: ["": 18]>
twice (float[N, 1] X) => (float[N, 1] Y) { Y = Add(X, X) }
"""
ENVIRONMENT = """
parameters {
  key: "EXECUTION_ENV_PATH"
  value { string_value: "$$TRITON_MODEL_DIRECTORY/1/environment.tar.gz" }
}"""
ACTIVATE = 'export PATH="$(dirname "${BASH_SOURCE[0]}"):$PATH"'


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def server(archives: Path) -> Iterator[TritonServer]:
    with serve(archives) as server:
        yield server


def test_numpy_packed_modules_and_substitutes_work(
    server: TritonServer, archives: Path, tmp_path: Path
) -> None:
    write(
        tmp_path,
        {
            "both/config.pbtxt": ENSEMBLE.replace("plus", "twice"),
            "times/config.pbtxt": CONFIG,
            "times/1/model.py": IMPORTS + TIMES,
            "times/1/__init__.py": python_packages.INIT_CODE,
            "times/1/site-packages/factors.py": "FACTOR = 5",
            "twice/config.pbtxt": CONFIG.replace("python", "onnxruntime"),
        },
    )
    (tmp_path / "both" / "1").mkdir()
    (tmp_path / "twice" / "1").mkdir()
    onnx.save(onnx.parser.parse_model(TWICE), tmp_path / "twice" / "1" / "model.onnx")
    (archives / "both.tar.gz").write_bytes(pack(tmp_path))
    assert _answer(server, "both.tar.gz") == [30]


def test_model_imports_from_the_environment_in_its_version_folder(
    server: TritonServer, archives: Path, tmp_path: Path
) -> None:
    """Like one of conda-pack, the environment is where bin/activate is after Triton unpacked it."""
    packages.make_environment(find_triton(), tmp_path)
    environment = packages.environment_folder(tmp_path)
    (environment / "bin" / "activate").write_text(ACTIVATE)
    (library,) = environment.glob("lib/*/site-packages")
    (library / "factors.py").write_text("FACTOR = 7")
    files = {"config.pbtxt": CONFIG + ENVIRONMENT, "1/model.py": IMPORTS + TIMES}
    write(tmp_path / "models" / "packed", files)
    with tarfile.open(
        tmp_path / "models" / "packed" / "1" / "environment.tar.gz", "w:gz"
    ) as archive:
        for path in environment.iterdir():
            archive.add(path, path.name)
    (archives / "packed.tar.gz").write_bytes(pack(tmp_path / "models"))
    assert _answer(server, "packed.tar.gz") == [21]


def _answer(server: TritonServer, archive: str) -> list[float]:
    """Return the values that the archive's model returns for the input 3."""
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [3]}
    body = json.dumps({"inputs": [tensor]}).encode()
    (output,) = json.loads(server.invoke(archive, body, "application/json").body)["outputs"]
    values: list[float] = output["data"]
    return values


@pytest.mark.parametrize("module", ["yaml", "onnxruntime"])
def test_import_of_a_module_that_is_not_packed_fails(
    server: TritonServer, archives: Path, tmp_path: Path, module: str
) -> None:
    files = {"config.pbtxt": CONFIG, "1/model.py": f"import {module}\n{TIMES}"}
    write(tmp_path / module, files)
    (archives / f"{module}.tar.gz").write_bytes(pack(tmp_path))
    with pytest.raises(ServingError, match=f"No module named '{module}'"):
        server.load(f"{module}.tar.gz")
