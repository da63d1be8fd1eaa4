"""endpoint_client against plain boto3: `python -m bench.client [SECONDS] [RESULTS.json]`.

Both invoke a model that multiplies, on a local SageMaker, in turns. boto3 sends a body that was
encoded before and reads the answer's bytes: the least that an application does. Coroutines call it
on 64 threads. Prints medians of the turns, and of the ratios of two turns that follow each other:
more calls a second are better, fewer milliseconds, and fewer CPU milliseconds of this process a
call.
"""

import asyncio
import io
import json
import os
import platform
import statistics
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import boto3
import numpy as np
from botocore.config import Config

from endpoint_client import AsyncEndpointClient, EndpointClient
from endpoint_client._payload import encode
from local_sagemaker import Folder, client_environment, down, up

TURNS = 15
CALLERS = {"1 thread": 1, "8 threads": 8, "64 threads": 64, "256 coroutines": 256}
EXECUTOR_THREADS = 64
VERSIONS = "boto3", "botocore", "numpy", "tritonclient", "urllib3"
X = {"X": np.ones((1, 1), np.float32)}
ENTRY = {
    **{"model": "times", "version": "1", "endpoint": "bench", "target_model": "times.tar.gz"},
    "signature": {
        "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 1]}],
        "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 1]}],
        "max_batch_size": 8,
    },
}
MODEL = {
    "times/config.pbtxt": """
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
""",
    "times/1/model.py": """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(one, "X").as_numpy() for one in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", 2 * one)]) for one in arrays]
""",
}

Call = Callable[[], object]


class Turn(NamedTuple):
    """One client's calls for some seconds."""

    calls_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms_per_call: float


@contextmanager
def endpoint() -> Iterator[None]:
    """Serve the model by an endpoint of a local SageMaker, which this process's clients ask."""
    with TemporaryDirectory() as scratch:
        folder = Folder(Path(scratch, "local_sagemaker"))
        try:
            os.environ |= client_environment(up(folder), folder)
            _deploy()
            yield
        finally:
            down(folder)


def _deploy() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in MODEL.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket="bench")
    s3.put_object(Bucket="bench", Key="times.tar.gz", Body=packed.getvalue())
    name, value = "/triton/dev/bench/times", json.dumps(ENTRY)
    boto3.client("ssm").put_parameter(Name=name, Value=value, Type="String")
    sagemaker: Any = boto3.client("sagemaker")
    environment = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}
    container = {"Image": "triton", "Mode": "MultiModel", "ModelDataUrl": "s3://bench/"}
    sagemaker.create_model(
        ModelName="bench", PrimaryContainer={**container, "Environment": environment}
    )
    variant = {"VariantName": "AllTraffic", "ModelName": "bench", "InitialInstanceCount": 1}
    sagemaker.create_endpoint_config(
        EndpointConfigName="bench",
        ProductionVariants=[{**variant, "InstanceType": "ml.m5.xlarge"}],
    )
    sagemaker.create_endpoint(EndpointName="bench", EndpointConfigName="bench")
    sagemaker.get_waiter("endpoint_in_service").wait(
        EndpointName="bench", WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )


def plain_boto3(client: EndpointClient) -> Call:
    """Return a call of boto3 alone, with the body that a client sends."""
    body, content_type = encode(client.resolve("times"), X)
    runtime: Any = boto3.client(
        "sagemaker-runtime", config=Config(max_pool_connections=max(CALLERS.values()))
    )

    def call() -> object:
        return runtime.invoke_endpoint(
            EndpointName="bench",
            TargetModel="times.tar.gz",
            ContentType=content_type,
            Body=body,
        )["Body"].read()

    return call


def on_threads(call: Call, callers: int, seconds: float) -> Turn:
    """Make one call after the other on each of so many threads."""
    durations: list[float] = []

    def caller(end: float) -> None:
        while (began := time.perf_counter()) < end:
            call()
            durations.append(time.perf_counter() - began)

    cpu, began = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(caller, [began + seconds] * callers))
    return _turn(durations, time.perf_counter() - began, time.process_time() - cpu)


async def in_coroutines(call: Callable[[], Any], callers: int, seconds: float) -> Turn:
    """Await one call after the other in each of so many coroutines."""
    durations: list[float] = []

    async def caller(end: float) -> None:
        while (began := time.perf_counter()) < end:
            await call()
            durations.append(time.perf_counter() - began)

    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(caller(began + seconds) for _ in range(callers)))
    return _turn(durations, time.perf_counter() - began, time.process_time() - cpu)


def _turn(durations: list[float], seconds: float, cpu_seconds: float) -> Turn:
    p50, p99 = (float(np.percentile(durations, share)) * 1000 for share in (50, 99))
    calls = len(durations)
    return Turn(calls / seconds, p50, p99, cpu_seconds / calls * 1000)


def compare(
    name: str, sides: dict[str, tuple[Call, Callable[[], Any]]], seconds: float
) -> dict[str, Any]:
    """Return the medians of both sides' turns, and of the ratios of neighbouring turns."""
    turns: dict[str, list[Turn]] = {side: [] for side in sides}
    for _ in range(TURNS):
        for side, (call, awaited) in sides.items():
            turns[side].append(
                asyncio.run(in_coroutines(awaited, CALLERS[name], seconds))
                if "coroutines" in name
                else on_threads(call, CALLERS[name], seconds)
            )
    turns["ratio"] = [
        Turn(*(mine / other for mine, other in zip(*pair, strict=True)))
        for pair in zip(*turns.values(), strict=True)
    ]
    medians = {
        row: Turn(*map(statistics.median, zip(*results, strict=True)))
        for row, results in turns.items()
    }
    columns = zip(*medians.values(), strict=True)
    print(f"{name:15}", *(f"{mine:9.2f} {other:9.2f} {r:5.2f}" for mine, other, r in columns))
    return {"callers": name, **{row: values._asdict() for row, values in medians.items()}}


def main(seconds: float, results: Path | None) -> None:
    """Print the table, and write it with the machine, its load and the versions."""
    machine: dict[str, Any] = {"cpus": os.cpu_count(), "machine": platform.machine()}
    machine |= {"python": platform.python_version(), "load_before": os.getloadavg()}
    with (
        endpoint(),
        ThreadPoolExecutor(EXECUTOR_THREADS) as threads,
        EndpointClient(stage="dev", endpoint="bench") as client,
    ):
        plain, asynchronous = plain_boto3(client), AsyncEndpointClient(client)
        sides: dict[str, tuple[Call, Callable[[], Any]]] = {
            "endpoint_client": (
                lambda: client.invoke("times", X),
                lambda: asynchronous.invoke("times", X),
            ),
            "boto3": (
                plain,
                lambda: asyncio.get_running_loop().run_in_executor(threads, plain),
            ),
        }
        on_threads(plain, 8, seconds)
        columns = ("calls/s", "p50 ms", "p99 ms", "CPU ms")
        print(" " * 15, *(f"{column:>9} {'boto3':>9} ratio" for column in columns))
        rows = [compare(name, sides, seconds) for name in CALLERS]
        asyncio.run(asynchronous.close())
    machine["load_after"] = os.getloadavg()
    versions = {name: version(name) for name in VERSIONS}
    content = {"machine": machine, "versions": versions, "turns": TURNS, "results": rows}
    print(f"load {machine['load_before']} before, {machine['load_after']} after; {versions}")
    if results:
        results.write_text(json.dumps({"seconds": seconds, **content}, indent=2) + "\n")


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if sys.argv[1:] else 1,
        Path(sys.argv[2]) if sys.argv[2:] else None,
    )
