"""Where an endpoint stands in the network, and what it records."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns

from triton_sagemaker.problems import Problem


@dataclass(frozen=True, kw_only=True)
class VpcAccess:
    """The subnets and security groups of the instances.

    Instances without a way out need an S3 gateway endpoint in the VPC to load models.
    """

    subnets: list[ec2.ISubnet]
    security_groups: list[ec2.ISecurityGroup]

    def property(self) -> sagemaker.CfnModel.VpcConfigProperty:
        """Return the Model's VpcConfig."""
        return sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[it.security_group_id for it in self.security_groups],
            subnets=[it.subnet_id for it in self.subnets],
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if not self.subnets:
            yield Problem("subnets", "none given: write at least one, in production two")
        if not 1 <= len(self.security_groups) <= 5:
            yield Problem(
                "security_groups", f"{len(self.security_groups)} given: write one to five"
            )


@dataclass(frozen=True, kw_only=True)
class DataCapture:
    """Record requests and responses below `prefix` of `bucket`, `percent` of them."""

    bucket: s3.IBucket
    prefix: str
    percent: int = 100
    requests: bool = True
    responses: bool = True
    encryption_key: kms.IKey | None = None

    def property(self) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty:
        """Return the EndpointConfig's DataCaptureConfig."""
        modes = [("Input", self.requests), ("Output", self.responses)]
        return sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
            capture_options=[
                sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=mode)
                for mode, wanted in modes
                if wanted
            ],
            destination_s3_uri=self.bucket.s3_url_for_object(self.prefix.strip("/")),
            enable_capture=True,
            initial_sampling_percentage=self.percent,
            kms_key_id=self.encryption_key.key_arn if self.encryption_key else None,
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if not 0 < self.percent <= 100:
            yield Problem("percent", f"{self.percent} % is out of range: write 1 to 100")
        if not (self.requests or self.responses):
            yield Problem("requests", "neither requests nor responses are recorded: record one")


@dataclass(frozen=True, kw_only=True)
class AsyncInference:
    """Queue invocations and write their answers below `prefix` of `bucket`.

    `success` and `error` are told of each. `concurrency` is the number of requests that an
    instance works on at a time; SageMaker chooses it where it is None.
    """

    bucket: s3.IBucket
    prefix: str
    encryption_key: kms.IKey | None = None
    success: sns.ITopic | None = None
    error: sns.ITopic | None = None
    concurrency: int | None = None

    def property(self) -> sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty:
        """Return the EndpointConfig's AsyncInferenceConfig."""
        config = sagemaker.CfnEndpointConfig
        told = config.AsyncInferenceNotificationConfigProperty(
            error_topic=self.error.topic_arn if self.error else None,
            success_topic=self.success.topic_arn if self.success else None,
        )
        limit = config.AsyncInferenceClientConfigProperty(
            max_concurrent_invocations_per_instance=self.concurrency
        )
        output = self.bucket.s3_url_for_object(self.prefix.strip("/"))
        return config.AsyncInferenceConfigProperty(
            client_config=limit if self.concurrency else None,
            output_config=config.AsyncInferenceOutputConfigProperty(
                kms_key_id=self.encryption_key.key_arn if self.encryption_key else None,
                notification_config=told if self.error or self.success else None,
                s3_failure_path=f"{output}/failures",
                s3_output_path=output,
            ),
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if self.concurrency is not None and not 1 <= self.concurrency <= 1000:
            yield Problem("concurrency", f"{self.concurrency} is out of range: write 1 to 1000")


@dataclass(frozen=True, kw_only=True)
class InstanceMetrics:
    """What SageMaker itself publishes about the instances (CfnEndpointConfig.MetricsConfig).

    `enhanced` adds dimensions for instances and containers; `detailed` scrapes the container's
    Prometheus metrics, which for Triton on multi-model endpoints no source confirms to work.
    `frequency` is in seconds.
    """

    enhanced: bool = False
    detailed: bool | None = None
    frequency: int = 60

    def property(self) -> sagemaker.CfnEndpointConfig.MetricsConfigProperty:
        """Return the EndpointConfig's MetricsConfig."""
        return sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=self.detailed,
            enable_enhanced_metrics=self.enhanced,
            metric_publish_frequency_in_seconds=self.frequency,
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        allowed = (10, 30, 60, 120, 180, 240, 300)
        if self.frequency not in allowed:
            yield Problem(
                "frequency", f"{self.frequency} s: write one of {', '.join(map(str, allowed))}"
            )
