"""Python packages that models and the substitutes for C++ backends can import."""

import json
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

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
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [3]}
    body = json.dumps({"inputs": [tensor]}).encode()
    answer = server.invoke("both.tar.gz", body, "application/json")
    (output,) = json.loads(answer.body)["outputs"]
    assert output["data"] == [30]


@pytest.mark.parametrize("module", ["yaml", "onnxruntime"])
def test_import_of_a_module_that_is_not_packed_fails(
    server: TritonServer, archives: Path, tmp_path: Path, module: str
) -> None:
    files = {"config.pbtxt": CONFIG, "1/model.py": f"import {module}\n{TIMES}"}
    write(tmp_path / module, files)
    (archives / f"{module}.tar.gz").write_bytes(pack(tmp_path))
    with pytest.raises(ServingError, match=f"No module named '{module}'"):
        server.load(f"{module}.tar.gz")
