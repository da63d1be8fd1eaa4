"""A container in mode MultiModel: models are loaded when they are first asked for."""

import hashlib
import json
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_aws.errors import ApiError
from local_aws.hosting import archives, stand_in_packages
from local_aws.hosting.triton import Response, Triton

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
INVOKE_SECONDS = 60
LOAD_SECONDS = 360
UNLOAD_SECONDS = 360


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


class MultiModelContainer:
    """Keeps the contract between SageMaker and a multi-model container.

    Source: the developer guide's container contract for multi-model endpoints (GET /ping,
    POST /models, POST /models/{name}/invoke, DELETE /models/{name}).
    """

    def __init__(
        self, triton: Triton, *, s3: "S3Client", prefix: S3Prefix, folder: Path, backends: Path
    ) -> None:
        self._triton, self._backends = triton, backends
        self._s3, self._prefix, self._folder = s3, prefix, folder
        self._lock = threading.Lock()
        self._loads: dict[str, Future[None]] = {}

    def invoke(self, target_model: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        """Forward one invocation, after loading the model if it is not loaded.

        Raises `ApiError` as InvokeEndpoint does: ValidationError without a TargetModel or its
        archive, ModelNotReadyException while a load takes longer than an invocation may, ModelError
        for a refused load.
        """
        if not target_model:
            raise ApiError(
                "ValidationError",
                "TargetModel is a required input for inference on a multi-model endpoint.",
            )
        load = self._load_once(target_model)
        wait([load], timeout=INVOKE_SECONDS)
        if not load.done():
            raise ApiError(
                "ModelNotReadyException",
                f"Model {target_model} is not ready for inference: it is still loading. Retry.",
                status=429,
            )
        load.result()  # raises what the load failed with, a TimeoutError of its own too
        return self._triton.request(
            "POST",
            f"/models/{_name(target_model)}/invoke",
            body=body,
            headers={**headers, TARGET_MODEL: target_model},
            timeout=INVOKE_SECONDS,
        )

    def loaded(self) -> list[str]:
        """Return the target models that are loaded, in the order of their first use."""
        with self._lock:
            return [
                model for model, load in self._loads.items() if load.done() and not load.exception()
            ]

    def unload(self, target_model: str) -> None:
        """Take a model out of memory; its files stay on disk, as on an instance."""
        with self._lock:
            self._loads.pop(target_model, None)
        self._triton.request(
            "DELETE",
            f"/models/{_name(target_model)}",
            headers={TARGET_MODEL: target_model},
            timeout=UNLOAD_SECONDS,
        )

    def _load_once(self, target_model: str) -> Future[None]:
        """Return the one load of a model, which all that wait for it share."""
        with self._lock:
            load = self._loads.get(target_model)
            if load is None:
                load = self._loads[target_model] = Future()
                threading.Thread(
                    target=self._run_load, args=(target_model, load), daemon=True
                ).start()
            return load

    def _run_load(self, target_model: str, load: Future[None]) -> None:
        try:
            self._load(target_model)
        except Exception as error:
            with self._lock:  # the next invocation tries again, unless one after an unload does
                if self._loads.get(target_model) is load:
                    del self._loads[target_model]
            load.set_exception(error)
        else:
            load.set_result(None)

    def _load(self, target_model: str) -> None:
        name = _name(target_model)
        folder = self._folder / name / "model"
        if not folder.exists():
            key = f"{self._prefix.key}{target_model.lstrip('/')}"
            archives.fetch(self._s3, bucket=self._prefix.bucket, key=key, to=folder)
        stand_in_packages.provide(folder, self._backends)
        response = self._triton.request(
            "POST",
            "/models",
            body=json.dumps({"model_name": name, "url": str(folder)}).encode(),
            headers={"Content-Type": "application/json", TARGET_MODEL: target_model},
            timeout=LOAD_SECONDS,
        )
        if response.status not in (200, 409):  # 409: it is loaded already
            raise model_error(response)


def model_error(response: Response) -> ApiError:
    """Return the error with which InvokeEndpoint passes on a container's refusal."""
    message = response.body.decode(errors="replace")
    kind = "server" if response.status >= 500 else "client"
    return ApiError(
        "ModelError",
        f'Received {kind} error ({response.status}) from primary with message "{message}"',
        status=424,
        OriginalStatusCode=response.status,
        OriginalMessage=message,
    )


def _name(target_model: str) -> str:
    """SageMaker's name for a model inside the container: characters that are safe in a path."""
    return hashlib.sha256(target_model.encode()).hexdigest()[:32]
