"""How models get into the containers of a variant."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from aws_cdk import aws_s3 as s3

from platform_facts import InstanceType
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.charts import Chart
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.problems import Problem
from triton_sagemaker.server_options import PingMode, ServerOptions


@dataclass(frozen=True, kw_only=True)
class HostingMode(ABC):
    """A hosting mode: its subclass says everything in which it differs from the others.

    The endpoint's role may read all below the first part of `location`: while an update moves to
    another archive or prefix, the instances that it replaces still load from theirs.
    """

    default_ping_mode: ClassVar[PingMode]
    """What makes an instance healthy, where `ServerOptions` does not say."""
    measures_concurrency: ClassVar[bool] = True
    """Whether SageMaker publishes how many requests an instance works on at once."""

    bucket: s3.IBucket

    @property
    @abstractmethod
    def location(self) -> str:
        """What is served from the bucket: the key of an archive, or a prefix of many."""

    @property
    @abstractmethod
    def container_properties(self) -> dict[str, Any]:
        """What the Model says of its container in this mode."""

    @property
    def environment(self) -> dict[str, str]:
        """What the container's environment says in this mode."""
        return {}

    @abstractmethod
    def target_model(self, archive: str) -> str | None:
        """Return the `TargetModel` that invokes an archive by its name; None where none may."""

    @abstractmethod
    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield what SageMaker or Triton would refuse in this mode, by the variant's arguments."""

    def charts(self, metrics: EndpointMetrics, limits: AlarmThresholds) -> Iterable[Chart]:
        """Return what is worth watching in this mode alone."""
        return ()

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint, as a key prefix."""
        return self.location.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The Model's ModelDataUrl."""
        return self.bucket.s3_url_for_object(self.location)
