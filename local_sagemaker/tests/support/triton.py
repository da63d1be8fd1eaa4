"""A Triton server in the multi-model mode of SageMaker, without an instance."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_sagemaker.hosting import backends
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS
from local_sagemaker.hosting.serve_script import multi_model
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.prerequisites import find_triton

__all__ = ["Triton", "triton_in"]


@contextmanager
def triton_in(folder: Path) -> Iterator[Triton]:
    """Run a server in a new folder; its models are in the parent folder."""
    (folder / "empty").mkdir(parents=True)
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
        yield triton
    finally:
        triton.stop()
