"""Base classes of hosting modes: how the containers of a variant load models."""

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
    """A hosting mode; subclasses define everything that depends on the mode."""

    name: ClassVar[str]
    """The mode as named in stage files."""
    default_ping_mode: ClassVar[PingMode]
    """The ping mode if `ServerOptions.ping_mode` is None."""

    @property
    @abstractmethod
    def sources(self) -> "Mapping[str, ModelHosting]":
        """Suffix of the Model's construct ID -> hosting of the archive that the Model loads."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that the mode adds to the container."""
        return {}

    @property
    def log_groups(self) -> list[str]:
        """The log groups that instances write in addition to the endpoint's."""
        return []

    @abstractmethod
    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the values that SageMaker or Triton would reject in this mode."""

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the suffix of the Endpoint's construct ID; a new suffix replaces the endpoint."""
        return ""

    def model_members(self, network: Network | None) -> dict[str, Any]:
        """Return the members of the Models that depend on the network."""
        config = sagemaker.CfnModel.VpcConfigProperty(**network) if network else None
        return {"vpc_config": config}

    def config_members(self, role_arn: str, network: Network | None) -> dict[str, Any]:
        """Return the members of the EndpointConfig that are specific to this mode."""
        return {}

    @abstractmethod
    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return members of the ProductionVariant; `models` maps an S3 location to a Model name."""

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
        """Return the DeploymentConfig with its rollback alarms; None to update in place."""
        alarms = rollback_alarms(
            scope,
            endpoint_name=endpoint_name,
            config_name=config_name,
            variants=variants,
            model_error_rate=model_error_rate,
        )
        return deployment_config(update, alarm_names=[alarm.alarm_name for alarm in alarms])

    def inference_components(
        self,
        scope: Construct,
        update: UpdatePolicy,
        *,
        endpoint: sagemaker.CfnEndpoint,
        variant: "Variant",
        models: Mapping[str, sagemaker.CfnModel],
        model_error_rate: float,
    ) -> "list[EndpointComponent]":
        """Return the inference components of a variant; `models` maps an S3 location to a Model."""
        return []

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, captures: bool
    ) -> Iterator[Problem]:
        """Yield the settings that an endpoint of this mode does not support."""
        yield from ()

    def charts(
        self, metrics: EndpointMetrics, variant: "Variant", limits: AlarmThresholds
    ) -> Iterator[Chart]:
        """Yield the dashboard charts of a variant."""
        yield from variant_charts(metrics, variant, limits, self.cache_charts(metrics, limits))

    def cache_charts(self, metrics: EndpointMetrics, limits: AlarmThresholds) -> Iterator[Chart]:
        """Yield the charts of the model cache; only multi-model hosting has one."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class ModelHosting(HostingMode):
    """A hosting mode with one Model for each variant, which loads from `location` in `bucket`.

    The endpoint's role may read all keys below the first folder of `location`: during an update to
    another archive or prefix, old instances still load from the previous one.
    """

    bucket: s3.IBucket

    @property
    @abstractmethod
    def location(self) -> str:
        """The key of an archive, or the prefix of archives."""

    @property
    @abstractmethod
    def container_properties(self) -> dict[str, Any]:
        """The properties of the Model's container that depend on the mode."""

    @property
    def sources(self) -> "Mapping[str, ModelHosting]":
        """The hosting itself, without a suffix."""
        return {"": self}

    def variant_members(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the Model."""
        return {"model_name": models[self.location]}

    @property
    def readable_prefix(self) -> str:
        """The key prefix that the endpoint's role may read, such as `text/`."""
        return self.location.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The S3 URL for ModelDataUrl of the Model."""
        return self.bucket.s3_url_for_object(self.location)
