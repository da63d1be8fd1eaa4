"""InvokeEndpoint against the same Triton asked directly: `python -m bench.host [SECONDS]`.

Prints, for raw HTTP on connections that are kept: requests a second and median milliseconds of
both, in turns, and their ratio; then what boto3 adds, and how much memory 6 MB bodies take. Needs
the local Triton and network namespaces.
"""

import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import uvloop

from local_sagemaker import lifecycle
from local_sagemaker.environment import client_environment
from local_sagemaker.folder import Folder, Running
from local_sagemaker.tests.support.endpoints import host, multi_model
from local_sagemaker.tests.support.tiny_models import pack
from tests.local.loading import Server, server_in

TURNS = 5
LARGE = 6_000_000
CONFIG = """
backend: "python"
max_batch_size: 0
input [ { name: "X" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_UINT8 dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU count: INSTANCES } ]
"""
MODEL = """
import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(SECONDS)
        given = [pb_utils.get_input_tensor_by_name(it, "X").as_numpy() for it in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", it)]) for it in given]
"""
TENSOR = {"name": "X", "shape": [1], "datatype": "UINT8", "data": [7]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()
KINDS = {"trivial": ("0", 1), "of-5-ms": ("0.005", 8)}
"""Models by name: the seconds that an answer takes, and how many instances."""

Connect = Callable[[], socket.socket]


@dataclass(frozen=True)
class Target:
    """Where the same request goes: how to connect, and what to send."""

    connect: Connect
    path: str
    model: str

    def request(self, body: bytes = BODY, kind: str = "application/json") -> bytes:
        """Return one HTTP request."""
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"X-Amzn-SageMaker-Target-Model: {self.model}.tar.gz\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body


@dataclass(frozen=True)
class Rate:
    """What a turn showed."""

    a_second: float
    median: float


def main(seconds: float) -> None:
    """Print the table."""
    with (
        TemporaryDirectory() as scratch,
        _direct(Path(scratch)) as direct,
        _endpoint(Path(scratch)) as (front, port),
    ):
        _compare(direct, port, seconds)
        _through_boto3(direct, port, seconds)
        _large_bodies(port, front)


def _compare(direct: Server, port: int, seconds: float) -> None:
    print("model     at once      direct            endpoint          ratio")
    for name in KINDS:
        for at_once in (1, 8):
            targets = _direct_target(direct, name), _endpoint_target(port, name)
            turns = [[_load(it, at_once, seconds / TURNS) for it in targets] for _ in range(TURNS)]
            ours, theirs = (_middle(rates) for rates in zip(*turns, strict=True))
            print(
                f"{name:9} {at_once:7}  {_said(ours)}  {_said(theirs)}  "
                f"{theirs.a_second / ours.a_second:.2f}"
            )


def _said(rate: Rate) -> str:
    return f"{rate.a_second:5.0f}/s {rate.median * 1000:5.2f} ms"


def _middle(rates: tuple[Rate, ...]) -> Rate:
    return Rate(
        statistics.median(it.a_second for it in rates), statistics.median(it.median for it in rates)
    )


def _load(target: Target, at_once: int, seconds: float) -> Rate:
    """Ask again and again on so many connections, one request after the other on each."""
    took: list[float] = []

    async def asking(until: float) -> None:
        opened = target.connect()
        opened.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=opened)
        request = target.request()
        while (began := time.perf_counter()) < until:
            await _answered(reader, writer, request)
            took.append(time.perf_counter() - began)
        writer.close()

    async def all_asking() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(asking(until) for _ in range(at_once)))

    uvloop.run(all_asking())
    return Rate(len(took) / seconds, statistics.median(took))


async def _answered(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> None:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))


def _through_boto3(direct: Server, port: int, seconds: float) -> None:
    client = boto3.client("sagemaker-runtime")
    triton = _load(_direct_target(direct, "trivial"), 1, seconds / TURNS).median
    endpoint = _load(_endpoint_target(port, "trivial"), 1, seconds / TURNS).median
    took = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        answer: Any = client.invoke_endpoint(
            EndpointName="bench",
            TargetModel="trivial.tar.gz",
            ContentType="application/json",
            Body=BODY,
        )
        answer["Body"].read()
        took.append(time.perf_counter() - began)
    own = statistics.median(took) - endpoint
    print(
        f"through boto3, one at once: Triton {triton * 1000:.2f} ms, the endpoint "
        f"{(endpoint - triton) * 1000:+.2f} ms, boto3 itself {own * 1000:+.2f} ms"
    )


def _large_bodies(port: int, front: int) -> None:
    """Say how much more memory the front takes at most while large bodies go both ways."""
    target = _endpoint_target(port, "trivial")
    header = json.dumps(
        {
            "inputs": [
                {
                    **{"name": "X", "shape": [LARGE], "datatype": "UINT8"},
                    "parameters": {"binary_data_size": LARGE},
                }
            ],
            "parameters": {"binary_data_output": True},
        }
    ).encode()
    kind = f"application/vnd.sagemaker-triton.binary+json;json-header-size={len(header)}"
    request = target.request(header + bytes(LARGE), kind)
    before, most = _resident(front), 0

    async def asking() -> None:
        nonlocal most
        opened = target.connect()
        opened.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=opened)
        for _ in range(10):
            await _answered(reader, writer, request)
            most = max(most, _resident(front))
        writer.close()

    async def all_asking() -> None:
        await asyncio.gather(*(asking() for _ in range(8)))

    uvloop.run(all_asking())
    print(f"80 bodies of 6 MB, 8 at once: {before >> 20} MiB before, {most >> 20} MiB at most")


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _direct_target(server: Server, model: str) -> Target:
    return Target(server.triton.connect, f"/models/{model}/invoke", model)


def _endpoint_target(port: int, model: str) -> Target:
    connect = lambda: socket.create_connection(("127.0.0.1", port))  # noqa: E731
    return Target(connect, "/endpoints/bench/invocations", model)


@contextmanager
def _direct(scratch: Path) -> Iterator[Server]:
    folder = scratch / "direct"
    folder.mkdir()
    with server_in(folder) as server:
        for name in KINDS:
            answer = server.load(name, _repository(scratch / "models" / name, *KINDS[name]))
            assert answer.status == 200, answer
        yield server


@contextmanager
def _endpoint(scratch: Path) -> Iterator[tuple[int, int]]:
    """Give the front's process and port."""
    folder = Folder(scratch / "local_sagemaker")
    running: Running = lifecycle.up(folder)
    try:
        os.environ.update(client_environment(running, folder))
        s3: Any = boto3.client("s3")
        s3.create_bucket(Bucket="bench")
        for name in KINDS:
            s3.put_object(
                Bucket="bench", Key=f"{name}.tar.gz", Body=pack(scratch / "models" / name)
            )
        host("bench", multi_model("s3://bench/"))
        for name in KINDS:
            _load(_endpoint_target(running.port, name), 1, 0.1)
        yield running.pid, running.port
    finally:
        lifecycle.down(folder)


def _repository(root: Path, seconds: str, instances: int) -> Path:
    folder = root / "echo"
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(CONFIG.replace("INSTANCES", str(instances)))
    (folder / "1" / "model.py").write_text(MODEL.replace("SECONDS", seconds))
    return root


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 10)
