"""How models get into the containers of a variant."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from aws_cdk import aws_s3 as s3

from platform_facts import InstanceType
from triton_sagemaker.problems import Problem
from triton_sagemaker.server_options import PingMode, ServerOptions


@dataclass(frozen=True, kw_only=True)
class HostingMode(ABC):
    """A hosting mode: its subclass holds everything in which it differs from the others.

    The endpoint's role may read all below the first part of `location`: while an update moves to
    another archive or prefix, the instances that it replaces still load from theirs.
    """

    default_ping_mode: ClassVar[PingMode]
    """The ping mode of containers where `ServerOptions` has none."""
    many_models: ClassVar[bool]
    """Whether a request names one of several models, by its `TargetModel`."""

    bucket: s3.IBucket

    @property
    @abstractmethod
    def location(self) -> str:
        """The key of an archive, or a prefix of many."""

    @property
    @abstractmethod
    def container_properties(self) -> dict[str, Any]:
        """The properties of the Model's container in this mode."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the container in this mode."""
        return {}

    @abstractmethod
    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield what SageMaker or Triton would reject in this mode, by the variant's arguments."""

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint, as a key prefix."""
        return self.location.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The Model's ModelDataUrl."""
        return self.bucket.s3_url_for_object(self.location)
