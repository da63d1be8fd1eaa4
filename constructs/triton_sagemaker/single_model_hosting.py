"""Single-model hosting: one archive, loaded when an instance starts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from platform_facts import InstanceType
from triton_sagemaker.hosting_mode import ModelHosting
from triton_sagemaker.problems import Problem
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class SingleModelHosting(ModelHosting):
    """One archive in `bucket`, loaded when an instance starts.

    `key` is the S3 key of the archive. `default_model` is the model directory that receives
    requests, such as an ensemble. It is required if the archive has several model directories:
    without it the container exits (triton-inference-server/server, docker/sagemaker/serve).
    """

    name = "single-model"
    default_ping_mode = "ready"

    key: str
    default_model: str | None = None

    @property
    def location(self) -> str:
        """The archive's key."""
        return self.key

    @property
    def container_properties(self) -> dict[str, Any]:
        """The mode of the container."""
        return {"mode": "SingleModel"}

    @property
    def environment(self) -> dict[str, str]:
        """The variable of `default_model`."""
        if self.default_model is None:
            return {}
        return {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": self.default_model}

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield a key that SageMaker would reject."""
        if not self.key.endswith(".tar.gz") or self.key.startswith("/"):
            yield Problem(
                "hosting.key",
                f'"{self.key}" is not an archive: write a key that ends in .tar.gz, without a '
                "slash in front",
            )
