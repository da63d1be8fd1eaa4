"""A container in mode MultiModel, which loads models at their first invocation."""

import asyncio
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.archives import TooLargeError
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.connections import in_thread
from local_sagemaker.hosting.container import (
    Call,
    ModelStatus,
    ModelStep,
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

MEASURE_SECONDS = 0.25
"""Interval of measuring the memory while a load waits for room; a measurement takes about 10 ms."""

# Each load and each unload blocks one of Triton's HTTP threads (see `Connections`); an unload takes
# 2 s in which it only polls. SageMaker limits concurrent downloads and loads according to the vCPUs
# (developer guide, "Set SageMaker AI multi-model endpoint model caching behavior"), without a
# documented number; the numbers here are our choice. More loads would not be faster: Triton
# initialises one model at a time, under a lock (triton-inference-server/core, src/backend_model.cc,
# DLIS-4300), for 1.6 s of a Python model whose configuration it completes.
# `--disable-auto-complete-config` in SAGEMAKER_TRITON_ADDITIONAL_ARGS avoids that.
MAX_CONCURRENT_UNLOADS = 5
MAX_CONCURRENT_LOADS = max(2, min(4, os.cpu_count() or 1))
MAX_PREPARED = MAX_CONCURRENT_LOADS + 3
"""Number of loads that download an archive, wait for memory, or load. Memory is kept free for
them: more would leave less for loaded models."""


@dataclass
class _Model:
    """An invoked model. `since` is the start of its phase in Unix seconds.

    `calls` is the number of calls in progress, `answered` the number of completed calls. `task` is
    the load, which all calls await, and later the unload; `path` is the HTTP path of invocations.
    `had_process` is whether processes of its own were measured.
    """

    path: str
    task: "asyncio.Task[None]" = field(init=False)
    calls: int = 0
    answered: int = 0
    had_process: bool = False
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
        self._requests = Counter[str]()  # model requests in progress by HTTP method
        self._waiting: dict[str, int] = {}  # loads that wait for room, with the size of their files
        self._sent: dict[str, int] = {}  # loads that Triton runs, likewise
        self._changed, self._measuring = asyncio.Event(), asyncio.Lock()
        self._memory_changes = self._measured_changes = 0
        self._measured, self._measured_at = (0, dict[str, int]()), 0.0

    def acquire(self, target_model: str | None) -> Call:
        """Count a call as in progress, and start the load of its model if necessary.

        Raise `ApiError` without a TargetModel.
        """
        if not target_model:
            # Source of the message: aws/sagemaker-tensorflow-serving-container#166.
            message = f"Request {uuid.uuid4()} is missing a target model header"
            raise ApiError("ValidationError", message)
        model = self._models.pop(target_model, None)
        if model is None:
            model = _Model(f"/models/{model_hash(target_model)}/invoke")
            model.task = asyncio.create_task(self._run_load(target_model, model))
            model.task.add_done_callback(_retrieve_exception)
        self._models[target_model] = model  # the most recently used
        model.calls += 1
        load = None if model.phase is Phase.LOADED else model.task
        return Call(model.path, target_model, load, model)

    def release(self, call: Call, *, unloaded: bool = False) -> None:
        """Count a call as completed; unload its model now if models are not cached.

        A model that was unloaded inside the container is unloaded here too: the next call loads it.
        That SageMaker does so has no source.
        """
        call.model.calls -= 1
        call.model.answered += 1
        self._changed.set()
        if (unloaded or not self._caches) and call.target_model in self._unused_models():
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
            self._report(ModelStep(EventKind.MODEL_FAILED, target_model, reason=str(error)))
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
            self._report(ModelStep(EventKind.MODEL_LOADING, target_model))
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
        """Limit the number of prepared loads; if `exclusive`, wait until there is no other load."""
        await self._wait_until(
            lambda: not self._is_exclusive and (exclusive or self._loading < MAX_PREPARED)
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
        self._report(ModelStep(EventKind.MODEL_DOWNLOADING, target_model))
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
                    self._report_completed(EventKind.MODEL_DOWNLOADED, target_model, started)
                return

    async def _try_load(self, target_model: str) -> tuple[int, bytes]:
        """Make room for a model, and load it. Return status and body.

        The real memory usage is only known after the load: a model that does not fit is unloaded
        again, and the status is 507, as if Triton had run out of memory.
        """
        size = self._store.sizes()[target_model]
        self._waiting[target_model] = size
        try:
            await self._make_room(target_model)
            self._sent[target_model] = size
        finally:
            del self._waiting[target_model]
        url = self._path_in_sandbox / self._store.path(target_model)
        try:
            async with self._model_request("POST", MAX_CONCURRENT_LOADS):
                started = time.monotonic()
                status, body = await self._triton.connections.send_model_request(
                    "POST",
                    "/models",
                    body=json.dumps(
                        {"model_name": model_hash(target_model), "url": str(url)}
                    ).encode(),
                    headers={"Content-Type": "application/json", TARGET_MODEL: target_model},
                    timeout=self._load_seconds,
                )
        finally:
            del self._sent[target_model]
            self._memory_changes += 1
        if status == 200:
            self._report_completed(EventKind.MODEL_LOADED, target_model, started)
            if problem := await self._make_room(target_model):
                await self._send_unload(target_model)
                return 507, problem.encode()
        return status, body

    @asynccontextmanager
    async def _model_request(self, method: str, limit: int) -> AsyncIterator[None]:
        """Wait until another load or unload may begin."""
        await self._wait_until(lambda: self._requests[method] < limit)
        self._requests[method] += 1
        try:
            yield
        finally:
            self._requests[method] -= 1
            self._changed.set()

    def _report_completed(
        self, step: EventKind, target_model: str, started: float, **details: Any
    ) -> None:
        """Report a completed step."""
        seconds, size = time.monotonic() - started, self._store.sizes().get(target_model, 0)
        self._report(ModelStep(step, target_model, seconds, bytes=size, **details))

    async def _make_room(self, target_model: str) -> str | None:
        """Unload unused models until a waiting or loaded model has room, or return a message.

        Waiting loads get room in their order, but unloads for all of them run in parallel.
        """
        self._memory_changes += 1
        while True:
            used, by_model = await self._measure()
            needs = self._needs(by_model)
            rank = list(self._waiting).index(target_model) if target_model in self._waiting else -1
            sent, waiting = needs[: len(self._sent)], needs[len(self._sent) :]
            free = self._memory - used - (sum(sent) if rank >= 0 else 0)
            if free >= sum(waiting[: rank + 1]):
                return None
            self._begin_unloads(sum(waiting) - free, by_model, room_for=target_model)
            waits_for_loads = rank > 0 or (rank == 0 and sent)
            if not waits_for_loads and not any(self._unloading.values()):
                return f"out of memory: {used // MIB} of {self._memory // MIB} MiB are used"
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(MEASURE_SECONDS):
                    await self._changed.wait()

    def _needs(self, by_model: Mapping[str, int]) -> list[int]:
        """Return how many bytes each sent, then each waiting load is still expected to need.

        A model that was never loaded is expected to need as much as an average loaded one.
        """
        sizes = [by_model.get(target, 0) for target in self._models if target not in self._sent]
        measured = [size for size in sizes if size]
        average = sum(measured) // len(measured) if measured else 0
        return [
            max(0, max(size, average) - by_model.get(target, 0))
            for loads in (self._sent, self._waiting)
            for target, size in loads.items()
        ]

    def _begin_unloads(self, missing: int, by_model: Mapping[str, int], *, room_for: str) -> None:
        """Begin unloads of unused models that free `missing` bytes with those in progress.

        An unload that takes longer than `ROOM_SECONDS` does not count. The memory of a model
        without a process of its own is not known: its unload is expected to free enough.
        """
        unloading = [
            (target, model)
            for target, model in self._unloading.items()
            if model and model.since > time.time() - ROOM_SECONDS
        ]
        for unused in self._unused_models():
            freed = sum(
                by_model.get(target, 0) if model.had_process else missing
                for target, model in unloading
            )
            if freed >= missing or len(unloading) >= MAX_CONCURRENT_UNLOADS:
                return
            unloading.append((unused, self._models[unused]))
            self._begin_unload(unused, room_for)

    async def _measure(self) -> tuple[int, dict[str, int]]:
        """Return the memory of Triton and of each model in bytes.

        Measured again after each change, and after `MEASURE_SECONDS`: the memory of a model is free
        before Triton has answered its unload.
        """
        async with self._measuring:
            changes, known = self._memory_changes, {**self._models, **self._unloading}
            is_old = time.monotonic() > self._measured_at + MEASURE_SECONDS
            if is_old or self._measured_changes != changes:
                used, sizes = await in_thread(self._triton.resident_by_folder)
                by_model = {
                    target: size for target in known if (size := sizes.get(model_hash(target)))
                }
                for target in by_model:
                    if model := known[target]:
                        model.had_process = True
                self._measured, self._measured_changes = (used, by_model), changes
                self._measured_at = time.monotonic()
        return self._measured

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
        self._report(ModelStep(EventKind.MODEL_DELETED, target, room_for=room_for))
        return True

    def _remove_unloading(self, target_model: str) -> None:
        """Mark an unload as completed, so that a waiting load of the model can start."""
        del self._unloading[target_model]
        self._memory_changes += 1
        self._changed.set()

    async def _send_unload(self, target_model: str, room_for: str | None = None) -> None:
        self._report(ModelStep(EventKind.MODEL_UNLOADING, target_model, room_for=room_for))
        try:
            async with self._model_request("DELETE", MAX_CONCURRENT_UNLOADS):
                started = time.monotonic()
                await self._triton.connections.send_model_request(
                    "DELETE",
                    f"/models/{model_hash(target_model)}",
                    headers={TARGET_MODEL: target_model},
                    timeout=UNLOAD_SECONDS,
                )
        except TimeoutError:
            reason = f"its server did not unload it within {UNLOAD_SECONDS} s"
            self._report(ModelStep(EventKind.MODEL_FAILED, target_model, reason=reason))
        except OSError:
            pass  # the server has ended; the instance reports that
        else:
            self._report_completed(
                EventKind.MODEL_UNLOADED, target_model, started, room_for=room_for
            )


def _retrieve_exception(load: "asyncio.Task[None]") -> None:
    """Retrieve the exception of a load, because asyncio logs exceptions that nobody retrieves."""
    if not load.cancelled():
        load.exception()
