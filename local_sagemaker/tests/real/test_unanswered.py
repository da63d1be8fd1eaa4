"""A request that a Python model executes without a response, which Triton never answers."""

import json
from pathlib import Path

import pytest

from local_sagemaker.serving import QUIET_SECONDS, ServingError, serve
from local_sagemaker.tests.support.tiny_models import pack_python

BODY = {"inputs": [{"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}
SILENT = """
class TritonPythonModel:
    def execute(self, requests):
        return [None]
"""
SLOW = """
import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(SECONDS)
        inputs = [pb_utils.get_input_tensor_by_name(each, "X").as_numpy() for each in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]) for x in inputs]
"""


@pytest.mark.drill
def test_missing_response_is_named_and_a_slow_model_is_awaited(tmp_path: Path) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    slow = SLOW.replace("SECONDS", str(3 * QUIET_SECONDS))
    for name, code in (("silent", SILENT), ("slow", slow)):
        (archives / f"{name}.tar.gz").write_bytes(pack_python(tmp_path / name, code))
    body = json.dumps(BODY).encode()
    with serve(archives) as server:
        answer = server.invoke("slow.tar.gz", body, "application/json")
        assert json.loads(answer.body)["outputs"][0]["data"] == [1.0]
        server.load("silent.tar.gz")
        with pytest.raises(ServingError, match=r"model silent\.tar\.gz has executed the request"):
            server.invoke("silent.tar.gz", body, "application/json")
