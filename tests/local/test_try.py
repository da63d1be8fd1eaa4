"""`tritonsm try`: a new model, built and asked in a Triton of its own."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli import new_model, started_triton, try_model
from cli.dispatch import read
from cli.started_triton import LOAD_SECONDS, TARGET_MODEL
from local_sagemaker.tests.support.triton import triton_in

FAILS = """
    def initialize(self, args):
        raise ValueError("no weights")
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(try_model, "TRIED", tmp_path / "tried")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_a_new_scikit_learn_model_answers_as_its_sample_says(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("flowers", "python", models=models)
    assert read(["try", str(folder), "--json"])() == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["outputs"]["SPECIES"]["data"] == ["setosa", "virginica"]
    assert [*printed["seconds"]][:4] == ["build", "start", "load", "first call"]


def test_a_model_that_did_not_change_is_built_once_and_asked_what_is_written(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    assert read(["try", str(folder)])() == 0
    assert "✓ build vowels" in capsys.readouterr().err
    assert read(["try", str(folder), "--input", "TEXT=aab"])() == 0
    printed = capsys.readouterr()
    assert "build" not in printed.out + printed.err
    assert printed.out.splitlines()[1].split() == ["SCORE", "FP32", "[1,", "1]", "0.666667"]


def test_what_is_wrong_is_said_with_tritons_own_words(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    golden = folder / "tests" / "golden.json"
    golden.write_text(golden.read_text().replace("0.8", "0.5"))
    assert read(["try", str(folder)])() == 1
    assert capsys.readouterr().err.endswith(
        "error: tests/golden.json: SCORE: expected 0.5, got 0.8; allowed difference 2 %\n"
    )
    model = folder / "vowels-score" / "1" / "model.py"
    model.write_text(f"{model.read_text()}\n{FAILS}")
    assert read(["try", str(folder)])() == 1
    printed = capsys.readouterr().err
    assert "error: Triton does not load it: " in printed
    assert "ValueError: no weights" in printed
    assert " vowels-score/1/model.py(" in printed
    assert printed.count("Triton's log: E") == 1
    assert len([*try_model.TRIED.glob("*/*.tar.gz")]) == 1  # the earlier digest's is gone


def test_an_output_that_is_not_as_declared_is_an_error_with_its_line(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    (folder / "tests" / "golden.json").unlink()
    configs = [folder / name / "config.pbtxt" for name in ("vowels", "vowels-score")]
    for path in configs:
        path.write_text(
            path.read_text().replace('"SCORE" data_type: TYPE_FP32', '"SCORE" data_type: TYPE_FP64')
        )
    assert read(["try", str(folder), "--input", "TEXT=aab"])() == 1
    place = next(
        number
        for number, line in enumerate(configs[0].read_text().splitlines(), 1)
        if "SCORE" in line
    )
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"error: {configs[0]}:{place}:")
    assert 'output "SCORE" is declared FP64, the answer has FP32' in error


COUNTER = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        controls = (pb_utils.get_input_tensor_by_name(request, it) for it in ("START", "ID"))
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


def test_a_stateful_model_is_asked_as_a_sequence(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = models / "counter" / "counter"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(COUNTER_CONFIG)
    (model / "1" / "model.py").write_text(COUNTER)
    command = ["try", str(models / "counter"), "--input", "X=[[1]]", "--json"]
    assert read(command)() == 1
    assert f"{model}/config.pbtxt:6:1: sequence_batching: " in capsys.readouterr().err
    sequence = ["--parameter", "sequence_id=7", "--parameter", "sequence_start=true"]
    assert read([*command, *sequence])() == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["SUM"]["data"] == [1, 7]


def test_a_decoupled_model_is_refused_with_what_can_invoke_it(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = models / "counter" / "counter"
    (model / "1").mkdir(parents=True)
    config = COUNTER_CONFIG.partition("sequence_batching")[0]
    (model / "config.pbtxt").write_text(config + "model_transaction_policy { decoupled: true }\n")
    (model / "1" / "model.py").write_text(COUNTER)
    assert read(["try", str(models / "counter"), "--input", "X=[[1]]"])() == 1
    message = capsys.readouterr().err
    assert f"{model}/config.pbtxt:6:1: counter is decoupled, and try reads one response" in message
    assert "tritonsm invoke STAGE ENDPOINT counter --stream --local" in message


@pytest.fixture
def server_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A second Triton, which nobody but the test started, at a port of its own."""
    served = tmp_path / "served"
    monkeypatch.setattr(started_triton, "FOLDER", served)
    monkeypatch.setattr(started_triton, "MOUNTED_AT", served)
    with triton_in(tmp_path / "server") as triton:

        class Forward(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name: self.headers[name] for name in (TARGET_MODEL, "Content-Type")}
                answer = triton.request(
                    self.command, self.path, body=body, headers=headers, timeout=LOAD_SECONDS
                )
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
                self.end_headers()
                self.wfile.write(answer.body)

            do_POST = do_DELETE = forward  # noqa: N815

            def log_message(self, *_: object) -> None: ...

        with ThreadingHTTPServer(("127.0.0.1", 0), Forward) as port:
            Thread(target=port.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{port.server_port}"
            port.shutdown()


def test_a_triton_that_somebody_started_is_asked(
    models: Path, server_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    command = ["try", str(folder), "--server", server_url, "--target", "cpu-24.09-py311"]
    assert read([*command, "--json"])() == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["SCORE"]["data"][0] == pytest.approx(0.8)
    assert [*started_triton.FOLDER.iterdir()] == []
    model = folder / "vowels-score" / "1" / "model.py"
    model.write_text(f"{model.read_text()}\n{FAILS}")
    assert read(command)() == 1
    error = capsys.readouterr().err
    assert "error: POST /models: Triton answered 400: " in error
    assert "ValueError: no weights" in error


def test_where_no_triton_answers_its_start_is_referred_to(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_model.write("vowels", "repository", models=models)
    assert read(["try", str(folder), "--server", "http://127.0.0.1:1"])() == 1
    assert "error: no Triton answers at http://127.0.0.1:1 (" in capsys.readouterr().err
