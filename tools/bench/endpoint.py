"""Invocations of one model with endpoint_client, boto3 and raw HTTP, and of Triton directly.

endpoint_client, and boto3 with tritonclient, encode and decode the same arrays; the others send a
body that was encoded before. boto3 and raw HTTP (on persistent connections) call the local
SageMaker's InvokeEndpoint; "Triton" is raw HTTP to Triton in its network namespace. The Python
model returns its input, immediately or after 5 ms with 8 instances. Callers and servers share the
machine.
"""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import numpy as np
import uvloop
from botocore.config import Config
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput

from endpoint_client import EndpointClient
from local_sagemaker.serving import TritonServer, serve
from plan.catalog import Catalog
from tests.catalog_items import create_table, write_entry
from tools.bench.local_endpoint import NAME, echo_archive, host, local_sagemaker
from tools.bench.turns import Results, Turn, cpu_seconds

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
TURNS = 3
MODELS = {"trivial": (0, 1), "5-ms": (5, 8)}
"""Response time in milliseconds, and number of instances."""
CASES = [
    *((model, callers, 4) for model in MODELS for callers in (1, 8, 64)),
    *(("trivial", 8, size) for size in (600_000, 6_000_000)),
]
"""Models, numbers of concurrent callers, and sizes of the input in bytes."""
SIGNATURE = {
    "inputs": [{"name": "X", "datatype": "UINT8", "shape": [-1]}],
    "outputs": [{"name": "Y", "datatype": "UINT8", "shape": [-1]}],
}


def run(results: Results) -> None:
    """Measure each case with each side."""
    seconds = 0.2 if results.quick else 1.0
    with local_sagemaker() as (_, running), TemporaryDirectory() as folder:
        archives = {
            f"{name}.tar.gz": echo_archive(instances) for name, (_, instances) in MODELS.items()
        }
        create_table(boto3.client("dynamodb"), "dev")
        for archive, content in archives.items():
            Path(folder, archive).write_bytes(content)
            publish(archive)
        host(archives)
        connect = partial(socket.create_connection, ("127.0.0.1", running.port))
        with (
            serve(Path(folder)) as triton,
            EndpointClient(stage="dev", endpoint=NAME) as client,
        ):
            paths = {archive: load_model(triton, archive) for archive in archives}
            for name, callers, size in CASES:
                archive, array = f"{name}.tar.gz", np.zeros(size, np.uint8)
                array[0] = MODELS[name][0]
                body, content_type = _encode(array)
                request = partial(_request, archive, body, content_type)
                raw = RawHttp(connect, request(f"/endpoints/{NAME}/invocations"))
                direct = RawHttp(triton.server.triton.connect, request(paths[archive]))
                client_call = partial(client.invoke, name, {"X": array})
                boto3_client_call = partial(tritonclient_call, connect_boto3(), archive, array)
                measures: dict[str, Callable[..., Turn]] = {
                    "endpoint_client": partial(measure_on_threads, client_call),
                    "boto3, tritonclient": partial(measure_on_threads, boto3_client_call),
                    "InvokeEndpoint": raw.measure,
                    "Triton": direct.measure,
                }
                for http in (raw, direct):  # the first call of each instance is slow
                    http.measure(callers=8, seconds=0.5)
                sides = {
                    side: partial(measure, callers=callers, seconds=seconds)
                    for side, measure in measures.items()
                }
                results.alternate(f"{name}, {callers} callers, {size:,} bytes", sides, TURNS)


def connect_boto3() -> Any:
    """Return boto3's client of the endpoint, for many callers."""
    # AWS answers within 60 s; its developer guide recommends 70 s.
    config = Config(max_pool_connections=64, read_timeout=70, retries={"total_max_attempts": 1})
    return boto3.client("sagemaker-runtime", config=config)


def boto3_call(body: bytes, content_type: str) -> Callable[[str], object]:
    """Return a function that invokes an archive's model with a body that was encoded before."""
    invoke = partial(
        connect_boto3().invoke_endpoint, EndpointName=NAME, ContentType=content_type, Body=body
    )
    return lambda archive: invoke(TargetModel=archive)["Body"].read()


def tritonclient_call(runtime: Any, archive: str, array: Any) -> object:
    """Invoke an archive's model as AWS's examples do, and return the array of its answer."""
    tensor = InferInput("X", array.shape, "UINT8")
    tensor.set_data_from_numpy(array)
    output = InferRequestedOutput("Y")
    body, header = InferenceServerClient.generate_request_body([tensor], outputs=[output])
    response = runtime.invoke_endpoint(
        EndpointName=NAME, TargetModel=archive, Body=body, ContentType=f"{BINARY}{header}"
    )
    size = int(response["ContentType"].removeprefix(BINARY))
    content = response["Body"].read()
    return InferenceServerClient.parse_response_body(content, header_length=size).as_numpy("Y")


def measure_on_threads(call: Callable[[], object], *, callers: int, seconds: float) -> Turn:
    """Measure consecutive calls on each of `callers` threads."""
    durations: list[float] = []

    def caller(end: float) -> None:
        while (start := time.perf_counter()) < end:
            call()
            durations.append(time.perf_counter() - start)

    cpu, start = cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(caller, [start + seconds] * callers))
    return _turn(durations, time.perf_counter() - start, cpu_seconds() - cpu)


@dataclass(frozen=True)
class RawHttp:
    """An HTTP request that is sent repeatedly on persistent connections."""

    connect: Callable[[], socket.socket]
    request: bytes

    def measure(self, *, callers: int, seconds: float) -> Turn:
        """Measure consecutive requests on each of `callers` connections."""
        durations: list[float] = []

        async def caller(end: float) -> None:
            connection = self.connect()
            connection.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=connection)
            while (start := time.perf_counter()) < end:
                writer.write(self.request)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200"), head
                await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
                durations.append(time.perf_counter() - start)
            writer.close()

        async def all_callers(end: float) -> None:
            await asyncio.gather(*(caller(end) for _ in range(callers)))

        cpu, start = cpu_seconds(), time.perf_counter()
        uvloop.run(all_callers(start + seconds))
        return _turn(durations, time.perf_counter() - start, cpu_seconds() - cpu)


def _turn(durations: list[float], seconds: float, cpu: float) -> Turn:
    p50, p99 = (float(np.percentile(durations, share)) * 1000 for share in (50, 99))
    calls = len(durations)
    rates = {"calls/s": calls / seconds, "p50 ms": p50, "p99 ms": p99}
    return {**rates, "CPU ms a call": cpu / calls * 1000}


def publish(archive: str) -> None:
    """Write the catalog entry of an echo model."""
    model = archive.removesuffix(".tar.gz")
    entry = {"model": model, "version": "1", "endpoint": NAME, "target_model": archive}
    catalog = Catalog(boto3.client("dynamodb"), "dev", NAME)
    write_entry(catalog, {**entry, "signature": SIGNATURE})


def load_model(triton: TritonServer, archive: str) -> str:
    """Load a model; return the path of its invocations."""
    triton.load(archive)

    async def invocation_path() -> str:
        call = triton.server.container.acquire(archive)
        triton.server.container.release(call)
        return str(call.path)

    return asyncio.run_coroutine_threadsafe(invocation_path(), triton.loop).result()


def _encode(array: Any) -> tuple[bytes, str]:
    """Return a binary request of Triton and its content type."""
    tensor = {"name": "X", "shape": array.shape, "datatype": "UINT8"}
    inputs = [{**tensor, "parameters": {"binary_data_size": array.nbytes}}]
    content = {"inputs": inputs, "parameters": {"binary_data_output": True}}
    header = json.dumps(content).encode()
    return header + array.tobytes(), f"{BINARY}{len(header)}"


def _request(archive: str, body: bytes, content_type: str, path: str) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
        f"X-Amzn-SageMaker-Target-Model: {archive}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
