"""Where an endpoint stands in the network, and what it records."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from triton_sagemaker.problems import Problem


@dataclass(frozen=True, kw_only=True)
class VpcAccess:
    """The subnets and security groups of the instances.

    Instances without a way out need an S3 gateway endpoint in the VPC to load models.
    """

    subnets: list[ec2.ISubnet]
    security_groups: list[ec2.ISecurityGroup]

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

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        allowed = (10, 30, 60, 120, 180, 240, 300)
        if self.frequency not in allowed:
            yield Problem(
                "frequency", f"{self.frequency} s: write one of {', '.join(map(str, allowed))}"
            )
