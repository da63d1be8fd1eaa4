"""Fakes of the server and the archives of an instance.

Fleets, instances and container modes are those of the local SageMaker.
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.copies import CopyHost
from local_sagemaker.hosting.instance import Instance, RunningServer
from local_sagemaker.hosting.multi_model_container import MultiModelContainer
from local_sagemaker.hosting.single_model_container import SingleModelContainer

NO_FOLDER = Path("/nonexistent")
_CALLS, _RUNNER = ThreadPoolExecutor(1), asyncio.Runner()
"""The thread of all calls and its event loop, because the main thread may run one."""


class FakeServer:
    """A fake of `Triton`; `start` is called for its health check, and may raise."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self.connections = self

    def wait_until_healthy(self, seconds: float) -> None:
        self._start()

    async def send_model_request(self, *_: Any, **__: Any) -> tuple[int, bytes]:
        return 200, b""

    def resident_by_folder(self) -> tuple[int, dict[str, int]]:
        return 0, {}

    def stop(self) -> None:
        pass


class FakeArchives:
    """A fake of `ModelStore`."""

    limit = 1

    def __init__(self, s3: Any, data: S3Prefix) -> None:
        self._s3, self._data = s3, data

    async def fetch(self, target_model: str) -> bool:
        key = f"{self._data.key}{target_model}"
        if not exists(self._s3, self._data.bucket, key):
            raise ApiError("ValidationError", f"Failed to download model data from {key}")
        return True

    def path(self, target_model: str) -> Path:
        return Path(target_model)

    def sizes(self) -> dict[str, int]:
        return defaultdict(int)


def start_component_server(variant: dict[str, Any]) -> RunningServer:
    """Replace `launch.start_server` for an instance of inference components."""
    copies: Any = CopyHost(f"i-{uuid.uuid4().hex[:17]}", variant)
    return RunningServer(copies, copies, NO_FOLDER, Capacity(memory=1, disk=1))


def start_server(s3: Any, start: Callable[[], None], model: dict[str, Any]) -> RunningServer:
    """Replace `launch.start_server` for an instance of a Model."""
    container, server = model["PrimaryContainer"], FakeServer(start)
    data = S3Prefix.parse(container["ModelDataUrl"])
    serving: Any = SingleModelContainer("text", "/invocations")
    if container["Mode"] == "MultiModel":
        store: Any = FakeArchives(s3, data)
        serving = MultiModelContainer(server, store, path_in_sandbox=NO_FOLDER, memory=1)  # type: ignore[arg-type]
    elif not exists(s3, data.bucket, data.key):
        raise LocalSageMakerError(f"Failed to download model data from {data.key}")
    return RunningServer(server, serving, NO_FOLDER / data.key, Capacity(memory=1, disk=1))  # type: ignore[arg-type]


def answering_archive(instance: Instance, target_model: str | None) -> str:
    """Return the archive that answers an invocation. Raise the local SageMaker's errors."""
    server = instance.healthy_server
    if server is None:
        raise LocalSageMakerError("no healthy instance")

    async def call() -> None:
        slot = server.container.acquire(target_model)
        try:
            if slot.load:
                await slot.load
        finally:
            server.container.release(slot)

    _CALLS.submit(_RUNNER.run, call()).result()
    return target_model or server.folder.name


def exists(s3: Any, bucket: str, key: str) -> bool:
    """Return whether an object exists."""
    return (bucket, key) in s3.objects
