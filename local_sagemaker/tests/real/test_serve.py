"""The SageMaker mode of the local Triton.

Source of the cases: triton-inference-server/server, qa/L0_sagemaker, without the cases that need a
release after 2.51 (limits of body size and chunks, and a POST /models with invalid JSON).
"""

import json
import re
import shutil
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.hosting import backends, sandbox
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS, TARGET_MODEL
from local_sagemaker.hosting.serve_script import ServeCommand
from local_sagemaker.hosting.serve_script import multi_model as multi_model_command
from local_sagemaker.hosting.serve_script import single_model as single_model_command
from local_sagemaker.hosting.triton import Response, Triton, UnhealthyError
from local_sagemaker.prerequisites import PACKAGED_VERSION, TritonInstallation, find_triton
from local_sagemaker.serving import serve
from local_sagemaker.settings import TRITONSERVER
from local_sagemaker.tests.support.endpoint_caller import processes
from local_sagemaker.tests.support.tiny_models import (
    CONFIG,
    SPEAKS,
    SPEAKS_CONFIG,
    TIMES,
    pack_python,
    times,
    write,
    write_ensemble,
)
from local_sagemaker.tests.support.waiting import eventually, runs

IMAGE = "sagemaker-tritonserver:24.09-py3"
QUIET = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}
X = {"name": "X", "datatype": "FP32", "shape": [1, 1]}
REQUEST = {"inputs": [{**X, "data": [3]}]}
BINARY_REQUEST = {
    "inputs": [{**X, "parameters": {"binary_data_size": 4}}],
    "outputs": [{"name": "Y", "parameters": {"binary_data": True}}],
}
JSON, BINARY = "application/json", "application/vnd.sagemaker-triton.binary+json;json-header-size="
CONTENT_TYPE = "Content-Type"


@dataclass(frozen=True)
class Server:
    """A healthy Triton, the folder of its models and its command."""

    triton: Triton
    models: Path
    command: ServeCommand

    def ask(self, method: str, path: str, body: Any = b"", **headers: str) -> Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {CONTENT_TYPE: JSON, **headers}
        return self.triton.request(
            method, path, body=content, headers=headers, timeout=LOAD_SECONDS
        )

    def invoke(self, body: Any, **headers: str) -> Response:
        return self.ask("POST", self.command.invocations, body, **headers)

    @property
    def log(self) -> str:
        return self.triton.log.read_text()


@dataclass(frozen=True)
class Model:
    """A model of a multi-model server; `name` is the model name in SageMaker's requests."""

    server: Server
    name: str

    @property
    def path(self) -> str:
        return f"/models/{self.name}"

    def load(self) -> int:
        load_request = {"model_name": self.name, "url": f"/opt/ml{self.path}/model"}
        return self._ask("POST", "/models", load_request).status

    def invoke(self, body: Any, **headers: str) -> Response:
        return self._ask("POST", f"{self.path}/invoke", body, **headers)

    def unload(self) -> int:
        return self._ask("DELETE", self.path).status

    def _ask(self, method: str, path: str, body: Any = b"", **headers: str) -> Response:
        return self.server.ask(
            method, path, body, **{TARGET_MODEL: f"{self.name}.tar.gz"}, **headers
        )


@dataclass(frozen=True)
class Start:
    """Starts servers with the same backends, each in a folder of its own."""

    installation: TritonInstallation
    root: Path

    @contextmanager
    def multi_model(self, name: str, **environment: str) -> Iterator[Server]:
        """Run a multi-model server, with the command of the image of 24.09."""
        empty, models = self.root / name / "empty", self.root / name / "models"
        empty.mkdir(parents=True)
        models.mkdir()
        command = multi_model_command({**QUIET, **environment}, image=IMAGE, repository=str(empty))
        with self._server(command, models, sandbox.MODELS) as server:
            yield server

    @contextmanager
    def single_model(
        self, name: str, model: dict[str, str], **environment: str
    ) -> Iterator[Server]:
        """Run a single-model server, with the command of the newest image."""
        archive = write(
            self.root / name / "model", {f"{name}/{path}": model[path] for path in model}
        )
        command = single_model_command(
            {**QUIET, **environment}, image="", archive=archive, repository=str(sandbox.MODEL)
        )
        with self._server(command, archive, sandbox.MODEL) as server:
            yield server

    @contextmanager
    def _server(self, command: ServeCommand, models: Path, model_path: Path) -> Iterator[Server]:
        triton = Triton(
            self.installation,
            arguments=command.arguments,
            environment=command.environment,
            backends=self.root / "backends",
            folder=models.parent,
            log_lines=command.log_lines,
            ping=command.ping,
            models=(models, model_path),
        )
        try:
            triton.wait_until_healthy(LOAD_SECONDS)
            yield Server(triton, models, command)
        finally:
            triton.stop()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    installation = find_triton()
    if not installation.isolated:
        pytest.skip("this machine does not allow private network namespaces")
    root = tmp_path_factory.mktemp("serve")
    backends.install(installation, root / "backends")
    return Start(installation, root)


def numbers(response: Response) -> list[float]:
    assert response.status == 200, response.body
    data: list[float] = json.loads(response.body)["outputs"][0]["data"]
    return data


# Many models

SUMS = f"""{TIMES.replace("x * FACTOR", "self.add(x)")}
    total = 0

    def add(self, x):
        self.total = self.total + x
        return self.total
"""
TWO_STATEFUL_INSTANCES = """
instance_group { count: 2 kind: KIND_CPU }
sequence_batching { max_sequence_idle_microseconds: 600000000 }
"""
RESTRICTED = "--http-restricted-api=inference,model-repository:key=value"


@pytest.fixture(scope="module")
def many(start: Start) -> Iterator[Server]:
    """A server with a safe port range and restricted HTTP APIs."""
    environment = {
        "SAGEMAKER_BIND_TO_PORT": "8080",
        "SAGEMAKER_SAFE_PORT_RANGE": "8081-9000",
        "SAGEMAKER_TRITON_ALLOW_METRICS": "true",
        "SAGEMAKER_TRITON_METRICS_PORT": "8081",
        "SAGEMAKER_TRITON_ADDITIONAL_ARGS": RESTRICTED,
        "SAGEMAKER_TRITON_PING_MODE": "live",
    }
    with start.multi_model("many", **environment) as server:
        yield server


def test_lifecycle_of_a_model_with_its_config_at_the_root(
    many: Server,
) -> None:
    files = {"config.pbtxt": f'name: "other"{CONFIG}', "1/model.py": TIMES.replace("FACTOR", "2")}
    write(many.models / "flat" / "model", files)
    flat = Model(many, "flat")
    assert flat.invoke(REQUEST).status == 404
    assert [flat.load(), flat.load()] == [200, 409]
    assert numbers(flat.invoke(REQUEST)) == [6]
    body, header = binary_request()
    answer = flat.invoke(body, **{CONTENT_TYPE: f"{BINARY}{header}"})
    size = int(answer.headers[CONTENT_TYPE].removeprefix(BINARY))
    assert json.loads(answer.body[:size])["outputs"][0]["name"] == "Y"
    assert struct.unpack("<f", answer.body[size:]) == (6,)
    description = json.loads(many.ask("GET", flat.path).body)
    assert description == {"modelName": "flat", "modelUrl": "/opt/ml/models/flat"}
    assert len(json.loads(many.ask("GET", "/models").body)["models"]) == 1
    assert [flat.unload(), flat.unload()] == [200, 404]
    assert many.ask("GET", flat.path).status == 404
    assert 'Loading SageMaker TargetModel: flat.tar.gz"' in many.log
    assert 'Invoking SageMaker TargetModel: flat.tar.gz"' in many.log


def test_ensemble_is_unloaded_with_its_steps(many: Server) -> None:
    archive = write_ensemble(many.models / "line" / "model")
    (archive / archive.name / "1").mkdir()  # as a build does
    line = Model(many, "line")
    assert line.load() == 200
    assert numbers(line.invoke(REQUEST)) == [7]
    assert line.unload() == 200
    unloaded = "successfully unloaded '/opt/ml/models/line/model::"
    eventually(lambda: many.log.count(unloaded) == 3)


def test_calls_of_a_sequence_reach_one_instance(many: Server) -> None:
    config = CONFIG.replace("max_batch_size: 8", "max_batch_size: 1") + TWO_STATEFUL_INSTANCES
    write(many.models / "sums" / "model", {"sums/config.pbtxt": config, "sums/1/model.py": SUMS})
    sums = Model(many, "sums")
    assert sums.load() == 200
    totals: dict[int, list[float]] = {7: [], 8: []}
    calls = (7, 8, 8, 7, 7, 8)  # other calls would reach the two instances in turn
    for number, sequence in enumerate(calls):
        flags = {"sequence_start": number < 2, "sequence_end": number > 3}
        request = {"inputs": [{**X, "data": [sequence]}]}
        parameters = {"sequence_id": sequence, **flags}
        totals[sequence] += numbers(sums.invoke({**request, "parameters": parameters}))
    assert totals == {7: [7, 14, 21], 8: [8, 16, 24]}
    assert sums.unload() == 200


def test_server_is_unhealthy_after_a_failed_load_without_ping_mode(
    start: Start,
) -> None:
    with start.multi_model("unhealthy") as server:
        write(server.models / "broken" / "model", {"broken/config.pbtxt": CONFIG})
        assert Model(server, "broken").load() == 400
        assert server.ask("GET", "/ping").status == 400
        assert server.log.startswith("Triton is running in SageMaker MME mode.")
        log = re.escape(str(server.triton.log))
        with pytest.raises(UnhealthyError, match=f"not pass the ping health check. Log: {log}\n"):
            server.triton.wait_until_healthy(0.1)
    with pytest.raises(ConnectionError, match="the container has exited"):
        server.triton.connect()


# The process


def test_container_has_only_its_environment_and_runs_no_code_outside_of_the_sandbox(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that start the sandbox must not look up commands or modules in the Model's."""
    mark = f"touch {tmp_path}/escaped"
    for program in ("unshare", "python3", "tritonserver"):
        (tmp_path / program).write_text(f"#!/bin/sh\n{mark}\n")
        (tmp_path / program).chmod(0o755)
    for module in ("sitecustomize", "asyncio", "usercustomize"):
        (tmp_path / f"{module}.py").write_text(f"import os; os.system({mark!r})")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    hostile = dict.fromkeys(("PATH", "PYTHONPATH", "PYTHONHOME"), str(tmp_path))
    with start.multi_model("hostile", **hostile) as server:
        (process,) = processes(server.models.parent, "tritonserver")
        variables = Path(f"/proc/{process}/environ").read_text().split("\0")
    assert {f"{name}={tmp_path}" for name in hostile} <= set(variables)
    assert not [variable for variable in variables if variable.startswith("AWS_")]
    assert not (tmp_path / "escaped").exists()


def test_failed_start_has_the_end_of_the_log(start: Start) -> None:
    options = {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--load-model=absent"}
    with (
        pytest.raises(UnhealthyError, match=r"failed to load all models$"),
        start.multi_model("ends", **options),
    ):
        raise AssertionError("it has started")


def test_stop_on_several_threads_ends_server_and_broker(start: Start) -> None:
    with start.multi_model("stopped") as server:
        triton = server.triton
        pids = [triton.session, *processes(server.models.parent)]
        assert len(pids) > 2
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: triton.stop(), range(4)))
        assert not any(map(runs, pids))
        assert "has exited" in (triton.failed_ping(1) or "")


def test_invalid_response_is_a_connection_error(
    many: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, container = socket.socketpair()
    container.sendall(b"no HTTP\r\n")
    monkeypatch.setattr(many.triton, "connect", lambda: ours)
    with container, pytest.raises(ConnectionError, match="the container disconnected"):
        many.ask("GET", "/ping")


# One model


@pytest.fixture(scope="module")
def one(start: Start) -> Iterator[Server]:
    files = {"config.pbtxt": CONFIG, "1/model.py": TIMES.replace("FACTOR", "2")}
    with start.single_model("twice", files) as server:
        yield server


def binary_request() -> tuple[bytes, int]:
    """Return a body, and the size of its JSON."""
    header = json.dumps(BINARY_REQUEST).encode()
    return header + struct.pack("<f", 3), len(header)


def test_only_model_is_the_default(one: Server) -> None:
    assert numbers(one.invoke(REQUEST)) == [6]
    assert one.log.startswith(
        "WARNING: No SAGEMAKER_TRITON_DEFAULT_MODEL_NAME provided.\n"
        "         Starting with the only existing model directory twice\n"
    )
    assert "loading: /opt/ml/model::twice:1" in one.log


def test_models_of_two_repositories_are_loaded(start: Start) -> None:
    twice = {"config.pbtxt": CONFIG, "1/model.py": TIMES.replace("FACTOR", "2")}
    files = {**twice, **{f"more/again/{path}": text for path, text in twice.items()}}
    arguments = "--model-repository=/opt/ml/model/first/more --load-model=again"
    with start.single_model("first", files, SAGEMAKER_TRITON_ADDITIONAL_ARGS=arguments) as server:
        assert numbers(server.invoke(REQUEST)) == [6]
        assert "successfully loaded '/opt/ml/model::first'" in server.log
        assert "successfully loaded '/opt/ml/model/first/more::again'" in server.log


def test_generate_and_generate_stream(start: Start) -> None:
    files = {"config.pbtxt": SPEAKS_CONFIG, "1/model.py": SPEAKS}
    with start.single_model(
        "speaks", files, SAGEMAKER_TRITON_INFERENCE_TYPE="generate_stream"
    ) as server:
        stream = server.invoke({"PROMPT": "hello", "TIMES": 3})
        assert stream.headers[CONTENT_TYPE] == "text/event-stream; charset=utf-8"
        events = stream.body.decode().removesuffix("\n\n").split("\n\n")
        assert [json.loads(event.removeprefix("data: "))["TEXT"] for event in events] == [
            "hello"
        ] * 3
        generate_path = server.command.invocations.removesuffix("_stream")
        answer = server.ask("POST", generate_path, {"PROMPT": "hello"})
        assert (answer.status, answer.headers[CONTENT_TYPE]) == (200, JSON)
        assert json.loads(answer.body)["TEXT"] == "hello"


# Another tritonserver


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packaged tritonserver, with the layout of /opt/tritonserver in NVIDIA's images."""
    packaged, folder = find_triton(), tmp_path / "opt" / "tritonserver"
    shutil.copytree(packaged.root / "bin", folder / "bin")
    shutil.copytree(packaged.root.parents[1] / "nvidia_pytriton.libs", folder / "lib")
    shutil.copytree(packaged.root / "backends", folder / "backends")
    shutil.copy(packaged.own_python.stub, folder / "backends" / "python")
    (folder / "backends" / "onnxruntime").mkdir()
    (folder / "backends" / "onnxruntime" / "libtriton_onnxruntime.so").touch()
    monkeypatch.setenv(TRITONSERVER, str(folder))
    return folder


def test_another_tritonserver_with_its_backends(moved: Path, tmp_path: Path) -> None:
    installation = find_triton()
    assert (installation.root, installation.version) == (moved, PACKAGED_VERSION)
    (tmp_path / "m.tar.gz").write_bytes(pack_python(tmp_path / "m", times(2)))
    with serve(tmp_path, installation=installation) as server:
        body = json.dumps(REQUEST).encode()
        assert numbers(server.invoke("m.tar.gz", body, JSON)) == [6]
        backends_folder = server.server.folder.parents[1] / "backends"
        own, stand_in = backends_folder / "onnxruntime", backends_folder / "pytorch"
        assert [path.name for path in own.iterdir()] == ["libtriton_onnxruntime.so"]
        assert (stand_in / "model.py").is_file()
