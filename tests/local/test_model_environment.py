"""Python models see what Triton's image holds; stand-ins for C++ backends see what they need."""

import json
from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from local_sagemaker.tests.support.tiny_models import CONFIG, ENSEMBLE, TIMES, write
from model_build.export import python_packages
from tests.local.loading import Server, server_in

PACKED = """
import numpy
from factors import FACTOR
"""
TWICE = """
<ir_version: 9, opset_import: ["": 18]>
twice (float[N, 1] X) => (float[N, 1] Y) { Y = Add(X, X) }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server_in(tmp_path_factory.mktemp("triton")) as server:
        yield server


def test_numpy_what_a_model_packs_and_the_stand_ins_work(server: Server, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "both/config.pbtxt": ENSEMBLE.replace("plus", "twice"),
            "times/config.pbtxt": CONFIG,
            "times/1/model.py": PACKED + TIMES,
            "times/1/__init__.py": python_packages.FINDS_PACKAGES,
            "times/1/site-packages/factors.py": "FACTOR = 5",
            "twice/config.pbtxt": CONFIG.replace("python", "onnxruntime"),
        },
    )
    (tmp_path / "both" / "1").mkdir()
    (tmp_path / "twice" / "1").mkdir()
    onnx.save(onnx.parser.parse_model(TWICE), tmp_path / "twice" / "1" / "model.onnx")
    loaded = server.load("both", tmp_path)
    assert loaded.status == 200, loaded.body.decode()
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [3]}
    answer = server.invoke("both", json.dumps({"inputs": [tensor]}).encode())
    (output,) = json.loads(answer.body)["outputs"]
    assert output["data"] == [30]


@pytest.mark.parametrize("module", ["yaml", "onnxruntime"])
def test_what_a_model_did_not_pack_is_not_there(
    server: Server, tmp_path: Path, module: str
) -> None:
    files = {"config.pbtxt": CONFIG, "1/model.py": f"import {module}\n{TIMES}"}
    write(tmp_path / module, files)
    refused = server.load(module, tmp_path)
    assert refused.status == 400
    assert f"ModuleNotFoundError: No module named '{module}'" in refused.body.decode()
