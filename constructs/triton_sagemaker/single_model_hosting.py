"""Hosting of one archive on its own instances."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from platform_facts import InstanceType
from platform_facts.rules import server
from triton_sagemaker.hosting_mode import ModelHosting
from triton_sagemaker.problems import Problem
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class SingleModelHosting(ModelHosting):
    """Hosting of one archive, loaded when an instance starts.

    `key` is the key of the archive. `default_model` is the directory in the archive to serve, for
    example that of an ensemble; it may be omitted if the archive has one directory. The container
    exits if there are several directories and no `SAGEMAKER_TRITON_DEFAULT_MODEL_NAME` (Triton's
    docker/sagemaker/serve).
    """

    name = "single-model"

    key: str
    default_model: str | None = None

    @property
    def location(self) -> str:
        """The key of the archive."""
        return self.key

    @property
    def container_properties(self) -> dict[str, Any]:
        """Mode of the container."""
        return {"mode": "SingleModel"}

    @property
    def environment(self) -> dict[str, str]:
        """The variable for `default_model`."""
        if self.default_model is None:
            return {}
        return {server.DEFAULT_MODEL: self.default_model}

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        if not self.key.endswith(".tar.gz") or self.key.startswith("/"):
            yield Problem(
                "hosting.key",
                f'"{self.key}" is not an archive: write a key that ends in .tar.gz, without a '
                "leading slash",
            )
