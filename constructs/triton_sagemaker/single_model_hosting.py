"""Hosting of one archive, alone on its instances."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from platform_facts import InstanceType
from triton_sagemaker.hosting_mode import ModelHosting
from triton_sagemaker.problems import Problem
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class SingleModelHosting(ModelHosting):
    """One archive, loaded when an instance starts.

    `key` is the archive's. `default_model` is the directory in it that is served: the ensemble of
    several models. An archive with one directory needs none. With several and no
    `SAGEMAKER_TRITON_DEFAULT_MODEL_NAME`, the container exits (Triton's docker/sagemaker/serve).
    """

    name = "single-model"
    default_ping_mode = "ready"
    many_models = False

    key: str
    default_model: str | None = None

    @property
    def location(self) -> str:
        """The archive's key."""
        return self.key

    @property
    def container_properties(self) -> dict[str, Any]:
        """The mode."""
        return {"mode": "SingleModel"}

    @property
    def environment(self) -> dict[str, str]:
        """The model to serve, where it is named."""
        if self.default_model is None:
            return {}
        return {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": self.default_model}

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield what SageMaker would reject."""
        if not self.key.endswith(".tar.gz") or self.key.startswith("/"):
            yield Problem(
                "hosting.key",
                f'"{self.key}" is not an archive: write a key that ends in .tar.gz, without a '
                "slash in front",
            )
