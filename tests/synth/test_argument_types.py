"""Arguments of wrong types, which a `TypeError` names before jsii sees them."""

from collections.abc import Callable
from inspect import isabstract, signature
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

import triton_sagemaker
from tests.synth.endpoints import Scene
from triton_sagemaker import (
    AlarmThresholds,
    AlarmTopic,
    Canary,
    EndpointMetrics,
    InvalidEndpoint,
    ITritonEndpoint,
    MultiModelHosting,
    Problem,
    ServerOptions,
    Severity,
    SingleModelHosting,
)

INNER = {EndpointMetrics, InvalidEndpoint, ITritonEndpoint, Problem, Severity}
"""What nobody makes by hand."""
PUBLIC = [
    it
    for it in (getattr(triton_sagemaker, name) for name in triton_sagemaker.__all__)
    if isinstance(it, type) and it not in INNER and not isabstract(it)
]


@pytest.mark.parametrize("made", PUBLIC, ids=lambda it: it.__name__)
def test_every_argument_of_every_class_is_checked_and_named(made: Any) -> None:
    _, *arguments = signature(made.__init__).parameters
    with pytest.raises(TypeError) as refused:
        made(**dict.fromkeys(arguments, Wrong()))
    first, *lines = str(refused.value).splitlines()
    assert first == f"{made.__name__} cannot take these arguments:"
    assert [it.split(":")[0].strip() for it in lines] == arguments


class Wrong:
    """What no argument is."""


CASES: dict[str, tuple[Callable[[Scene], Any], str]] = {
    "a number of seconds": (
        lambda _: Canary(wait=600),  # type: ignore[arg-type]
        "wait: 600 given: write aws_cdk.Duration",
    ),
    "a duration for a number": (
        lambda _: Canary(percent=Duration.minutes(1)),  # type: ignore[arg-type]
        "percent: aws_cdk.Duration given: write int",
    ),
    "a bool for a number": (
        lambda _: ServerOptions(thread_count=True),
        "thread_count: True given: write int or None",
    ),
    "a word that is none of those": (
        lambda _: ServerOptions(ping_mode="alive"),  # type: ignore[arg-type]
        "ping_mode: 'alive' given: write 'live' or 'ready' or None",
    ),
    "a construct for its bucket": (
        lambda s: MultiModelHosting(bucket=s.bucket, prefix="a/"),  # type: ignore[arg-type]
        "bucket: triton_sagemaker.ModelBucket given: write aws_cdk.aws_s3.IBucket, such as its "
        ".bucket",
    ),
    "one for another of the CDK's interfaces": (
        lambda s: s.endpoint(role=s.bucket.bucket),
        "role: aws_cdk.aws_s3.Bucket given: write aws_cdk.aws_iam.IRole or None",
    ),
    "a type of a machine of EC2": (
        lambda s: s.variant(instances=ec2.InstanceType("g5.xlarge")),
        "instances: aws_cdk.aws_ec2.InstanceType given: write triton_sagemaker.Instances",
    ),
    "one for many": (
        lambda s: AlarmTopic(s.stack, "Alarms", emails="team@example.com"),
        "emails: 'team@example.com' given: write Sequence[str]",
    ),
    "one wrong of many": (
        lambda s: s.endpoint(variants=[s.variant(), "AllTraffic"]),
        "variants: [triton_sagemaker.Variant, 'AllTraffic'] given: write "
        "Sequence[triton_sagemaker.Variant]",
    ),
    "a severity that is none": (
        lambda _: AlarmThresholds(disk_percent={"urgent": 90}),  # type: ignore[dict-item]
        "disk_percent: dict given: write Mapping[triton_sagemaker.Severity, float]",
    ),
    "a count of the wrong type": (
        lambda s: s.endpoint().auto_scale(min_count=1, max_count="4", targets=[]),  # type: ignore[arg-type]
        "max_count: '4' given: write int",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_type_says_what_was_given_and_what_to_write(case: str) -> None:
    make, message = CASES[case]
    with pytest.raises(TypeError) as refused:
        make(Scene())
    assert str(refused.value).partition("\n  ")[2] == message


def test_imported_resources_of_the_cdk_are_taken() -> None:
    scene = Scene()
    bucket = s3.Bucket.from_bucket_name(scene.stack, "Bucket", "models")
    role = iam.Role.from_role_arn(scene.stack, "Role", "arn:aws:iam::123456789012:role/own")
    vpc = ec2.Vpc.from_vpc_attributes(
        scene.stack,
        "Vpc",
        availability_zones=["a", "b"],
        private_subnet_ids=["subnet-1", "subnet-2"],
        vpc_id="vpc-1",
    )
    group = ec2.SecurityGroup.from_security_group_id(scene.stack, "Group", "sg-1")
    variant = scene.variant(hosting=SingleModelHosting(bucket=bucket, key="m.tar.gz"), weight=1)
    scene.endpoint(variant, role=role, vpc=vpc, security_groups=(group,))


def test_whole_numbers_are_taken_for_shares() -> None:
    assert AlarmThresholds(disk_percent={Severity.WARNING: 80}).disk_percent == {"warning": 80}
