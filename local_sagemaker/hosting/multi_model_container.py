"""A container in mode MultiModel: models are loaded when they are first asked for."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.archives import TooLargeError
from local_sagemaker.hosting.capacity import MIB
from local_sagemaker.hosting.container import Call, ModelStatus, ModelStep, Phase, Report, Step
from local_sagemaker.hosting.invocation import model_error
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
    """A model that was asked for: the one load that all wait for, and the calls under way.

    It is in its phase since a time of the clock.
    """

    load: Future[None]
    calls: int = 0
    answered: int = 0
    phase: Phase = Phase.DOWNLOADING
    since: float = field(default_factory=time.time)

    @property
    def loaded(self) -> bool:
        """Whether it is in memory, and not about to leave it."""
        return self.phase is Phase.LOADED

    def enter(self, phase: Phase) -> None:
        """Be in a phase from now on."""
        self.phase, self.since = phase, time.time()


@dataclass(frozen=True)
class _ModelCall(Call):
    model: _Model


class MultiModelContainer:
    """Keeps the contract between SageMaker and a multi-model container.

    Source: the developer guide's container contract for multi-model endpoints (GET /ping,
    POST /models, POST /models/{name}/invoke, DELETE /models/{name}).

    Models stay in memory and on disk until there is no room for another one: `memory` is in bytes,
    the store knows how much disk there is. Then those without a call under way go, the least
    recently used first. Source: developer guide, "Multi-model endpoints" (unused models are
    unloaded when the memory's utilisation is high, and deleted when the volume is full) and the
    container contract (a load that is answered with 507 starts it). Which of the unused ones go
    first is not said there, nor what happens while all are in use: a load waits for one here.
    Unless the container `caches`, a model goes after each call, from disk too. Source: "Set
    SageMaker AI multi-model endpoint model caching behavior".

    `seen_at` is where the server finds the store's folder. `report` is told of each step.
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
        self._changed = threading.Condition()
        self._weighing, self._alone = threading.Lock(), threading.Lock()
        self._loading = threading.BoundedSemaphore(LOADS_AT_ONCE)
        self._models: dict[str, _Model] = {}  # the least recently used first
        self._unloads: dict[str, Future[None]] = {}  # those under way
        self._unloading: dict[str, _Model] = {}

    def begin(self, target_model: str | None) -> Call:
        """Count a call as under way, and begin to load its model unless it is there.

        Raises `ApiError` without a TargetModel.
        """
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        with self._changed:
            model = self._models.pop(target_model, None) or self._begin_load(target_model)
            self._models[target_model] = model  # the most recently used
            model.calls += 1
        load = None if model.loaded else model.load
        return _ModelCall(f"/models/{name(target_model)}/invoke", target_model, load, model)

    def end(self, call: Call) -> None:
        """Count a call as answered; its model goes now if none is cached."""
        assert isinstance(call, _ModelCall)
        with self._changed:
            call.model.calls -= 1
            call.model.answered += 1
            if not call.model.calls:
                self._changed.notify_all()
        if not self._caches:
            unload = threading.Thread(target=self._unload_called, args=(call.target_model,))
            unload.daemon = True
            unload.start()

    @property
    def loaded_models(self) -> int:
        """How many models are in memory."""
        with self._changed:
            return sum(it.loaded for it in self._models.values())

    @property
    def disk_bytes(self) -> int:
        """What its models take of the volume."""
        return self._store.used()

    def has(self, target_model: str | None) -> bool:
        """Whether a model is loaded, or being loaded."""
        return target_model in self._models

    def statuses(self) -> list[ModelStatus]:
        """Return the models that were asked for and have not been unloaded."""
        sizes = self._store.sizes()
        with self._changed:
            return [
                ModelStatus(
                    target,
                    it.phase,
                    since=it.since,
                    calls=it.calls,
                    answered=it.answered,
                    bytes=sizes.get(target, 0),
                    folder=name(target),
                )
                for models in (self._models, self._unloading)
                for target, it in models.items()
            ]

    def _begin_load(self, target_model: str) -> _Model:
        model, unload = _Model(Future()), self._unloads.get(target_model)
        arguments = (target_model, model, unload)
        threading.Thread(target=self._run_load, args=arguments, daemon=True).start()
        return model

    def _run_load(self, target_model: str, model: _Model, unload: Future[None] | None) -> None:
        try:
            if unload:
                wait([unload])
            self._load(target_model, model)
        except Exception as error:
            self._report(ModelStep(Step.FAIL, target_model, why=str(error)))
            with self._changed:  # the next invocation tries again
                del self._models[target_model]
                self._changed.notify_all()
            model.load.set_exception(error)
        else:
            with self._changed:
                model.enter(Phase.LOADED)
                self._changed.notify_all()
            model.load.set_result(None)

    def _load(self, target_model: str, model: _Model) -> None:
        with self._loading:
            self._download(target_model)
            model.enter(Phase.LOADING)
            self._report(ModelStep(Step.LOADING, target_model))
            response = self._try_load(target_model)
        if response.status == 507:
            with self._no_other_load():
                while response.status == 507 and self._unload_when_unused(target_model):
                    response = self._try_load(target_model)
        if response.status not in (200, 409):  # 409: it is loaded already
            raise model_error(response.status, response.body)

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

    @contextmanager
    def _no_other_load(self) -> Iterator[None]:
        """Wait until nothing else is being loaded: what is beside it takes memory too."""
        with self._alone:
            for _ in range(LOADS_AT_ONCE):
                self._loading.acquire()
            try:
                yield
            finally:
                self._loading.release(LOADS_AT_ONCE)

    def _unload_called(self, target_model: str) -> None:
        with self._loading:
            self._unload_unused(target_model)

    def _unload_when_unused(self, room_for: str) -> bool:
        """Unload a model as soon as one is unused; False if none is loaded."""

        def loaded() -> list[_Model]:
            return [it for it in self._models.values() if it.loaded]

        while not self._unload_unused(room_for=room_for):
            with self._changed:
                self._changed.wait_for(lambda: not all(it.calls for it in loaded()) or not loaded())
                if not loaded():
                    return False
        return True

    def _unload_unused(self, only: str | None = None, *, room_for: str | None = None) -> bool:
        """Take the least recently used model that nobody uses out of memory; False if none is.

        Its files stay on disk if models are cached, until the volume is full.
        """

        def unused() -> Iterator[str]:
            for target, model in self._models.items():
                if model.loaded and not model.calls and only in (None, target):
                    yield target

        with ExitStack() as stack:
            target = stack.enter_context(self._leaving(unused))
            if target is None:
                return False
            left = stack.pop_all()

        def unload() -> None:
            with left:
                self._delete(target, room_for)
                if not self._caches:
                    self._store.forget(target)

        unloading = threading.Thread(target=unload, daemon=True)
        unloading.start()
        unloading.join(ROOM_SECONDS)
        return True

    def _delete_unused(self, room_for: str) -> bool:
        """Delete the least recently used archive that nobody uses; False if there is none."""

        def unused() -> Iterator[str]:
            for target in self._store.targets():
                if target not in self._models and target not in self._unloads:
                    yield target

        with self._leaving(unused) as target:
            if target:
                self._store.forget(target)
                self._report(ModelStep(Step.DELETE, target, room_for=room_for))
        return bool(target) or self._unload_unused(room_for=room_for)

    @contextmanager
    def _leaving(self, unused: Callable[[], Iterator[str]]) -> Iterator[str | None]:
        """Give the first unused model; a load of it waits until the block has ended."""
        left = Future[None]()
        with self._changed:
            target = next(unused(), None)
            if target:
                if model := self._models.pop(target, None):
                    model.enter(Phase.UNLOADING)
                    self._unloading[target] = model
                self._unloads[target] = left
        try:
            yield target
        finally:
            if target:
                with self._changed:
                    del self._unloads[target]
                    self._unloading.pop(target, None)
                left.set_result(None)

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
