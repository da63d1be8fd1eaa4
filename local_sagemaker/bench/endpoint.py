"""InvokeEndpoint compared with its Triton: `python -m local_sagemaker.bench.endpoint [SECONDS]`.

Prints requests a second and median milliseconds of raw HTTP on kept connections, in turns, and
their ratio. Needs network namespaces.
"""

import asyncio
import json
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import boto3
import uvloop

from local_sagemaker.hosting.model_store import name
from local_sagemaker.serving import TritonServer, serve
from local_sagemaker.tests.support.endpoints import host, multi_model
from local_sagemaker.tests.support.running import local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import pack, write

TURNS = 5
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
        arrays = [pb_utils.get_input_tensor_by_name(one, "X").as_numpy() for one in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]) for array in arrays]
"""
TENSOR = {"name": "X", "shape": [1], "datatype": "UINT8", "data": [7]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()
MODELS = {"trivial": ("0", 1), "of-5-ms": ("0.005", 8)}
"""Seconds that an answer takes, and the model's instances."""


class BenchTarget(NamedTuple):
    """A model behind one of the two servers."""

    connect: Callable[[], socket.socket]
    path: str
    archive: str

    def request(self) -> bytes:
        """Return one HTTP request."""
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"X-Amzn-SageMaker-Target-Model: {self.archive}\r\n"
            f"Content-Length: {len(BODY)}\r\n\r\n"
        ).encode() + BODY


class Throughput(NamedTuple):
    """Requests a second, and the median of their seconds."""

    per_second: float
    median: float

    def __str__(self) -> str:
        return f"{self.per_second:5.0f}/s {self.median * 1000:5.2f} ms"


def main(seconds: float) -> None:
    """Print the table."""
    with TemporaryDirectory() as scratch:
        archives = Path(scratch, "archives")
        archives.mkdir()
        for model, (sleep, instances) in MODELS.items():
            files = {
                "echo/config.pbtxt": CONFIG.replace("INSTANCES", str(instances)),
                "echo/1/model.py": MODEL.replace("SECONDS", sleep),
            }
            archive = pack(write(Path(scratch, model), files))
            (archives / f"{model}.tar.gz").write_bytes(archive)
        with serve(archives) as triton, _endpoint(archives, Path(scratch)) as port:
            direct = {model: _direct(triton, model) for model in MODELS}
            endpoint = {model: _invocation(port, model) for model in MODELS}
            print("model     at once      direct            endpoint          ratio")
            for model in MODELS:
                for connections in (1, 8):
                    _compare(direct[model], endpoint[model], connections, seconds)


def _direct(triton: TritonServer, model: str) -> BenchTarget:
    archive = f"{model}.tar.gz"
    triton.load(archive)
    return BenchTarget(triton.running.triton.connect, f"/models/{name(archive)}/invoke", archive)


def _invocation(port: int, model: str) -> BenchTarget:
    def connect() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port))

    target = BenchTarget(connect, "/endpoints/bench/invocations", f"{model}.tar.gz")
    _load(target, 1, 0.1)
    return target


@contextmanager
def _endpoint(archives: Path, scratch: Path) -> Iterator[int]:
    """Serve the archives by an endpoint; give the local SageMaker's port."""
    with local_sagemaker_in(scratch / "local_sagemaker") as local:
        s3: Any = boto3.client("s3")
        s3.create_bucket(Bucket="bench")
        for archive in archives.iterdir():
            s3.upload_file(str(archive), "bench", archive.name)
        host("bench", multi_model("s3://bench/"))
        yield local.running.port


def _compare(direct: BenchTarget, endpoint: BenchTarget, connections: int, seconds: float) -> None:
    """Print the medians of turns."""
    turns = [
        [_load(target, connections, seconds / TURNS) for target in (direct, endpoint)]
        for _ in range(TURNS)
    ]
    ours, theirs = (
        Throughput(*map(statistics.median, zip(*results, strict=True)))
        for results in zip(*turns, strict=True)
    )
    model = direct.archive.partition(".")[0]
    ratio = theirs.per_second / ours.per_second
    print(f"{model:9} {connections:7}  {ours}  {theirs}  {ratio:.2f}")


def _load(target: BenchTarget, connections: int, seconds: float) -> Throughput:
    """Send one request after the other on each of so many connections."""
    durations: list[float] = []

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, end = target.request(), time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            await _exchange(reader, writer, request)
            durations.append(time.perf_counter() - began)

    uvloop.run(_on_connections(target, connections, send))
    return Throughput(len(durations) / seconds, statistics.median(durations))


async def _on_connections(target: BenchTarget, connections: int, send: Any) -> None:
    async def one() -> None:
        connected = target.connect()
        connected.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=connected)
        await send(reader, writer)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> None:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 10)
