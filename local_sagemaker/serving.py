"""A Triton server for the archives in a folder, without an AWS API."""

import asyncio
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import backends, launch
from local_sagemaker.hosting.connections import in_thread
from local_sagemaker.hosting.instance import RunningServer
from local_sagemaker.hosting.invocation import INVOKE_SECONDS
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS, TARGET_MODEL
from local_sagemaker.hosting.triton import Response
from local_sagemaker.prerequisites import TritonInstallation, find_triton

__all__ = ["Response", "ServingError", "TritonServer", "UnansweredError", "serve"]

START_SECONDS = 300
"""Timeout of the start, for a busy machine; a failed start ends the process earlier."""
LOGGED_ERROR = re.compile(r"^E\d{4} .*", re.M)
"""An error in Triton's log: level letter E and date."""
INSTANCE_PATH = re.compile(r"[^\s']*/[0-9a-f]{32}/model(?:::|/)")
"""The folder of a model in an instance (see `ModelStore`)."""
WARNING = re.compile(rf"^{INSTANCE_PATH.pattern}(\S+\.py:\d+: \w*Warning: .+)$", re.M)
"""A warning of Python in a file of a model, such as one about a pickle of another version."""
EXECUTION = re.compile(
    r'] "model \S+, instance (?P<executing>\S+), executing \d+ requests"'
    r'|] ".*: model instance name (?P<released>\S+) released \d+ requests"'
)
"""Triton's verbose log around a call of `execute` (python_backend, src/python_be.cc)."""
QUIET_SECONDS = 5.0
"""How long the log must stay unchanged until an executed request counts as never answered."""
QUIET_LOAD_SECONDS = 60.0
"""The same while a model is loaded: after a warm-up, other instances of the model may start."""

VARIANT = {"VariantName": "AllTraffic", "VolumeSizeInGB": 1024}

T = TypeVar("T")


class ServingError(LocalSageMakerError):
    """Triton cannot load or run a model; the message contains the first error in Triton's log."""


class UnansweredError(ServingError):
    """A model returned no response for a request that it has executed."""


@dataclass(frozen=True)
class _FakeS3Client:
    """An S3 client with the operation get_object only; keys are paths in a folder."""

    folder: Path

    def get_object(self, *, Bucket: str, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803
        """Return the content of a file."""
        content = (self.folder / Key).read_bytes()
        return {"Body": io.BytesIO(content), "ContentLength": len(content), "ETag": Key}


@dataclass(frozen=True)
class TritonServer:
    """A running server. Models are identified by archive name.

    `loop` runs on a separate thread.
    """

    server: RunningServer
    loop: asyncio.AbstractEventLoop

    def load(self, model: str) -> None:
        """Load a model from its archive. Raise `ServingError`."""
        self._call(model, lambda _: None)

    def invoke(
        self, model: str, body: bytes, content_type: str, *, timeout: float = INVOKE_SECONDS
    ) -> Response:
        """Return the response of a model; load it first if necessary. Raise `ServingError`."""
        log_size = self._log_size()

        def request(path: str) -> Response:
            headers = {"Content-Type": content_type, TARGET_MODEL: model}
            try:
                return self.server.triton.request(
                    "POST", path, body=body, headers=headers, timeout=timeout
                )
            except OSError as error:
                raise self._error("Triton does not respond", str(error), log_size) from None

        response = self._call(model, request)
        if response.status != 200:
            message = response.body.decode(errors="replace")
            raise self._error(f"Triton responds with status {response.status}", message, log_size)
        return response

    def python_warnings(self) -> list[str]:
        """Return the warnings of the models' Python code in Triton's log, each once."""
        log = self.server.triton.log.read_text(errors="replace")
        return list(dict.fromkeys(WARNING.findall(log)))

    def _call(self, model: str, work: Callable[[str], T]) -> T:
        """Load a model, then return the result of `work`, called with the model's invoke path."""
        log_size, is_loaded = self._log_size(), threading.Event()

        async def call() -> T:
            container = self.server.container
            call = container.acquire(model)
            try:
                if call.load:
                    await self._wait_for_load(call.load, log_size)
                is_loaded.set()
                return await in_thread(partial(work, call.path))
            finally:
                container.release(call)

        future = asyncio.run_coroutine_threadsafe(call(), self.loop)
        quiet_size, quiet_seconds = log_size, 0.0
        while True:
            try:
                return future.result(timeout=QUIET_SECONDS)
            except TimeoutError:
                if future.done():
                    raise
            quiet_size, earlier_size = self._log_size(), quiet_size
            quiet_seconds = quiet_seconds + QUIET_SECONDS if quiet_size == earlier_size else 0.0
            is_quiet = quiet_seconds >= (
                QUIET_SECONDS if is_loaded.is_set() else QUIET_LOAD_SECONDS
            )
            if is_quiet and (name := self._unanswering_model(log_size)):
                raise UnansweredError(
                    f"model {name} has executed the request without a response, and Triton never "
                    "answers it: return a list with one InferenceResponse for each request from "
                    "execute, not None"
                )

    def _unanswering_model(self, log_size: int) -> str | None:
        """Return the model that ran last if no model is executing a request any more.

        Triton writes the end of an execution after its answer: the log may begin with the end of an
        earlier call's execution.
        """
        log = self.server.triton.log.read_bytes()[log_size:].decode(errors="replace")
        executing, last = set[str](), None
        for match in EXECUTION.finditer(log):
            if instance := match["executing"]:
                executing.add(instance)
            elif match["released"] in executing:
                last = match["released"]
                executing.remove(last)
        return None if executing or last is None else last.rpartition("_")[0]

    async def _wait_for_load(self, load: "asyncio.Task[None]", log_size: int) -> None:
        try:
            await asyncio.shield(load)
        except ApiError as error:
            message = error.fields.get("OriginalMessage", error.message)
            raise self._error("Triton cannot load the model", message, log_size) from None
        except OSError as error:
            raise self._error("Triton has exited", str(error), log_size) from None

    def _log_size(self) -> int:
        return self.server.triton.log.stat().st_size

    def _error(self, problem: str, message: str, log_size: int) -> ServingError:
        """Return an error with Triton's message, and the first error in the log after `log_size`.

        The first error is the cause of the later ones. Paths become relative to the model's folder.
        """
        log = self.server.triton.log.read_bytes()[log_size:].decode(errors="replace")
        first_error = LOGGED_ERROR.search(log)
        cause = f"\n  Triton's log: {first_error[0]}" if first_error else ""
        return ServingError(INSTANCE_PATH.sub("", f"{problem}: {_error_text(message)}{cause}"))


def _error_text(message: str) -> str:
    """Return the text in an error response of Triton, which is normally JSON."""
    try:
        return str(json.loads(message)["error"])
    except (ValueError, LookupError, TypeError):
        return message


@contextmanager
def serve(
    archives: Path,
    *,
    installation: TritonInstallation | None = None,
    cache: bool = True,
    load_seconds: float = LOAD_SECONDS,
) -> Iterator[TritonServer]:
    """Start a server for a folder of archives, and stop it after the `with` block.

    `installation` is that of `find_triton` by default. Without `cache`, models are
    unloaded after each call. `load_seconds` is the timeout of a load. Raise `LocalSageMakerError`
    if the server does not start.
    """
    installation = installation or find_triton()
    model = {
        "Mode": "MultiModel",
        "ModelDataUrl": "s3://archives/",
        "Environment": {"SAGEMAKER_TRITON_LOG_VERBOSE": "true"},
        "MultiModelConfig": {"ModelCacheSetting": "Enabled" if cache else "Disabled"},
    }
    with TemporaryDirectory(prefix="triton-") as scratch:
        folder = Path(scratch)
        if installation.user is not None:
            folder.chmod(0o755)
        backends.install(installation, folder / "backends")
        host = Host(
            installation,
            folder / "backends",
            folder / "instances",
            cast(Any, _FakeS3Client(archives)),
            max_processes=1,
            load_seconds=load_seconds,
        )
        server = launch.start_server(host, "serving", VARIANT, {"PrimaryContainer": model})
        try:
            server.triton.wait_until_healthy(START_SECONDS)
            with _loop_on_thread() as loop:
                try:
                    yield TritonServer(server, loop)
                finally:
                    server.triton.connections.close()  # while the loop can still close them
        finally:
            server.end()


@contextmanager
def _loop_on_thread() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:  # cancels the remaining tasks
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
