"""A Triton as in a multi-model container, which is told what to load."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local_sagemaker.hosting import backends
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS, TARGET_MODEL, UNLOAD_SECONDS
from local_sagemaker.hosting.serve import multi_model
from local_sagemaker.hosting.triton import Response, Triton
from local_sagemaker.prerequisites import find_triton


@dataclass(frozen=True)
class Server:
    """A Triton to which models come one after another."""

    triton: Triton

    def load(self, name: str, repository: Path) -> Response:
        """Load the model of a repository, and what it needs of that."""
        body = json.dumps({"model_name": name, "url": str(repository)}).encode()
        return self._ask("POST", "/models", name, body, LOAD_SECONDS)

    def invoke(self, name: str, body: bytes) -> Response:
        """Send a loaded model a request in JSON."""
        return self._ask("POST", f"/models/{name}/invoke", name, body, LOAD_SECONDS)

    def unload(self, name: str) -> None:
        """Take a model out of memory."""
        self._ask("DELETE", f"/models/{name}", name, b"", UNLOAD_SECONDS)

    def _ask(self, method: str, path: str, name: str, body: bytes, timeout: float) -> Response:
        headers = {"Content-Type": "application/json", TARGET_MODEL: f"{name}.tar.gz"}
        return self.triton.request(method, path, body=body, headers=headers, timeout=timeout)


@contextmanager
def server_in(folder: Path) -> Iterator[Server]:
    """Run a server in an empty folder, which sees what lies beside that."""
    (folder / "empty").mkdir()
    installation = find_triton()
    backends.install(installation, folder / "backends")
    environment = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}
    command = multi_model(environment, image="", repository=str(folder / "empty"))
    triton = Triton(
        installation,
        arguments=command.arguments,
        environment=command.environment,
        backends=folder / "backends",
        folder=folder,
        models=(folder.parent, folder.parent),
    )
    try:
        triton.wait_until_healthy(LOAD_SECONDS)
        yield Server(triton)
    finally:
        triton.stop()
