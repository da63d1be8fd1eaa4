"""Misbehaving clients, open ports, and the end of the local SageMaker."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker import lifecycle
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.hosting.invocation import MAX_BODY_BYTES
from local_sagemaker.settings import CAPACITY
from local_sagemaker.tests.support.endpoint_caller import EndpointCaller, processes
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import CONFIG, pack, pack_python, times, write
from local_sagemaker.tests.support.waiting import eventually, runs

BUCKET = "shop-models"
CLIENTS = 20  # more than Triton has threads
TWICE, ZEROS = "twice", "zeros"

ZEROS_MODEL = """
import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        (request,) = requests
        size = int(pb_utils.get_input_tensor_by_name(request, "X").as_numpy()[0, 0])
        zeros = pb_utils.Tensor("Y", numpy.zeros((1, size), numpy.float32))
        return [pb_utils.InferenceResponse([zeros])]
"""


@pytest.fixture(scope="module")
def many(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> EndpointCaller:
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    folder = tmp_path_factory.mktemp("models")
    any_size = "dims: [ -1 ]".join(CONFIG.rsplit("dims: [ 1 ]", 1))
    files = {f"{ZEROS}/config.pbtxt": any_size, f"{ZEROS}/1/model.py": ZEROS_MODEL}
    archives = {
        TWICE: pack_python(folder / TWICE, times(2)),
        ZEROS: pack(write(folder / ZEROS, files)),
    }
    for model, archive in archives.items():
        s3.put_object(Bucket=BUCKET, Key=f"{model}.tar.gz", Body=archive)
    create_endpoint("many", multi_model(f"s3://{BUCKET}/"))
    many = EndpointCaller("many")
    assert many.predict(TWICE) == 14
    return many


def zeros(size: int) -> bytes:
    """Return a request whose response has `size` zeros of 4 bytes in binary format."""
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [size]}
    binary = {"name": "Y", "parameters": {"binary_data": True}}
    return json.dumps({"inputs": [tensor], "outputs": [binary]}).encode()


@contextmanager
def connect(
    aws: LocalSageMaker, model: str, body: bytes, *, size: int | None = None
) -> Iterator[socket.socket]:
    """Send a request whose Content-Length is `size`; yield the connection."""
    head = (
        "POST /endpoints/many/invocations HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\n"
        f"X-Amzn-SageMaker-Target-Model: {model}.tar.gz\r\n"
        f"Content-Length: {len(body) if size is None else size}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", aws.running.port)) as connection:
        connection.sendall(head.encode() + body)
        yield connection


def test_stalled_clients_do_not_affect_others(
    local_sagemaker: LocalSageMaker, many: EndpointCaller
) -> None:
    largest = MAX_BODY_BYTES // 4 - 100
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            stack.enter_context(connect(local_sagemaker, ZEROS, zeros(largest)))
            stack.enter_context(connect(local_sagemaker, TWICE, b'{"inputs":', size=1000))
            stack.enter_context(connect(local_sagemaker, TWICE, b"", size=1000))
        assert [many.predict(TWICE) for _ in range(50)] == [14] * 50
        answer = many.invoke(ZEROS, Body=zeros(largest))["Body"].read()
        assert answer.endswith(bytes(4 * largest))
    open_files = Path(f"/proc/{local_sagemaker.running.pid}/fd")
    # Idle connections to Triton stay open; those of the stalled clients were 60 more.
    eventually(lambda: len(list(open_files.iterdir())) < 2 * CLIENTS + 40)


def test_body_over_6_mib_is_refused(many: EndpointCaller) -> None:
    size = MAX_BODY_BYTES + 1
    failure = many.failure(TWICE, Body=bytes(size))
    assert (failure.status, failure.code) == (413, "ValidationError")
    assert failure.message == f"The body has {size} bytes; at most {MAX_BODY_BYTES} are allowed."
    assert many.predict(TWICE) == 14


def test_content_length_over_6_mib_is_refused_early(
    local_sagemaker: LocalSageMaker, many: EndpointCaller
) -> None:
    with connect(local_sagemaker, TWICE, b"", size=1 << 40) as connection:
        assert connection.recv(20).startswith(b"HTTP/1.1 413")


def test_invalid_content_length_is_a_bad_request(
    local_sagemaker: LocalSageMaker, many: EndpointCaller
) -> None:
    with connect(local_sagemaker, TWICE, b"", size=-1) as connection:
        assert connection.recv(20).startswith(b"HTTP/1.1 400")
    assert many.predict(TWICE) == 14


def test_only_loopback_ports_are_open(
    local_sagemaker: LocalSageMaker, many: EndpointCaller
) -> None:
    pids = all_processes(local_sagemaker)
    outside = [pid for pid in pids if namespace(pid) == namespace(os.getpid())]
    assert processes(local_sagemaker.folder.instances, "tritonserver")[0] not in outside
    result = {address for pid in outside for address in listening_addresses(pid)}
    assert len(result) >= 2  # the local SageMaker's URL, and ministack behind it
    assert {address.partition(":")[0] for address in result} == {"0100007F"}  # 127.0.0.1


def test_signal_ends_all_processes(local_sagemaker: LocalSageMaker, many: EndpointCaller) -> None:
    running = local_sagemaker.running
    for end, keep in ((signal.SIGTERM, True), (signal.SIGINT, True), (signal.SIGKILL, False)):
        started = all_processes(LocalSageMaker(local_sagemaker.folder, running))
        os.kill(running.pid, end)
        os.waitpid(running.pid, 0)
        eventually(partial(none_runs, started))
        folder, port = local_sagemaker.folder, running.port
        running = lifecycle.up(folder, port=port, keep=keep, ends_with_caller=True)
        assert bool(boto3.client("sagemaker").list_endpoints()["Endpoints"]) is keep
        assert bool(boto3.client("s3").list_buckets()["Buckets"]) is keep
        assert not keep or many.predict(TWICE) == 14
    os.kill(ministack(running), signal.SIGKILL)
    assert os.waitpid(running.pid, 0)[1] == 0
    assert local_sagemaker.folder.log.read_text().splitlines()[-1] == (
        "error: the local SageMaker stopped, because its process of the other AWS services was "
        "ended by signal 9 (Killed), which the kernel also sends when memory is used up"
    )


@pytest.mark.parametrize(
    ("capacity", "error"), [("{}", KeyboardInterrupt), ("no JSON", LocalSageMakerError)]
)
def test_interrupted_or_failed_start_leaves_no_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capacity: str,
    error: type[BaseException],
) -> None:
    children: list[int] = []
    wait_until_healthy = lifecycle._wait_until_healthy

    def wait(running: RunningSageMaker, folder: Folder) -> None:
        children.append(eventually(lambda: ministack(running)))
        if error is KeyboardInterrupt:
            raise error
        wait_until_healthy(running, folder)

    monkeypatch.setenv(CAPACITY, capacity)
    monkeypatch.setattr(lifecycle, "_wait_until_healthy", wait)
    with pytest.raises(error):
        lifecycle.up(Folder(tmp_path / "aws"), ends_with_caller=True)
    assert not any(map(runs, children))


def ministack(running: RunningSageMaker) -> int:
    """Return the process ID of the server's child process, or 0 before it has started."""
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    for child in children:
        with suppress(OSError):  # another child, which has just ended
            if b"local_sagemaker.emulator" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return 0


def all_processes(aws: LocalSageMaker) -> list[int]:
    """Return the process IDs of the session and of the folder of a local SageMaker."""
    result = processes(aws.folder.root)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(process.name)) == aws.running.pid:
                result.append(int(process.name))
    return result


def none_runs(pids: list[int]) -> bool:
    return not any(map(runs, pids))


def namespace(pid: int) -> Path:
    """Return a process's network namespace."""
    return Path(f"/proc/{pid}/ns/net").readlink()


def listening_addresses(pid: int) -> Iterator[str]:
    """Yield the addresses on which a process listens, in the format of /proc/net."""
    sockets = {path.readlink().name for path in Path(f"/proc/{pid}/fd").iterdir()}
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state and f"socket:[{fields[9]}]" in sockets:
                yield fields[1]
