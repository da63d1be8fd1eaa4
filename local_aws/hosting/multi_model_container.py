"""A container in mode MultiModel: models are loaded when they are first asked for."""

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from local_aws.errors import ApiError
from local_aws.hosting import archives, stand_in_packages
from local_aws.hosting.capacity import MIB, Capacity
from local_aws.hosting.container import Call
from local_aws.hosting.invocation import model_error
from local_aws.hosting.triton import Response, Triton

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
LOAD_SECONDS = 360
UNLOAD_SECONDS = 360

# Triton answers its connections on 8 threads (--sagemaker-thread-count), and a load holds its
# thread until it ends: with 8 loads at once no loaded model would answer. SageMaker limits how many
# models are downloaded and loaded at once by the instance's vCPUs (developer guide, "Set SageMaker
# AI multi-model endpoint model caching behavior"), to how many is not said: half of the threads is
# our choice.
LOADS_AT_ONCE = 4


@dataclass(frozen=True)
class S3Prefix:
    """Where a multi-model container finds its archives; `key` ends in a slash."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, url: str) -> "S3Prefix":
        """Read a ModelDataUrl such as `s3://bucket/prefix/`."""
        bucket, _, key = url.removeprefix("s3://").partition("/")
        return cls(bucket, key)


@dataclass
class _Model:
    """A model that was asked for: the one load that all wait for, and the calls under way."""

    load: Future[None]
    loaded: bool = False
    calls: int = 0


@dataclass(frozen=True)
class _ModelCall(Call):
    model: _Model


class MultiModelContainer:
    """Keeps the contract between SageMaker and a multi-model container.

    Source: the developer guide's container contract for multi-model endpoints (GET /ping,
    POST /models, POST /models/{name}/invoke, DELETE /models/{name}).

    Models stay in memory and on disk until there is no room for another one. Then those without a
    call under way go, the least recently used first. Source: developer guide, "Multi-model
    endpoints" (unused models are unloaded when the memory's utilisation is high, and deleted when
    the volume is full) and the container contract (a load that is answered with 507 starts it).
    Which of the unused ones go first is not said there. Unless the container `caches`, a model goes
    after each call, from disk too. Source: "Set SageMaker AI multi-model endpoint model caching
    behavior".
    """

    def __init__(
        self,
        triton: Triton,
        *,
        s3: "S3Client",
        prefix: S3Prefix,
        folder: Path,
        backends: Path,
        capacity: Capacity | None = None,
        caches: bool = True,
        seen_at: Path | None = None,
    ) -> None:
        self._seen_at = seen_at or folder
        self._triton, self._backends = triton, backends
        self._s3, self._prefix, self._folder = s3, prefix, folder
        self._capacity, self._caches = capacity or Capacity.of({}), caches
        self._lock, self._weighing = threading.Lock(), threading.Lock()
        self._loading = threading.BoundedSemaphore(LOADS_AT_ONCE)
        self._models: dict[str, _Model] = {}  # the least recently used first
        self._unloads: dict[str, Future[None]] = {}  # those under way
        self._archives: dict[str, archives.Archive] = {}  # on disk

    def begin(self, target_model: str | None) -> Call:
        """Count a call as under way, and begin to load its model unless it is there.

        Raises `ApiError` without a TargetModel.
        """
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        with self._lock:
            model = self._models.pop(target_model, None) or self._begin_load(target_model)
            self._models[target_model] = model  # the most recently used
            model.calls += 1
        load = None if model.loaded else model.load
        return _ModelCall(f"/models/{_name(target_model)}/invoke", target_model, load, model)

    def end(self, call: Call) -> None:
        """Count a call as answered; its model goes now if none is cached."""
        assert isinstance(call, _ModelCall)
        with self._lock:
            call.model.calls -= 1
        if not self._caches:
            unload = threading.Thread(target=self._unload_called, args=(call.target_model,))
            unload.daemon = True
            unload.start()

    def has(self, target_model: str | None) -> bool:
        """Whether a model is loaded, or being loaded."""
        return target_model in self._models

    def loaded(self) -> list[str]:
        """Return the target models that are loaded, the least recently used first."""
        with self._lock:
            return [target for target, model in self._models.items() if model.loaded]

    def _begin_load(self, target_model: str) -> _Model:
        model, unload = _Model(Future()), self._unloads.get(target_model)
        arguments = (target_model, model, unload)
        threading.Thread(target=self._run_load, args=arguments, daemon=True).start()
        return model

    def _run_load(self, target_model: str, model: _Model, unload: Future[None] | None) -> None:
        try:
            if unload:
                wait([unload])
            with self._loading:
                self._load(target_model)
        except Exception as error:
            with self._lock:  # the next invocation tries again
                del self._models[target_model]
            model.load.set_exception(error)
        else:
            model.loaded = True
            model.load.set_result(None)

    def _load(self, target_model: str) -> None:
        folder = self._folder / _name(target_model) / "model"
        self._download(target_model, folder)
        stand_in_packages.provide(folder, self._backends)
        while (response := self._try_load(target_model, folder)).status == 507:
            if not self._unload_unused():
                break  # "not enough memory" is what the caller gets, as a ModelError
        if response.status not in (200, 409):  # 409: it is loaded already
            raise model_error(response.status, response.body)

    def _download(self, target_model: str, folder: Path) -> None:
        """Bring the archive to disk unless it is there already, and still the bucket's."""
        while True:
            with self._lock:
                known = self._archives.pop(target_model, None)
                others = sum(archive.size for archive in self._archives.values())
            try:
                archive = archives.fetch(
                    self._s3,
                    bucket=self._prefix.bucket,
                    key=f"{self._prefix.key}{target_model.lstrip('/')}",
                    to=folder,
                    limit=self._capacity.disk - others,
                    known=known,
                )
            except ApiError as error:
                full = isinstance(error.__cause__, archives.TooLargeError)
                if not (full and self._delete_unused()):
                    raise
            else:
                with self._lock:
                    self._archives[target_model] = archive  # the most recently used
                return

    def _try_load(self, target_model: str, folder: Path) -> Response:
        """Load a model into memory, after making room for what its files say it takes.

        One that takes more than there is is unloaded and answered as Triton answers what does not
        fit: how much a model takes is known only once it is loaded.
        """
        self._make_room(self._archives[target_model].size)
        url = self._seen_at / folder.relative_to(self._folder)
        response = self._triton.manage(
            "POST",
            "/models",
            body=json.dumps({"model_name": _name(target_model), "url": str(url)}).encode(),
            headers={"Content-Type": "application/json", TARGET_MODEL: target_model},
            timeout=LOAD_SECONDS,
        )
        if response.status == 200 and (beyond := self._make_room(0)):
            self._delete(target_model)
            return Response(507, {}, beyond.encode())
        return response

    def _make_room(self, size: int) -> str | None:
        """Unload unused models until `size` bytes are left; return what is wrong if they are not.

        One at a time, since what one load unloads makes room for the others too.
        """
        limit = self._capacity.memory
        with self._weighing:
            while (used := self._triton.resident_bytes()) + size > limit:
                if not self._unload_unused():
                    return f"out of memory: {used // MIB} of {limit // MIB} MiB are used"
        return None

    def _unload_called(self, target_model: str) -> None:
        with self._loading:
            self._unload_unused(target_model)

    def _unload_unused(self, only: str | None = None) -> bool:
        """Take the least recently used model that nobody uses out of memory; False if none is.

        Its files stay on disk if models are cached, until the volume is full.
        """

        def unused() -> Iterator[str]:
            for target, model in self._models.items():
                if model.loaded and not model.calls and only in (None, target):
                    yield target

        with self._leaving(unused) as target:
            if target:
                self._delete(target)
                if not self._caches:
                    self._forget(target)
        return bool(target)

    def _delete_unused(self) -> bool:
        """Delete the least recently used archive that nobody uses; False if there is none."""

        def unused() -> Iterator[str]:
            for target in self._archives:
                if target not in self._models and target not in self._unloads:
                    yield target

        with self._leaving(unused) as target:
            if target:
                self._forget(target)
        return bool(target) or self._unload_unused()

    @contextmanager
    def _leaving(self, unused: Callable[[], Iterator[str]]) -> Iterator[str | None]:
        """Give the first unused model; a load of it waits until the block has ended."""
        left = Future[None]()
        with self._lock:
            target = next(unused(), None)
            if target:
                self._models.pop(target, None)
                self._unloads[target] = left
        try:
            yield target
        finally:
            if target:
                with self._lock:
                    del self._unloads[target]
                left.set_result(None)

    def _delete(self, target_model: str) -> None:
        with suppress(OSError):  # a server that is gone has no model any more
            self._triton.manage(
                "DELETE",
                f"/models/{_name(target_model)}",
                headers={TARGET_MODEL: target_model},
                timeout=UNLOAD_SECONDS,
            )

    def _forget(self, target_model: str) -> None:
        with self._lock:
            self._archives.pop(target_model, None)
        shutil.rmtree(self._folder / _name(target_model), ignore_errors=True)


@cache
def _name(target_model: str) -> str:
    """SageMaker's name for a model inside the container: characters that are safe in a path."""
    return hashlib.sha256(target_model.encode()).hexdigest()[:32]
