"""A Triton server that the user has started, in SageMaker's multi-model mode.

`tritonsm try --server URL` uses it.

The requests are SageMaker's (developer guide, "Custom container contract for multi-model
endpoints"): POST /models loads an archive unpacked below /opt/ml/models, DELETE /models/NAME
unloads it.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from cli.errors import CommandError
from local_sagemaker.serving import Response
from model_build.export.weights import CACHE

FOLDER = CACHE / "served"
"""The folder that is mounted at `MOUNTED_AT` in the server's container."""
MOUNTED_AT = Path("/opt/ml/models")
TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
REQUEST_TIMEOUT_SECONDS = 300
"""Time limit for loading or invoking a model: our choice."""


@dataclass(frozen=True)
class ExternalTriton:
    """A server that loads archives from `FOLDER`."""

    url: str

    @contextmanager
    def load(self, archive: Path) -> Iterator[None]:
        """Load an archive for the duration of the `with` block. Raise `CommandError`."""
        name = _container_name(archive.name)
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        shutil.unpack_archive(archive, FOLDER / name / "model")
        body = json.dumps({"model_name": name, "url": str(MOUNTED_AT / name / "model")}).encode()
        try:
            self._request("POST", "/models", archive.name, body, "application/json")
            yield
        finally:
            with suppress(CommandError):
                self._request("DELETE", f"/models/{name}", archive.name)
            shutil.rmtree(FOLDER / name, ignore_errors=True)

    def invoke(self, target_model: str, body: bytes, content_type: str) -> Response:
        """Invoke a loaded model. Raise `CommandError` with Triton's message."""
        path = f"/models/{_container_name(target_model)}/invoke"
        return self._request("POST", path, target_model, body, content_type)

    def _request(
        self, method: str, path: str, target_model: str, body: bytes = b"", content_type: str = ""
    ) -> Response:
        headers = {TARGET_MODEL: target_model, "Content-Type": content_type}
        request = Request(self.url.rstrip("/") + path, body, headers, method=method)
        try:
            with urlopen(request, timeout=REQUEST_TIMEOUT_SECONDS) as response:
                return Response(response.status, dict(response.headers), response.read())
        except HTTPError as error:
            text = error.read().decode(errors="replace")
            raise CommandError(f"{method} {path}: Triton answered {error.code}: {text}") from None
        except (URLError, OSError, ValueError) as error:
            raise CommandError(
                f"no Triton at {self.url} ({error}): start one in multi-model mode (docs/models.md)"
            ) from None


def _container_name(target_model: str) -> str:
    """Return the model's name in the container, safe in a path."""
    return hashlib.sha256(target_model.encode()).hexdigest()[:32]
