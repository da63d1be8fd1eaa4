"""The base classes of hosting modes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from triton_sagemaker.problems import Problem, reject_plain_values
from triton_sagemaker.server_options import ServerOptions
from triton_sagemaker.updates import UpdatePolicy


class VpcConfig(TypedDict):
    """The properties of a VpcConfig, of Models and of EndpointConfigs."""

    security_group_ids: list[str]
    subnets: list[str]


class HostingMode(ABC):
    """Everything that is specific to a hosting mode."""

    name: ClassVar[str]
    """The name of the mode in stage files and rules."""
    is_multi_model: ClassVar[bool] = False
    """Whether a container loads many models, at their first invocations."""
    has_deployment_config: ClassVar[bool] = True
    """Whether the endpoint has a DeploymentConfig; otherwise it is updated in place."""

    @property
    @abstractmethod
    def sources(self) -> "Mapping[str, ModelHosting]":
        """The archive or prefix of each Model of a variant, by the suffix of its construct id."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the container in this mode."""
        return {}

    @property
    def log_groups(self) -> list[str]:
        """Log groups that containers write to, in addition to the endpoint's."""
        return []

    @abstractmethod
    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the arguments of the variant that SageMaker or Triton would reject in this mode."""

    def id_suffix(self, instance_type: InstanceType) -> str:
        """Return the suffix of the endpoint's construct id; its change replaces the endpoint."""
        return ""

    def model_properties(self, vpc_config: VpcConfig | None) -> dict[str, Any]:
        """Return the members of the Models that depend on the VPC."""
        return {
            "vpc_config": sagemaker.CfnModel.VpcConfigProperty(**vpc_config) if vpc_config else None
        }

    def config_properties(self, role_arn: str, vpc_config: VpcConfig | None) -> dict[str, Any]:
        """Return the properties of the EndpointConfig that are specific to this mode."""
        return {}

    @abstractmethod
    def variant_properties(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return properties of a production variant; `models` maps locations to names of Models."""

    def endpoint_problems(
        self, variants: Sequence[object], update: UpdatePolicy, *, has_data_capture: bool
    ) -> Iterator[Problem]:
        """Yield the settings of the endpoint that this mode does not support."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class ModelHosting(HostingMode):
    """A hosting mode in which a variant has one Model, which loads from `location`.

    The endpoint's role may read all objects below the first folder of `location`, because during an
    update the old instances still load from the previous archive or prefix.
    """

    bucket: s3.IBucket

    def __post_init__(self) -> None:
        reject_plain_values(bucket=self.bucket)

    @property
    @abstractmethod
    def location(self) -> str:
        """The key of an archive, or the prefix of several archives."""

    @property
    @abstractmethod
    def container_properties(self) -> dict[str, Any]:
        """Properties of the Model's container in this mode."""

    @property
    def sources(self) -> "Mapping[str, ModelHosting]":
        """The hosting itself, for the only Model."""
        return {"": self}

    def variant_properties(self, models: Mapping[str, str]) -> dict[str, Any]:
        """Return the name of the variant's Model."""
        return {"model_name": models[self.location]}

    @property
    def readable_prefix(self) -> str:
        """The prefix of the keys that the endpoint's role may read."""
        return self.location.split("/")[0] + "/"

    @property
    def model_data_url(self) -> str:
        """The ModelDataUrl of the Model."""
        return self.bucket.s3_url_for_object(self.location)
