"""The command `tritonsm try`: a new model, built and called in its own Triton."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from cli import external_triton, new_model, onnx_reference, try_model
from cli.external_triton import REQUEST_TIMEOUT_SECONDS, TARGET_MODEL
from local_sagemaker.tests.support.tiny_models import write
from local_sagemaker.tests.support.triton import triton_in
from tests.processes import run_main
from tests.tritonsm import tritonsm

FAILING_INITIALIZE = """
    def initialize(self, args):
        raise ValueError("no weights")
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(try_model, "ARCHIVE_CACHE", tmp_path / "tried")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_unchanged_model_is_built_once(models: Path) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    model = folder / "vowels-score/1/model.py"
    model.write_text(f'{model.read_text()}\nimport warnings\nwarnings.warn("old weights")\n')
    line = len(model.read_text().splitlines())
    output = run_main(tritonsm, "try", str(folder), "--json")
    assert "✓ build vowels" in output.stderr
    warning = f"warning: vowels-score/1/model.py:{line}: UserWarning: old weights"
    assert output.stderr.splitlines().count(warning) == 1
    assert [*json.loads(output.stdout)["seconds"]][:4] == ["build", "start", "load", "first call"]
    output = run_main(tritonsm, "try", str(folder), "--input", "TEXT=aab")
    assert "build" not in output.stdout + output.stderr
    assert output.stdout.splitlines()[1].split() == ["SCORE", "FP32", "[1,", "1]", "0.666667"]


def test_errors_have_the_message_of_triton(models: Path) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    golden = folder / "tests" / "golden.json"
    golden.write_text(golden.read_text().replace("0.8", "0.5"))
    finished = run_main(tritonsm, "try", str(folder), code=1)
    assert finished.stderr.endswith(
        "error: tests/golden.json: SCORE: expected 0.5, got 0.8; allowed difference 2 %\n"
    )
    model = folder / "vowels-score" / "1" / "model.py"
    model.write_text(f"{model.read_text()}\n{FAILING_INITIALIZE}")
    output = run_main(tritonsm, "try", str(folder), code=1).stderr
    assert "error: Triton cannot load the model: " in output
    assert "ValueError: no weights" in output
    assert " vowels-score/1/model.py(" in output
    assert output.count("Triton's log: E") == 1
    assert (
        len([*try_model.ARCHIVE_CACHE.glob("*/*.tar.gz")]) == 1
    )  # without the archive of the earlier digest


def test_undeclared_output_type_is_an_error_with_line(models: Path) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    (folder / "tests" / "golden.json").unlink()
    configs = [folder / name / "config.pbtxt" for name in ("vowels", "vowels-score")]
    for path in configs:
        path.write_text(
            path.read_text().replace('"SCORE" data_type: TYPE_FP32', '"SCORE" data_type: TYPE_FP64')
        )
    finished = run_main(tritonsm, "try", str(folder), "--input", "TEXT=aab", code=1)
    lines = configs[0].read_text().splitlines()
    line_number = next(number for number, line in enumerate(lines, 1) if "SCORE" in line)
    error = finished.stderr.splitlines()[-1]
    assert error.startswith(f"error: {configs[0]}:{line_number}:")
    assert 'output "SCORE" is declared FP64, but the model returns FP32' in error


def test_copied_onnx_file_is_compared_with_onnx_runtime(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: dict[str, Any] = {
        "keys_strings": ["a", "ü"],
        "values_int64s": [1, 2],
        "default_int64": -1,
    }
    graph = helper.make_graph(
        [helper.make_node("LabelEncoder", ["X"], ["Y"], domain="ai.onnx.ml", **labels)],
        "graph",
        [helper.make_tensor_value_info("X", TensorProto.STRING, [None, 1])],
        [helper.make_tensor_value_info("Y", TensorProto.INT64, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    model = write(
        models / "labels" / "labels",
        {
            "config.pbtxt": 'backend: "onnxruntime"\nmax_batch_size: 8\n'
            'input { name: "X" data_type: TYPE_STRING dims: [ 1 ] }\n'
            'output { name: "Y" data_type: TYPE_INT64 dims: [ 1 ] }\n',
            "1/.keep": "",
        },
    )
    (model / "1" / ".keep").unlink()
    content = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (model / "1" / "model.onnx").write_bytes(content.SerializeToString())
    command = ["try", str(models / "labels"), "--input", 'X=[["a"],["ü"],["b"]]', "--json"]
    output = run_main(tritonsm, *command)
    assert json.loads(output.stdout)["outputs"]["Y"]["data"] == [1, 2, -1]
    assert "model.onnx returns the same in ONNX Runtime" in output.stderr
    monkeypatch.setattr(onnx_reference, "_to_texts", np.flip)
    finished = run_main(tritonsm, *command, code=1)
    assert "error: Y: differs from ONNX Runtime" in finished.stderr


COUNTER = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        controls = (pb_utils.get_input_tensor_by_name(request, n) for n in ("START", "ID"))
        answer = np.array([[control.as_numpy().flat[0] for control in controls]], np.int64)
        return pb_utils.InferenceResponse([pb_utils.Tensor("SUM", answer)])
"""
COUNTER_CONFIG = """
backend: "python"
max_batch_size: 4
input [ { name: "X" data_type: TYPE_INT64 dims: [ 1 ] } ]
output [ { name: "SUM" data_type: TYPE_INT64 dims: [ 2 ] } ]
sequence_batching {
  control_input {
    name: "START"
    control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }
  }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
}
"""


def write_counter(models: Path, config: str) -> Path:
    model = models / "counter" / "counter"
    write(model, {"config.pbtxt": config, "1/model.py": COUNTER})
    return model


def test_stateful_model_needs_sequence_parameters(models: Path) -> None:
    model = write_counter(models, COUNTER_CONFIG)
    command = ["try", str(models / "counter"), "--input", "X=[[1]]", "--json"]
    finished = run_main(tritonsm, *command, code=1)
    assert f"{model}/config.pbtxt:6:1: sequence_batching: " in finished.stderr
    sequence = ["--parameter", "sequence_id=7", "--parameter", "sequence_start=true"]
    finished = run_main(tritonsm, *command, *sequence)
    assert json.loads(finished.stdout)["outputs"]["SUM"]["data"] == [1, 7]


def test_decoupled_model_is_an_error(models: Path) -> None:
    config = COUNTER_CONFIG.partition("sequence_batching")[0]
    model = write_counter(models, config + "model_transaction_policy { decoupled: true }\n")
    message = run_main(
        tritonsm, "try", str(models / "counter"), "--input", "X=[[1]]", code=1
    ).stderr
    assert f"{model}/config.pbtxt:6:1: counter is decoupled, and try reads one response" in message
    assert "tritonsm invoke STAGE ENDPOINT counter --stream --local" in message


@pytest.fixture
def server_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a Triton that the command did not start."""
    folder = tmp_path / "served"
    monkeypatch.setattr(external_triton, "FOLDER", folder)
    monkeypatch.setattr(external_triton, "MOUNTED_AT", folder)
    with triton_in(tmp_path / "server") as triton:

        class Forward(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name: self.headers[name] for name in (TARGET_MODEL, "Content-Type")}
                response = triton.request(
                    self.command,
                    self.path,
                    body=body,
                    headers=headers,
                    timeout=REQUEST_TIMEOUT_SECONDS,
                )
                self.send_response(response.status)
                self.send_header("Content-Type", response.headers.get("Content-Type", ""))
                self.end_headers()
                self.wfile.write(response.body)

            do_POST = do_DELETE = forward  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        with ThreadingHTTPServer(("127.0.0.1", 0), Forward) as proxy:
            Thread(target=proxy.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{proxy.server_port}"
            proxy.shutdown()


def test_server_option_uses_a_running_triton(models: Path, server_url: str) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    command = ["try", str(folder), "--server", server_url, "--target", "cpu-24.09-py311"]
    finished = run_main(tritonsm, *command, "--json")
    assert json.loads(finished.stdout)["outputs"]["SCORE"]["data"][0] == pytest.approx(0.8)
    assert [*external_triton.FOLDER.iterdir()] == []
    model = folder / "vowels-score" / "1" / "model.py"
    model.write_text(f"{model.read_text()}\n{FAILING_INITIALIZE}")
    error = run_main(tritonsm, *command, code=1).stderr
    assert "error: POST /models: Triton answered 400: " in error
    assert "ValueError: no weights" in error


def test_unreachable_server_is_an_error(models: Path) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    finished = run_main(tritonsm, "try", str(folder), "--server", "http://127.0.0.1:1", code=1)
    assert "error: no Triton at http://127.0.0.1:1 (" in finished.stderr
