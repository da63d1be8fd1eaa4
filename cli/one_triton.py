"""One real Triton, which loads archives of a folder as a multi-model endpoint's instance does."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from cli.errors import CommandError
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting import backends, launch
from local_sagemaker.hosting.container import INVOKE_SECONDS
from local_sagemaker.hosting.instance import Running
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.multi_model_container import TARGET_MODEL
from local_sagemaker.hosting.triton import Response
from local_sagemaker.prerequisites import TritonInstallation

START_SECONDS = 300
"""Where it fails to start, its process ends: only a busy machine takes long."""
LOGGED_ERROR = re.compile(r"^E\d{4} .*", re.M)
"""A line of Triton's log: the level's letter, and the date."""
INSTANCES_PATH = re.compile(r"[^\s']*/[0-9a-f]{32}/model(?:::|/)")
"""Where an instance has a model, as `ModelStore` names it."""

VARIANT = {"VariantName": "AllTraffic", "InstanceType": "ml.m5.xlarge"}
MODEL = {"PrimaryContainer": {"Mode": "MultiModel", "ModelDataUrl": "s3://archives/"}}


class FolderAsS3:
    """A client of S3 whose buckets are a folder, with the one call that a container makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803, ARG002
        """Return an object by its key."""
        content = (self._folder / Key).read_bytes()
        return {"Body": io.BytesIO(content), "ContentLength": len(content), "ETag": Key}


@dataclass(frozen=True)
class OneTriton:
    """A server that answers."""

    running: Running

    def load(self, target_model: str) -> None:
        """Unpack an archive and load it. Raises `CommandError` with what Triton says."""
        logged = self._log_size()
        call = self.running.container.begin(target_model)
        try:
            if call.load:
                call.load.result()
        except ApiError as error:
            said = error.fields.get("OriginalMessage", error.message)
            raise self._error("Triton does not load it", said, logged) from None
        except OSError as error:
            raise self._error("Triton has ended", str(error), logged) from None
        finally:
            self.running.container.end(call)

    def invoke(self, target_model: str, body: bytes, content_type: str) -> Response:
        """Ask a model that is loaded. Raises `CommandError` with what Triton says."""
        logged = self._log_size()
        call = self.running.container.begin(target_model)
        try:
            answer = self.running.triton.request(
                "POST",
                call.path,
                body=body,
                headers={"Content-Type": content_type, TARGET_MODEL: target_model},
                timeout=INVOKE_SECONDS,
            )
        except OSError as error:
            raise self._error("Triton does not answer", str(error), logged) from None
        finally:
            self.running.container.end(call)
        if answer.status != 200:
            said = answer.body.decode(errors="replace")
            raise self._error(f"Triton answers {answer.status}", said, logged)
        return answer

    def _log_size(self) -> int:
        return self.running.triton.log.stat().st_size

    def _error(self, what: str, said: str, logged: int) -> CommandError:
        """Return an error with what Triton said, and the first error beyond `logged` in its log.

        The first is the cause, and those behind it are what followed. Paths are those of the model
        folder.
        """
        log = self.running.triton.log.read_bytes()[logged:].decode(errors="replace")
        first = LOGGED_ERROR.search(log)
        cause = f"\n  Triton's log: {first[0]}" if first else ""
        return CommandError(INSTANCES_PATH.sub("", f"{what}: {_message(said)}{cause}"))


def _message(answered: str) -> str:
    """Return the text of an error that Triton answers with, which is JSON."""
    try:
        return str(json.loads(answered)["error"])
    except (ValueError, LookupError, TypeError):
        return answered


@contextmanager
def started(installation: TritonInstallation, archives: Path) -> Iterator[OneTriton]:
    """Start a server, and stop it after the block. Raises `LocalSageMakerError` if it fails."""
    with TemporaryDirectory(prefix="try-") as scratch:
        folder = Path(scratch)
        backends.install(installation, folder / "backends")
        s3 = cast(Any, FolderAsS3(archives))
        host = Host(installation, folder / "backends", folder / "instances", s3, instances=1)
        running = launch.begin(host, "try", VARIANT, MODEL)
        try:
            running.triton.wait_until_healthy(START_SECONDS)
            yield OneTriton(running)
        finally:
            running.end()
