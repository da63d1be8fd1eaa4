"""Hosting modes: how models get into the containers of a variant."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from platform_facts import InstanceType
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import Chart
from triton_sagemaker.charts import variant_charts
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.problems import Problem
from triton_sagemaker.rollback_alarms import rollback_alarms
from triton_sagemaker.server_options import PingMode, ServerOptions
from triton_sagemaker.updates import UpdatePolicy, deployment_config

if TYPE_CHECKING:
    from triton_sagemaker.endpoint_component import EndpointComponent
    from triton_sagemaker.variant import Variant


class Network(TypedDict):
    """The members of a VpcConfig."""

    security_group_ids: list[str]
    subnets: list[str]


class HostingMode(ABC):
    """A hosting mode: its subclass holds everything in which it differs from the others."""

    name: ClassVar[str]
    """The mode as rules and a stage's file call it."""
    default_ping_mode: ClassVar[PingMode]
    """The ping mode of containers where `ServerOptions` has none."""
    many_models: ClassVar[bool]
    """Whether a request names one of several models, by its `TargetModel`."""

    @property
    @abstractmethod
    def sources(self) -> "Mapping[str, ModelHosting]":
        """What the Models of a variant load, by the suffixes of the Models' construct ids."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the container in this mode."""
        return {}

    @property
    def log_groups(self) -> list[str]:
        """The log groups that instances write beside the endpoint's."""
        return []

    @abstractmethod
    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield what SageMaker or Triton would reject in this mode, by the variant's arguments."""

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the suffix of the endpoint's construct id, whose change replaces the endpoint."""
        return ""

    def model_members(self, network: Network | None) -> dict[str, Any]:
        """Return the members of the Models that depend on the network."""
        config = sagemaker.CfnModel.VpcConfigProperty(**network) if network else None
        return {"vpc_config": config}

    def config_members(self, role_arn: str, network: Network | None) -> dict[str, Any]:
        """Return the members of the EndpointConfig that this mode alone has."""
        return {}

    @abstractmethod
    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the members of a production variant; `models` are names, by their locations."""

    def deployment(
        self,
        scope: Construct,
        update: UpdatePolicy,
        *,
        endpoint_name: str,
        config_name: str,
        variants: Sequence[str],
        model_error_rate: float,
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty | None:
        """Return the endpoint's DeploymentConfig, with the alarms that roll an update back."""
        alarms = rollback_alarms(
            scope,
            endpoint_name=endpoint_name,
            config_name=config_name,
            variants=variants,
            model_error_rate=model_error_rate,
        )
        return deployment_config(update, alarm_names=[alarm.alarm_name for alarm in alarms])

    def place(
        self,
        scope: Construct,
        update: UpdatePolicy,
        *,
        endpoint: sagemaker.CfnEndpoint,
        variant: "Variant",
        models: Mapping[str, sagemaker.CfnModel],
        model_error_rate: float,
    ) -> "list[EndpointComponent]":
        """Return the inference components of a variant; `models` are Models by their locations."""
        return []

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, captures: bool
    ) -> Iterator[Problem]:
        """Yield what an endpoint of this mode does not take."""
        yield from ()

    def charts(
        self, metrics: EndpointMetrics, variant: "Variant", limits: AlarmThresholds
    ) -> Iterator[Chart]:
        """Yield the charts of a variant."""
        yield from variant_charts(metrics, variant, limits, self.cache_charts(metrics, limits))

    def cache_charts(self, metrics: EndpointMetrics, limits: AlarmThresholds) -> Iterator[Chart]:
        """Yield the charts of models that are loaded when they are invoked."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class ModelHosting(HostingMode):
    """A hosting mode in which a variant has one Model, which loads from `location`.

    The endpoint's role may read all below the first part of `location`: while an update moves to
    another archive or prefix, the instances that it replaces still load from theirs.
    """

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
    def sources(self) -> "Mapping[str, ModelHosting]":
        """Itself."""
        return {"": self}

    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Its Model."""
        return {"model_name": models[self.location]}

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint, as a key prefix."""
        return self.location.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The Model's ModelDataUrl."""
        return self.bucket.s3_url_for_object(self.location)
