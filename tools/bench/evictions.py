"""Evictions: more models than the memory of an instance holds.

60 models with memory for ten, of which each call asks a random one, next to Triton without the
local SageMaker: there, each of 8 callers unloads its model, loads the next, and invokes it. 200
models with memory for 20 are called with Zipf's distribution; the alternative calls only the 20
most popular ones, which stay loaded.
"""

import itertools
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import local
from typing import TYPE_CHECKING, cast

import boto3
import numpy as np

from local_sagemaker.hosting import backends
from local_sagemaker.hosting.instance import UNKNOWN_MODEL
from local_sagemaker.hosting.launch import Host, start_server
from local_sagemaker.hosting.sandbox import MODELS, path_in_sandbox
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.serving import VARIANT
from local_sagemaker.settings import MEMORY
from tools.bench.endpoint import boto3_call, measure_on_threads
from tools.bench.local_endpoint import (
    ECHO,
    QUIET,
    echo_archive,
    host,
    local_sagemaker,
    logs_of_failure,
)
from tools.bench.turns import Results, Turn

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

POPULAR, CALLERS = 20, 8
COLD, COLD_CALLERS = 60, (8, 64)
CONFIGURATIONS = {
    "completed by Triton": {},
    "complete": {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--disable-auto-complete-config"},
}
"""Variables of the container. Triton completes one Python model's configuration at a time."""
TRITON_MIB, MODEL_MIB = 50, 25
"""Triton takes 30 to 50 MiB, each model 16 to 25 MiB."""
TENSOR = {"name": "X", "shape": [1], "datatype": "UINT8", "data": [0]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()


def run(results: Results) -> None:
    """Measure calls of cold models, and of popular models with evictions and without."""
    seconds = 20 if results.quick else 60
    for kind, environment in CONFIGURATIONS.items():
        with (
            endpoint(COLD, memory=10, **environment) as names,
            triton(**environment) as change_and_invoke,
        ):
            for callers in COLD_CALLERS:
                sides = {
                    "InvokeEndpoint": partial(call_cold, names, callers, seconds),
                    "Triton": partial(
                        measure_on_threads, change_and_invoke, callers=CALLERS, seconds=seconds
                    ),
                }
                results.alternate(f"{COLD} models, {callers} callers, {kind}", sides, 1)
    with endpoint(200, memory=POPULAR) as names:
        sides = {f"{count} models": partial(call_popular, names[:count], results.quick)
                 for count in (len(names), POPULAR)}  # fmt: skip
        results.alternate(f"{CALLERS} callers", sides, 2)


@contextmanager
def endpoint(count: int, *, memory: int, **environment: str) -> Iterator[list[str]]:
    """Run an endpoint of echo models with memory for some of them; yield their target models."""
    names = [f"model-{number:03}.tar.gz" for number in range(count)]
    with local_sagemaker(**{MEMORY: str(TRITON_MIB + memory * MODEL_MIB)}):
        host(dict.fromkeys(names, echo_archive()), **environment)
        yield names


def call_cold(names: list[str], callers: int, seconds: float) -> Turn:
    """Measure calls of random models; a call that is refused is repeated."""
    call, chosen, refused = boto3_call(BODY, "application/json"), random.Random(0), Counter[str]()
    exceptions = boto3.client("sagemaker-runtime").exceptions
    not_ready, model_error = exceptions.ModelNotReadyException, exceptions.ModelError

    def call_until_ready() -> None:
        name = chosen.choice(names)
        while True:
            try:
                call(name)
            except (not_ready, model_error) as error:
                if isinstance(error, model_error) and not UNKNOWN_MODEL.search(str(error)):
                    raise
                refused[name] += 1
            else:
                return

    turn = measure_on_threads(call_until_ready, callers=callers, seconds=seconds)
    return {**turn, "refused": float(refused.total())}


def call_popular(names: list[str], quick: bool) -> Turn:
    """Measure calls of models with Zipf's distribution."""
    call = boto3_call(BODY, "application/json")
    if len(names) == POPULAR:
        for name in reversed(names):
            call(name)
    shares = 1 / np.arange(1, len(names) + 1)
    order = iter(np.random.default_rng(0).choice(names, 100_000, p=shares / shares.sum()).tolist())
    # next() of a list's iterator is atomic.
    return measure_on_threads(
        lambda: call(next(order)), callers=CALLERS, seconds=3 if quick else 10
    )


@contextmanager
def triton(**environment: str) -> Iterator[Callable[[], None]]:
    """Run Triton; yield a function that unloads the thread's model, loads and invokes another."""
    numbers, loaded, no_s3 = itertools.count(), local(), cast("S3Client", None)
    with TemporaryDirectory() as scratch:
        installation, backends_folder = find_triton(), Path(scratch, "backends")
        backends.install(installation, backends_folder)
        own_host = Host(installation, backends_folder, Path(scratch, "instances"), no_s3, 1)
        container = {
            "Mode": "MultiModel",
            "ModelDataUrl": "s3://none/",
            "Environment": {**QUIET, **environment},
        }
        server = start_server(own_host, "alone", VARIANT, {"PrimaryContainer": container})
        models = server.folder / "models"
        models_in_sandbox = path_in_sandbox(models, MODELS, isolated=installation.isolated)

        def request(method: str, path: str, content: object = None) -> None:
            response = server.triton.request(
                method,
                path,
                body=b"" if content is None else json.dumps(content).encode(),
                headers={"Content-Type": "application/json"},
                timeout=60,
            )
            assert response.status == 200, response.body

        def change_and_invoke() -> None:
            if previous := getattr(loaded, "name", None):
                request("DELETE", f"/models/{previous}")
                shutil.rmtree(models / previous)
            loaded.name = name = f"{next(numbers):032x}"
            shutil.copytree(ECHO, models / name / "model")
            url = str(models_in_sandbox / name / "model")
            request("POST", "/models", {"model_name": name, "url": url})
            request("POST", f"/models/{name}/invoke", {"inputs": [TENSOR]})

        try:
            server.triton.wait_until_healthy(60)
            with logs_of_failure(server.folder):
                yield change_and_invoke
        finally:
            server.end()
