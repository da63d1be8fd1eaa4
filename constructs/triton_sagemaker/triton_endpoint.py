"""A SageMaker endpoint that serves many Triton models from one prefix of a bucket."""

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker

from constructs import Construct
from platform_facts import InstanceType, Processor, Support
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.model_bucket import ModelBucket
from triton_sagemaker.triton_container import TritonContainer

VARIANT = "AllTraffic"
"""The variant's name, which must not change: guardrails and scaling go by it."""


@dataclass(frozen=True, kw_only=True)
class MultiModelHosting:
    """Many models below one S3 prefix, loaded when they are first invoked.

    `prefix` is the key prefix that holds the archives; it ends in `/`, so that a `TargetModel` is
    the rest of the key. The endpoint's role may read all below the first part of the prefix: while
    an update moves to another prefix, the instances that it replaces still load from theirs.
    """

    bucket: ModelBucket
    prefix: str

    def __post_init__(self) -> None:
        if not self.prefix.endswith("/") or self.prefix.startswith("/"):
            raise ValueError(
                f'prefix "{self.prefix}": write it without a slash in front and with one at the '
                f'end: "{self.prefix.strip("/")}/"'
            )

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint."""
        return self.prefix.split("/")[0] + "/"


@dataclass(frozen=True, kw_only=True)
class Instances:
    """The instances of an endpoint.

    `startup_timeout` and `download_timeout` are in seconds, 60 to 3600, for the container's health
    check and for one archive.
    """

    instance_type: InstanceType
    initial_count: int = 1
    startup_timeout: int = 600
    download_timeout: int = 600

    def __post_init__(self) -> None:
        problems = []
        if self.initial_count < 1:
            problems.append(f"initial_count {self.initial_count}: write 1 or more")
        problems += [
            f"{name} {getattr(self, name)}: write 60 to 3600 seconds"
            for name in ("startup_timeout", "download_timeout")
            if not 60 <= getattr(self, name) <= 3600
        ]
        if self.instance_type.multi_model is Support.NO:
            problems.append(
                f"{self.instance_type.name} cannot host GPU multi-model endpoints: write a type "
                "with one GPU, such as ml.g5.xlarge"
            )
        if problems:
            raise ValueError("; ".join(problems))


class TritonEndpoint(Construct):
    """Model, EndpointConfig and Endpoint.

    Model and EndpointConfig have no physical names, so that CloudFormation can replace them; the
    endpoint keeps `endpoint_name` and is updated in place. Raises `ValueError` where container
    and instances do not fit, with every reason.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        container: TritonContainer,
        hosting: MultiModelHosting,
        instances: Instances,
    ) -> None:
        super().__init__(scope, construct_id)
        _check(container, instances)
        self.endpoint_name = endpoint_name
        self.role = EndpointRole(
            self,
            "Role",
            bucket=hosting.bucket,
            prefix=hosting.readable,
            endpoint_name=endpoint_name,
            image=container.image,
        ).role
        self.model = self._model(container, hosting)
        self.config = self._config(container, instances)
        self.endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=endpoint_name,
            endpoint_config_name=self.config.attr_endpoint_config_name,
            deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
                blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                    traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                        type="ALL_AT_ONCE"
                    ),
                    termination_wait_in_seconds=300,
                    maximum_execution_timeout_in_seconds=3600,
                )
            ),
        )

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` to invoke every model of the endpoint."""
        arn = Stack.of(self).format_arn(
            service="sagemaker", resource="endpoint", resource_name=self.endpoint_name
        )
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["sagemaker:InvokeEndpoint"], resource_arns=[arn]
        )

    def _model(self, container: TritonContainer, hosting: MultiModelHosting) -> sagemaker.CfnModel:
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=self.role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=container.image,
                mode="MultiModel",
                model_data_url=hosting.bucket.bucket.s3_url_for_object(hosting.prefix),
                multi_model_config=sagemaker.CfnModel.MultiModelConfigProperty(
                    model_cache_setting="Enabled"
                ),
                environment=container.multi_model_environment(),
            ),
        )
        model.node.add_dependency(self.role)  # its policy too: CreateModel checks the rights
        return model

    def _config(
        self, container: TritonContainer, instances: Instances
    ) -> sagemaker.CfnEndpointConfig:
        ami = container.release.preferred_inference_ami if instances.instance_type.gpu else None
        return sagemaker.CfnEndpointConfig(
            self,
            "Config",
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT,
                    model_name=self.model.attr_model_name,
                    instance_type=instances.instance_type.name,
                    initial_instance_count=instances.initial_count,
                    initial_variant_weight=1,
                    inference_ami_version=ami,
                    container_startup_health_check_timeout_in_seconds=instances.startup_timeout,
                    model_data_download_timeout_in_seconds=instances.download_timeout,
                )
            ],
        )


def _check(container: TritonContainer, instances: Instances) -> None:
    gpu, release = instances.instance_type.gpu, container.release
    if (container.processor is Processor.GPU) != bool(gpu):
        raise ValueError(
            f"{instances.instance_type.name} has {'a' if gpu else 'no'} GPU, the container is the "
            f"{container.processor} image: choose the image by the instance type"
        )
    if gpu and release.runs_on(gpu.compute_capability) is False:
        raise ValueError(
            f"{instances.instance_type.name} has a {gpu.name} of compute capability "
            f"{gpu.compute_capability}, Triton {release.name} needs "
            f"{release.minimum_compute_capability} or more"
        )
