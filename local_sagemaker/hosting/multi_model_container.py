"""A container in mode MultiModel, which loads models at their first invocation."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.archives import TooLargeError
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.connections import in_thread
from local_sagemaker.hosting.container import (
    Call,
    ModelStatus,
    ModelStep,
    ModelStepKind,
    Phase,
    Report,
)
from local_sagemaker.hosting.invocation import model_error
from local_sagemaker.hosting.model_store import ModelStore, model_hash
from local_sagemaker.hosting.triton import Triton

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
LOAD_SECONDS = 360
UNLOAD_SECONDS = 360
"""Timeout of an unload. Source: Triton's src/sagemaker_server.cc: "SageMaker waits a maximum of 360
seconds for the UNLOAD request"."""

ROOM_SECONDS = 10
"""How long a load waits for an unload before another model is unloaded too; our choice. An unload
usually takes 2 s, but up to `UNLOAD_SECONDS` for a model whose process was killed."""

# Triton has 8 HTTP threads (--sagemaker-thread-count), and a load blocks its thread: with 8
# concurrent loads, loaded models would not respond. SageMaker limits concurrent downloads and loads
# according to the instance's vCPUs (developer guide, "Set SageMaker AI multi-model endpoint model
# caching behavior"), without a documented number; half of the threads is our choice.
MAX_CONCURRENT_LOADS = 4


@dataclass
class _Model:
    """An invoked model. `since` is the start of its phase in Unix seconds.

    `calls` is the number of calls in progress, `answered` the number of completed calls. `task` is
    the load, which all calls await, and later the unload; `path` is the HTTP path of invocations.
    """

    path: str
    task: "asyncio.Task[None]" = field(init=False)
    calls: int = 0
    answered: int = 0
    phase: Phase = Phase.DOWNLOADING
    since: float = field(default_factory=time.time)

    def enter(self, phase: Phase) -> None:
        """Change the phase."""
        self.phase, self.since = phase, time.time()


class MultiModelContainer:
    """A multi-model container, which implements SageMaker's contract for multi-model endpoints.

    The contract is in the developer guide (GET /ping, POST /models, POST /models/{name}/invoke,
    DELETE /models/{name}).

    A model stays in memory and on disk until another model needs the space. `memory` is the limit
    of memory in bytes; the store has the limit of the volume. Then the least recently used models
    without a call in progress are unloaded. Source: developer guide, "Multi-model endpoints"
    (unused models are unloaded at high memory utilization, and deleted from a full volume) and the
    contract (a load with status 507 triggers unloading). The order of unloading, and waiting while
    all models are in use, have no source. If `caches` is False, a model is unloaded and deleted
    after each call. Source: "Set SageMaker AI multi-model endpoint model caching behavior".

    One event loop owns the models: `acquire` and `release` run in it, loads and unloads are its
    tasks, and waiting tasks check their condition after each change. Other threads only read.
    `path_in_sandbox` is the store's folder in the server's sandbox. `report` gets each step.
    """

    def __init__(
        self,
        triton: Triton,
        store: ModelStore,
        *,
        path_in_sandbox: Path,
        memory: int,
        caches: bool = True,
        load_seconds: float = LOAD_SECONDS,
        report: Report = lambda *_: None,
    ) -> None:
        self._triton, self._store, self._path_in_sandbox = triton, store, path_in_sandbox
        self._memory, self._caches, self._report = memory, caches, report
        self._load_seconds = load_seconds
        self._models: dict[str, _Model] = {}  # the least recently used first
        self._unloading: dict[str, _Model | None] = {}  # None: only its files are being deleted
        self._loading, self._is_exclusive = 0, False
        self._changed, self._making_room = asyncio.Event(), asyncio.Lock()

    def acquire(self, target_model: str | None) -> Call:
        """Count a call as in progress, and start the load of its model if necessary.

        Raise `ApiError` without a TargetModel.
        """
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        model = self._models.pop(target_model, None)
        if model is None:
            model = _Model(f"/models/{model_hash(target_model)}/invoke")
            model.task = asyncio.create_task(self._run_load(target_model, model))
            model.task.add_done_callback(_retrieve_exception)
        self._models[target_model] = model  # the most recently used
        model.calls += 1
        load = None if model.phase is Phase.LOADED else model.task
        return Call(model.path, target_model, load, model)

    def release(self, call: Call) -> None:
        """Count a call as completed; unload its model now if models are not cached."""
        call.model.calls -= 1
        call.model.answered += 1
        self._changed.set()
        if not self._caches and call.target_model in self._unused_models():
            self._begin_unload(str(call.target_model))

    @property
    def loaded_models(self) -> int:
        """The number of models in memory."""
        return sum(model.phase is Phase.LOADED for model in list(self._models.values()))

    @property
    def is_loading(self) -> bool:
        """Whether a load is in progress, which makes room for its model."""
        return bool(self._loading)

    @property
    def disk_bytes(self) -> int:
        """The size of its models on the volume."""
        return sum(self._store.sizes().values())

    def has(self, target_model: str | None) -> bool:
        """Return whether a model is loaded or loading."""
        return target_model in self._models

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were invoked and are not unloaded yet."""
        sizes = self._store.sizes()
        return [
            ModelStatus(
                target,
                model.phase,
                since=model.since,
                calls=model.calls,
                answered=model.answered,
                bytes=sizes.get(target, 0),
                folder=model_hash(target),
            )
            for models in (self._models, self._unloading)
            for target, model in list(models.items())
            if model
        ]

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def _run_load(self, target_model: str, model: _Model) -> None:
        try:
            await self._wait_until(lambda: target_model not in self._unloading)
            await self._load(target_model, model)
        except Exception as error:
            self._report(ModelStep(ModelStepKind.FAIL, target_model, reason=str(error)))
            del self._models[target_model]  # the next invocation tries again
            raise
        else:
            model.enter(Phase.LOADED)
        finally:
            self._changed.set()

    async def _load(self, target_model: str, model: _Model) -> None:
        async with self._load_slot():
            await self._download(target_model)
            model.enter(Phase.LOADING)
            self._report(ModelStep(ModelStepKind.LOADING, target_model))
            status, body = await self._try_load(target_model)
            is_concurrent = self._loading > 1
        if status == 507:
            async with self._load_slot(exclusive=True):  # concurrent loads need memory too
                if is_concurrent and not self.loaded_models:  # all other loads have failed too
                    status, body = await self._try_load(target_model)
                while status == 507 and await self._unload_when_unused(target_model):
                    status, body = await self._try_load(target_model)
        if status not in (200, 409):  # 409: already loaded
            raise model_error(status, body)

    @asynccontextmanager
    async def _load_slot(self, *, exclusive: bool = False) -> AsyncIterator[None]:
        """Limit the number of concurrent loads; if `exclusive`, wait until no other load runs."""
        await self._wait_until(
            lambda: not self._is_exclusive and (exclusive or self._loading < MAX_CONCURRENT_LOADS)
        )
        self._is_exclusive = exclusive
        await self._wait_until(lambda: not (exclusive and self._loading))
        self._loading += 1
        try:
            yield
        finally:
            self._loading -= 1
            self._is_exclusive = self._is_exclusive and not exclusive
            self._changed.set()

    async def _download(self, target_model: str) -> None:
        self._report(ModelStep(ModelStepKind.DOWNLOADING, target_model))
        while True:
            started = time.monotonic()
            try:
                downloaded = await self._store.fetch(target_model)
            except ApiError as error:
                too_large = error.__cause__
                if not isinstance(too_large, TooLargeError) or too_large.size > self._store.limit:
                    raise
                if not await self._delete_unused(target_model):
                    raise
            else:
                if downloaded:
                    self._report_completed(ModelStepKind.DOWNLOAD, target_model, started)
                return

    async def _try_load(self, target_model: str) -> tuple[int, bytes]:
        """Make room for the size of a model's files, and load the model. Return status and body.

        The real memory usage is only known after the load: a model that does not fit is unloaded
        again, and the status is 507, as if Triton had run out of memory.
        """
        await self._make_room(self._store.sizes()[target_model], target_model)
        url = self._path_in_sandbox / self._store.path(target_model)
        started = time.monotonic()
        status, body = await self._triton.connections.send_model_request(
            "POST",
            "/models",
            body=json.dumps({"model_name": model_hash(target_model), "url": str(url)}).encode(),
            headers={"Content-Type": "application/json", TARGET_MODEL: target_model},
            timeout=self._load_seconds,
        )
        if status == 200:
            self._report_completed(ModelStepKind.LOAD, target_model, started)
            if problem := await self._make_room(0, target_model):
                await self._send_unload(target_model)
                return 507, problem.encode()
        return status, body

    def _report_completed(
        self, step: ModelStepKind, target_model: str, started: float, **details: Any
    ) -> None:
        """Report a completed step."""
        seconds, size = time.monotonic() - started, self._store.sizes().get(target_model, 0)
        self._report(ModelStep(step, target_model, seconds, bytes=size, **details))

    async def _make_room(self, size: int, target_model: str) -> str | None:
        """Unload unused models until `size` bytes are free; return a message if they are not.

        Concurrent loads take turns, because an unload frees memory for all of them.
        """
        async with self._making_room:
            while (used := await in_thread(self._triton.resident_bytes)) + size > self._memory:
                if not await self._unload_unused(target_model):
                    return f"out of memory: {used // MIB} of {self._memory // MIB} MiB are used"
        return None

    async def _unload_when_unused(self, room_for: str) -> bool:
        """Wait for an unused model and unload it; return False if no model is loaded."""
        await self._wait_until(lambda: bool(self._unused_models()) or not self.loaded_models)
        return await self._unload_unused(room_for)

    async def _unload_unused(self, room_for: str) -> bool:
        """Unload the least recently used model without calls, or wait for unloads in progress.

        Return False if all models are in use. If models are cached, the files of an unloaded model
        stay on disk until the volume is full.
        """
        unloads = (
            [self._begin_unload(unused[0], room_for)]
            if (unused := self._unused_models())
            else [model.task for model in self._unloading.values() if model]
        )
        if unloads:
            await asyncio.wait(unloads, timeout=ROOM_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return bool(unloads)

    def _unused_models(self) -> list[str]:
        """Return the loaded models without calls, the least recently used first."""
        return [
            target
            for target, model in self._models.items()
            if model.phase is Phase.LOADED and not model.calls
        ]

    def _begin_unload(self, target_model: str, room_for: str | None = None) -> "asyncio.Task[None]":
        self._unloading[target_model] = model = self._models.pop(target_model)
        model.enter(Phase.UNLOADING)
        model.task = asyncio.create_task(self._unload(target_model, room_for))
        return model.task

    async def _unload(self, target_model: str, room_for: str | None) -> None:
        try:
            await self._send_unload(target_model, room_for)
            if not self._caches:
                await self._store.delete(target_model)
        finally:
            self._remove_unloading(target_model)

    async def _delete_unused(self, room_for: str) -> bool:
        """Delete the least recently used archive that is not loaded; without one, unload a model.

        Return False if all models are in use.
        """
        used_models = {*self._models, *self._unloading}
        target = next((stored for stored in self._store.sizes() if stored not in used_models), None)
        if target is None:
            return await self._unload_unused(room_for)
        self._unloading[target] = None
        await self._store.delete(target)
        self._remove_unloading(target)
        self._report(ModelStep(ModelStepKind.DELETE, target, room_for=room_for))
        return True

    def _remove_unloading(self, target_model: str) -> None:
        """Mark an unload as completed, so that a waiting load of the model can start."""
        del self._unloading[target_model]
        self._changed.set()

    async def _send_unload(self, target_model: str, room_for: str | None = None) -> None:
        started = time.monotonic()
        self._report(ModelStep(ModelStepKind.UNLOADING, target_model, room_for=room_for))
        try:
            await self._triton.connections.send_model_request(
                "DELETE",
                f"/models/{model_hash(target_model)}",
                headers={TARGET_MODEL: target_model},
                timeout=UNLOAD_SECONDS,
            )
        except TimeoutError:
            reason = f"its server did not unload it within {UNLOAD_SECONDS} s"
            self._report(ModelStep(ModelStepKind.FAIL, target_model, reason=reason))
        except OSError:
            pass  # the server has ended; the instance reports that
        else:
            self._report_completed(ModelStepKind.UNLOAD, target_model, started, room_for=room_for)


def _retrieve_exception(load: "asyncio.Task[None]") -> None:
    """Retrieve the exception of a load, because asyncio logs exceptions that nobody retrieves."""
    if not load.cancelled():
        load.exception()
