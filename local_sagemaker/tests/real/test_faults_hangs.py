"""Models that hang, or that are unloaded inside the container.

The instance runs in the process of the test, which patches its timeouts.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting import backends, launch
from local_sagemaker.hosting import instance as instance_module
from local_sagemaker.hosting.instance import TIMEOUT_MESSAGE, Instance
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.hosting.launch import Host
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.tests.support.fake_s3 import FakeS3
from local_sagemaker.tests.support.tiny_models import Barrier, pack_python, times
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS

BUCKET = "shop-models"
UNLOAD = "pb_utils.unload_model('twice.tar.gz')"
SHORT_TIMEOUT_SECONDS = 0.5


class Caller:
    """A client of one instance, with an event loop on another thread."""

    def __init__(self, instance: Instance) -> None:
        self._instance, self._loop = instance, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def start_call(self, model: str) -> "Future[float]":
        """Invoke a model with the input 7."""
        return asyncio.run_coroutine_threadsafe(self._ask(model), self._loop)

    def ask(self, model: str) -> float:
        return self.start_call(model).result(TIMEOUT_SECONDS)

    def failure(self, model: str) -> tuple[int, str, str]:
        """Return status, code and message of a failing invocation."""
        with pytest.raises(ApiError) as raised:
            self.ask(model)
        return raised.value.status, raised.value.code, raised.value.message

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _ask(self, model: str) -> float:
        tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
        body = json.dumps({"inputs": [tensor]}).encode()
        answer = bytearray()

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            answer.extend(message.get("body", b""))

        headers = {
            b"content-length": str(len(body)).encode(),
            b"content-type": b"application/json",
            b"x-amzn-sagemaker-target-model": f"{model}.tar.gz".encode(),
        }
        invocation = Invocation(headers, receive, send)
        await invocation.receive()
        await self._instance.invoke(invocation)
        return float(json.loads(answer)["outputs"][0]["data"][0])


@pytest.fixture(scope="module")
def bucket() -> FakeS3:
    return FakeS3()


@pytest.fixture(scope="module")
def upload(bucket: FakeS3, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], None]:
    def upload(model: str, code: str) -> None:
        archive = pack_python(tmp_path_factory.mktemp("models") / model, code)
        bucket.objects[BUCKET, f"{model}.tar.gz"] = archive

    return upload


@pytest.fixture(scope="module")
def caller(
    bucket: FakeS3,
    upload: Callable[[str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Caller]:
    """A caller of a multi-model instance; the model `twice` is loaded."""
    live = {"SAGEMAKER_TRITON_PING_MODE": "live"}
    with caller_of(bucket, tmp_path_factory.mktemp("instance"), live) as caller:
        upload("twice", times(2))
        assert caller.ask("twice") == 14
        yield caller


@contextmanager
def caller_of(
    bucket: FakeS3, root: Path, environment: dict[str, str], **options: Any
) -> Iterator[Caller]:
    """Run a multi-model instance with a container of this environment; yield its caller."""
    installation, s3 = find_triton(), cast("Any", bucket)
    backends.install(installation, root / "backends")
    host = Host(installation, root / "backends", root / "instances", s3, max_processes=1, **options)
    container = {
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{BUCKET}/",
        "Environment": environment,
    }
    variant = {"VariantName": "AllTraffic", "InstanceType": "ml.m5.xlarge"}
    start_server = partial(
        launch.start_server, host, "many", variant, {"PrimaryContainer": container}
    )
    instance = Instance("AllTraffic", start_server)
    instance.start()
    instance.wait_until_healthy(TIMEOUT_SECONDS)
    caller = Caller(instance)
    yield caller
    instance.stop()
    caller.close()


@contextmanager
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Shorten the invocation timeout inside the with block."""
    with monkeypatch.context() as patch:
        patch.setattr(instance_module, "INVOKE_SECONDS", SHORT_TIMEOUT_SECONDS)
        yield


def test_hanging_invocation_times_out(
    caller: Caller,
    upload: Callable[[str, str], None],
    new_barrier: Callable[[], Barrier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    barrier = new_barrier()
    upload("hangs", barrier.stops(3, at="execute"))
    first = caller.start_call("hangs")
    barrier.wait_until_reached()
    assert caller.ask("twice") == 14
    with short_timeout(monkeypatch):
        status, code, message = caller.failure("hangs")
    assert (status, code) == (424, "ModelError")
    assert message == (
        f'Received server error (0) from primary with message "{TIMEOUT_MESSAGE.decode()}"'
    )
    assert caller.ask("twice") == 14
    barrier.open()
    assert first.result(TIMEOUT_SECONDS) == 21
    assert caller.ask("hangs") == 21


def test_hanging_load_is_not_ready(
    caller: Caller,
    upload: Callable[[str, str], None],
    new_barrier: Callable[[], Barrier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    barrier = new_barrier()
    upload("loads", barrier.stops(4, at="initialize"))
    with short_timeout(monkeypatch):
        status, code, message = caller.failure("loads")
    assert (status, code) == (429, "ModelNotReadyException")
    assert message == "Model loads.tar.gz is not ready for inference: it is still loading. Retry."
    barrier.wait_until_reached()
    assert caller.ask("twice") == 14
    again = caller.start_call("loads")
    barrier.open()
    assert again.result(TIMEOUT_SECONDS) == 28


def test_model_that_another_model_unloads_is_loaded_again(
    caller: Caller, upload: Callable[[str, str], None]
) -> None:
    upload("unloads", times(5, execute=UNLOAD))
    assert caller.ask("unloads") == 35
    status, code, message = caller.failure("twice")
    assert (status, code) == (424, "ModelError")
    assert "model 'twice.tar.gz' is not found" in message
    assert caller.ask("twice") == 14
