"""A container in mode MultiModel: models are loaded when they are first asked for."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.archives import TooLargeError
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import Call, ModelStatus, ModelStep, Phase, Report, Step
from local_sagemaker.hosting.container_response import model_error
from local_sagemaker.hosting.model_store import ModelStore, name
from local_sagemaker.hosting.triton import Response, Triton

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
LOAD_SECONDS = 360
UNLOAD_SECONDS = 360
"""Source: Triton's src/sagemaker_server.cc: "SageMaker waits a maximum of 360 seconds for the
UNLOAD request"."""

ROOM_SECONDS = 10
"""How long a load waits for the room that an unload makes, before another model goes, too: our
choice. Triton takes 2 s, but as long as it may for a model whose process was killed."""

# Triton answers its connections on 8 threads (--sagemaker-thread-count), and a load holds its
# thread until it ends: with 8 loads at once no loaded model would answer. SageMaker limits how many
# models are downloaded and loaded at once by the instance's vCPUs (developer guide, "Set SageMaker
# AI multi-model endpoint model caching behavior"), to how many is not said: half of the threads is
# our choice.
LOADS_AT_ONCE = 4


@dataclass
class _Model:
    """A model that was called: its load, which all calls share, and the calls in progress.

    It is in its phase since a time in Unix seconds.
    """

    load: Future[None] = field(default_factory=Future)
    calls: int = 0
    answered: int = 0
    phase: Phase = Phase.DOWNLOADING
    since: float = field(default_factory=time.time)

    @property
    def loaded(self) -> bool:
        """Whether it is in memory, and not about to leave it."""
        return self.phase is Phase.LOADED

    def enter(self, phase: Phase) -> None:
        """Enter a phase."""
        self.phase, self.since = phase, time.time()


@dataclass(frozen=True)
class _ModelCall(Call):
    model: _Model


class MultiModelContainer:
    """Keeps the contract between SageMaker and a multi-model container.

    Source: the developer guide's container contract for multi-model endpoints (GET /ping,
    POST /models, POST /models/{name}/invoke, DELETE /models/{name}).

    Models stay in memory and on disk until there is no room for another one: `memory` is in bytes,
    the store knows how much disk there is. Then those without a call in progress go, the least
    recently used first. Source: developer guide, "Multi-model endpoints" (unused models are
    unloaded when the memory's utilisation is high, and deleted when the volume is full) and the
    container contract (a load that is answered with 507 starts it). Which of the unused ones go
    first is not said there, nor what happens while all are in use: a load waits for one here.
    Unless the container `caches`, a model goes after each call, from disk too. Source: "Set
    SageMaker AI multi-model endpoint model caching behavior".

    Loads queue for `LOADS_AT_ONCE` threads. `seen_at` is where the server has the store's folder.
    `report` gets each step.
    """

    def __init__(
        self,
        triton: Triton,
        store: ModelStore,
        *,
        seen_at: Path,
        memory: int,
        caches: bool = True,
        load_seconds: float = LOAD_SECONDS,
        report: Report = lambda *_: None,
    ) -> None:
        self._triton, self._store, self._seen_at = triton, store, seen_at
        self._memory, self._caches, self._report = memory, caches, report
        self._load_seconds = load_seconds
        self._loads = ThreadPoolExecutor(LOADS_AT_ONCE)
        self._weighing = threading.Lock()
        self._changed = threading.Condition()  # guards what follows
        self._models: dict[str, _Model] = {}  # the least recently used first
        self._leaving: dict[str, _Model | None] = {}  # None: from the volume alone
        self._loading, self._alone = 0, False

    def acquire(self, target_model: str | None) -> Call:
        """Count a call as in progress, and queue the load of its model unless it is there.

        Raise `ApiError` without a TargetModel.
        """
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        with self._changed:
            model = self._models.pop(target_model, None)
            if model is None:
                model = _Model()
                model.load = self._loads.submit(self._run_load, target_model, model)
            self._models[target_model] = model  # the most recently used
            model.calls += 1
        load = None if model.loaded else model.load
        return _ModelCall(f"/models/{name(target_model)}/invoke", target_model, load, model)

    def release(self, call: Call) -> None:
        """Count a call as answered; its model goes now if none is cached."""
        assert isinstance(call, _ModelCall)
        with self._changed:
            call.model.calls -= 1
            call.model.answered += 1
            self._changed.notify_all()
        if not self._caches:
            self._loads.submit(self._unload_unused, call.target_model)

    @property
    def loaded_models(self) -> int:
        """How many models are in memory."""
        with self._changed:
            return sum(model.loaded for model in self._models.values())

    @property
    def disk_bytes(self) -> int:
        """The bytes of its models on the volume."""
        return self._store.used()

    def has(self, target_model: str | None) -> bool:
        """Whether a model is loaded, or being loaded."""
        return target_model in self._models

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were called and have not been unloaded."""
        sizes = self._store.sizes()
        with self._changed:
            return [
                ModelStatus(
                    target,
                    model.phase,
                    since=model.since,
                    calls=model.calls,
                    answered=model.answered,
                    bytes=sizes.get(target, 0),
                    folder=name(target),
                )
                for models in (self._models, self._leaving)
                for target, model in models.items()
                if model
            ]

    def _run_load(self, target_model: str, model: _Model) -> None:
        try:
            with self._changed:
                self._changed.wait_for(lambda: target_model not in self._leaving)
            self._load(target_model, model)
        except Exception as error:
            self._report(ModelStep(Step.FAIL, target_model, why=str(error)))
            with self._changed:  # the next invocation tries again
                del self._models[target_model]
                self._changed.notify_all()
            raise
        with self._changed:
            model.enter(Phase.LOADED)
            self._changed.notify_all()

    def _load(self, target_model: str, model: _Model) -> None:
        with self._turn():
            self._download(target_model)
            model.enter(Phase.LOADING)
            self._report(ModelStep(Step.LOADING, target_model))
            response = self._try_load(target_model)
        if response.status == 507:
            with self._turn(alone=True):  # what is loaded beside it takes memory too
                while response.status == 507 and self._unload_when_unused(target_model):
                    response = self._try_load(target_model)
        if response.status not in (200, 409):  # 409: it is loaded already
            raise model_error(response.status, response.body)

    @contextmanager
    def _turn(self, *, alone: bool = False) -> Iterator[None]:
        """Wait until no load is `alone`; if this one is, until there is no other either."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._alone = alone
            self._changed.wait_for(lambda: not (alone and self._loading))
            self._loading += 1
        try:
            yield
        finally:
            with self._changed:
                self._loading -= 1
                self._alone = self._alone and not alone
                self._changed.notify_all()

    def _download(self, target_model: str) -> None:
        self._report(ModelStep(Step.DOWNLOADING, target_model))
        while True:
            begun = time.monotonic()
            try:
                downloaded = self._store.fetch(target_model)
            except ApiError as error:
                too_large = error.__cause__
                if not isinstance(too_large, TooLargeError) or too_large.size > self._store.limit:
                    raise
                if not self._delete_unused(target_model):
                    raise
            else:
                if downloaded:
                    self._took(Step.DOWNLOAD, target_model, begun)
                return

    def _try_load(self, target_model: str) -> Response:
        """Load a model into memory, after making room for what its files say it takes.

        One that takes more than there is is unloaded and answered as Triton answers what does not
        fit: how much a model takes is known only once it is loaded.
        """
        self._make_room(self._store.size(target_model), target_model)
        url = self._seen_at / self._store.path(target_model)
        begun = time.monotonic()
        response = self._triton.manage(
            "POST",
            "/models",
            body=json.dumps({"model_name": name(target_model), "url": str(url)}).encode(),
            headers={"Content-Type": "application/json", TARGET_MODEL: target_model},
            timeout=self._load_seconds,
        )
        if response.status == 200:
            self._took(Step.LOAD, target_model, begun)
        if response.status == 200 and (beyond := self._make_room(0, target_model)):
            self._delete(target_model)
            return Response(507, {}, beyond.encode())
        return response

    def _took(self, step: Step, target_model: str, begun: float, **more: Any) -> None:
        """Report a step that has succeeded."""
        seconds, size = time.monotonic() - begun, self._store.sizes().get(target_model, 0)
        self._report(ModelStep(step, target_model, seconds, bytes=size, **more))

    def _make_room(self, size: int, target_model: str) -> str | None:
        """Unload unused models until `size` bytes are left; return what is wrong if they are not.

        One at a time, since what one load unloads makes room for the others too.
        """
        with self._weighing:
            while (used := self._triton.resident_bytes()) + size > self._memory:
                if not self._unload_unused(room_for=target_model):
                    return f"out of memory: {used // MIB} of {self._memory // MIB} MiB are used"
        return None

    def _unload_when_unused(self, room_for: str) -> bool:
        """Unload a model as soon as one is unused; return False if none is loaded."""

        def calls() -> list[int]:
            return [model.calls for model in self._models.values() if model.loaded]

        while not self._unload_unused(room_for=room_for):
            with self._changed:
                self._changed.wait_for(lambda: not all(calls()) or not calls())
                if not calls():
                    return False
        return True

    def _unload_unused(self, only: str | None = None, *, room_for: str | None = None) -> bool:
        """Unload the least recently used model without a call; return False if there is none.

        Its files stay on disk if models are cached, until the volume is full.
        """
        with self._changed:
            unused = (
                target
                for target, model in self._models.items()
                if model.loaded and not model.calls and only in (None, target)
            )
            target = next(unused, None)
            if target is None:
                return False
            self._leaving[target] = model = self._models.pop(target)
            model.enter(Phase.UNLOADING)
        unloading = threading.Thread(target=self._unload, args=(target, room_for), daemon=True)
        unloading.start()
        unloading.join(ROOM_SECONDS)
        return True

    def _unload(self, target_model: str, room_for: str | None) -> None:
        try:
            self._delete(target_model, room_for)
            if not self._caches:
                self._store.forget(target_model)
        finally:
            self._leave(target_model)

    def _delete_unused(self, room_for: str) -> bool:
        """Delete the least recently used archive without a model; return False if there is none."""
        with self._changed:
            used = {*self._models, *self._leaving}
            target = next((name for name in self._store.targets() if name not in used), None)
            if target:
                self._leaving[target] = None
        if target is None:
            return self._unload_unused(room_for=room_for)
        self._store.forget(target)
        self._leave(target)
        self._report(ModelStep(Step.DELETE, target, room_for=room_for))
        return True

    def _leave(self, target_model: str) -> None:
        """Let a load of a model begin that waits for its unload."""
        with self._changed:
            del self._leaving[target_model]
            self._changed.notify_all()

    def _delete(self, target_model: str, room_for: str | None = None) -> None:
        begun = time.monotonic()
        self._report(ModelStep(Step.UNLOADING, target_model, room_for=room_for))
        try:
            self._triton.manage(
                "DELETE",
                f"/models/{name(target_model)}",
                headers={TARGET_MODEL: target_model},
                timeout=UNLOAD_SECONDS,
            )
        except TimeoutError:
            why = f"its server did not unload it within {UNLOAD_SECONDS} s"
            self._report(ModelStep(Step.FAIL, target_model, why=why))
        except OSError:
            pass  # it went with its server, whose end is told
        else:
            self._took(Step.UNLOAD, target_model, begun, room_for=room_for)
