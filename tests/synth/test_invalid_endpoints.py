"""Invalid arguments of TritonEndpoint and their messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Size, TimeZone
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sns as sns
from aws_cdk.aws_applicationautoscaling import Schedule
from syrupy.assertion import SnapshotAssertion

from platform_facts import instance_type, release
from platform_facts.rules import Rule, Violation
from tests.synth.endpoints import SampleStack
from triton_sagemaker import (
    Canary,
    ComponentHosting,
    ContainerImage,
    DataCapture,
    Fallback,
    Linear,
    ModelComponent,
    Rolling,
    ScalableInstanceCount,
    ServerOptions,
    TritonContainer,
    TritonEndpoint,
)

EndpointFactory = Callable[[SampleStack], TritonEndpoint]
AddScaling = Callable[[ScalableInstanceCount], None]


def scaled_endpoint(add_scaling: AddScaling, *, type_name: str = "ml.g5.xlarge") -> EndpointFactory:
    """Return a factory of an endpoint with invalid scaling."""

    def make(sample: SampleStack) -> TritonEndpoint:
        endpoint = sample.endpoint(sample.variant(type_name))
        add_scaling(
            endpoint.instance_production_variants[0].auto_scale_instance_count(max_capacity=4)
        )
        return endpoint

    return make


def on_gpus(*percents: float) -> AddScaling:
    def scale(count: ScalableInstanceCount) -> None:
        for number, percent in enumerate(percents):
            count.scale_on_gpu_utilization(f"Gpu{number}", target_utilization_percent=percent)

    return scale


def variants(*changes: dict[str, Any]) -> EndpointFactory:
    """Return a factory of an endpoint whose variants have these changes."""
    return lambda sample: sample.endpoint(*(sample.variant(**change) for change in changes))


def multi_model(**changes: Any) -> EndpointFactory:
    return lambda sample: sample.endpoint(sample.variant(hosting=sample.multi_model(**changes)))


def imported_vpc(sample: SampleStack, **subnets: Any) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        sample.stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], **subnets
    )


VARIANT = "variants.AllTraffic"
GRPC_PORT = ServerOptions(allow_grpc=True, metrics_port=8001)
PING_MODE = {"SAGEMAKER_TRITON_PING_MODE": "ready"}
CASES: dict[str, tuple[EndpointFactory, str]] = {
    "one private subnet": (
        lambda sample: sample.endpoint(vpc=imported_vpc(sample, private_subnet_ids=["subnet-1"])),
        "vpc: 1 subnet(s) in one availability zone, and SageMaker needs subnets in two zones: add",
    ),
    "VPC without subnets": (
        lambda sample: sample.endpoint(vpc=imported_vpc(sample)),
        "vpc: no subnet matches: write vpc_subnets, or import the VPC with its private subnets",
    ),
    "selection without subnets": (
        lambda sample: sample.endpoint(
            vpc=ec2.Vpc(sample.stack, "Vpc", max_azs=2),
            vpc_subnets=ec2.SubnetSelection(subnet_group_name="Database"),
        ),
        "vpc_subnets: no subnet matches: write vpc_subnets, or import the VPC with its private",
    ),
    "subnets without a VPC": (
        lambda sample: sample.endpoint(vpc_subnets=ec2.SubnetSelection()),
        "vpc: missing, and vpc_subnets and security_groups belong to it: write vpc",
    ),
    "duplicate variant name": (
        variants({}, {}),
        'variants: two variants are named "AllTraffic": use unique names',
    ),
    "negative weight": (
        variants({"initial_variant_weight": -1}, {"variant_name": "B"}),
        f"{VARIANT}.initial_variant_weight: -1 is out of range: write 0 or more",
    ),
    "mixed hosting": (
        lambda sample: sample.endpoint(
            sample.variant(), sample.variant(variant_name="B", hosting=sample.single_model())
        ),
        "variants: MultiModelHosting and SingleModelHosting are invoked differently: use one",
    ),
    "startup of 30 seconds": (
        variants({"startup_timeout": Duration.seconds(30)}),
        f"{VARIANT}.startup_timeout: 0.5 is out of range: write 1 to 60",
    ),
    "download of a multi-model endpoint": (
        variants({"download_timeout": Duration.minutes(20)}),
        f"{VARIANT}.download_timeout: not known to work for a model that a call loads: remove it, "
        "or write SingleModelHosting",
    ),
    "volume of an NVMe type": (
        variants({"volume_size": Size.gibibytes(100)}),
        f"{VARIANT}.volume_size: ml.g5.xlarge has local NVMe storage, and SageMaker attaches no",
    ),
    "metrics port of gRPC": (
        variants({"container": TritonContainer(release=release("25.09"), options=GRPC_PORT)}),
        f"{VARIANT}.container.options: gRPC has the port 8001, metrics 8001, SageMaker 8080: write",
    ),
    "prefix without trailing slash": (
        multi_model(prefix="text"),
        f'{VARIANT}.hosting.prefix: "text" must end with a slash and not start with one:',
    ),
    "key without .tar.gz": (
        lambda sample: sample.endpoint(sample.variant(hosting=sample.single_model(key="text/"))),
        f'{VARIANT}.hosting.key: "text/" is not an archive: write a key that ends in .tar.gz,',
    ),
    "variable of a server option": (
        variants({"container": TritonContainer(release=release("25.09"), environment=PING_MODE)}),
        f"{VARIANT}.container.environment: SAGEMAKER_TRITON_PING_MODE is set by ServerOptions or",
    ),
    "scaling without policy": (
        scaled_endpoint(lambda _: None),
        f"{VARIANT}.auto_scale_instance_count: nothing scales the count: call",
    ),
    "duplicate scaling metric": (
        scaled_endpoint(on_gpus(50, 60)),
        f"{VARIANT}.scale_on_gpu_utilization: called twice, but AWS allows one policy for each",
    ),
    "GPU scaling of a CPU instance": (
        scaled_endpoint(on_gpus(50), type_name="ml.m5.xlarge"),
        f"{VARIANT}.scale_on_gpu_utilization: ml.m5.xlarge has no GPU: remove it",
    ),
    "concurrency scaling of a multi-model endpoint": (
        scaled_endpoint(lambda c: c.scale_on_concurrency("C", requests_per_instance=5)),
        f"{VARIANT}.scale_on_concurrency: AWS documents no concurrency metric for multi-model",
    ),
}


STAGE_KEYS = re.compile(
    r"\b(max_rps|min_count|max_count|\w+_percent|memory_mb|\w+_(seconds|minutes)|instance_types"
    r"|schedules)\b"
)


@pytest.mark.parametrize("case", CASES)
def test_invalid_argument_is_a_problem_with_its_path(case: str) -> None:
    make, message = CASES[case]
    (problem,) = make(SampleStack()).problems
    assert str(problem).startswith(message)
    assert not STAGE_KEYS.search(str(problem))


def many_models(sample: SampleStack) -> TritonEndpoint:
    """Return a multi-model endpoint with data capture, scaling by each metric, and alarms."""
    endpoint = sample.endpoint(
        sample.variant(
            container=sample.container(
                image=ContainerImage(
                    f"111122223333.dkr.ecr.us-east-1.amazonaws.com/a@sha256:{'0a' * 32}"
                ),
                options=ServerOptions(thread_count=2, python_shm_growth=Size.mebibytes(8)),
                environment={"A": "b"},
            )
        ),
        data_capture=DataCapture(bucket=sample.bucket, prefix="captured", percent=11),
        update=Canary(percent=12, wait=Duration.seconds(13)),
        rollback_error_rate=0.14,
    )
    (variant,) = endpoint.instance_production_variants
    count = variant.auto_scale_instance_count(min_capacity=2, max_capacity=3)
    count.scale_on_invocations("Calls", max_requests_per_second=15)
    count.scale_on_gpu_utilization("Gpu", target_utilization_percent=16)
    count.scale_on_concurrency("Concurrency", requests_per_instance=17)
    count.scale_on_schedule(
        "Night",
        schedule=Schedule.expression("rate(1 day)"),
        min_capacity=4,
        max_capacity=5,
        time_zone=TimeZone.EUROPE_BERLIN,
    )
    arn = "arn:aws:sns:us-east-1:123456789012:topic"
    endpoint.monitor(topics=[sns.Topic.from_topic_arn(sample.stack, "Topic", arn)])
    return endpoint


def several_types(sample: SampleStack) -> TritonEndpoint:
    """Return a single-model endpoint with two instance types."""
    fallback = Fallback(instance_type=instance_type("ml.g6.xlarge"), hosting=sample.single_model())
    variant = sample.variant(
        hosting=sample.single_model(),
        fallbacks=[fallback],
        provision_timeout=Duration.minutes(18),
    )
    endpoint = sample.endpoint(variant, update=Rolling(percent=19))
    (scaled,) = endpoint.instance_production_variants
    count = scaled.auto_scale_instance_count(min_capacity=2, max_capacity=3)
    types = {"ml.g5.xlarge": 20, "ml.g6.xlarge": 21}
    count.scale_on_concurrency("Concurrency", requests_per_instance=types)
    return endpoint


def of_components(sample: SampleStack) -> TritonEndpoint:
    """Return an endpoint of one inference component."""
    component = ModelComponent(
        name="one", source=sample.single_model(), memory=Size.mebibytes(1024), cpus=2
    )
    hosting = ComponentHosting(components={"one": component}, max_instance_count=3)
    endpoint = sample.endpoint(sample.variant(hosting=hosting))
    count = endpoint.components[0].auto_scale_copy_count(min_capacity=2, max_capacity=3)
    count.scale_on_invocations("Calls", max_requests_per_second=22)
    count.scale_on_concurrency("Concurrency", requests_per_copy=23)
    return endpoint


@pytest.mark.parametrize("in_range", [True, False])
@pytest.mark.parametrize("make", [many_models, several_types, of_components])
def test_each_rule_judges_its_argument(
    make: EndpointFactory,
    in_range: bool,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    """All rules are violated; the snapshot has each rule, its argument and the judged values.

    Some rules are evaluated only if the ranges of their values are not violated.
    """

    def violate(rule: Rule[Any], *values: object) -> list[Violation]:
        if in_range and rule.statement.startswith("Must be "):
            return []
        plain = [value for value in values if isinstance(value, str | int | float | None)]
        return [Violation(rule.path, f"{rule.statement} {plain}")]

    endpoint = make(SampleStack())
    monkeypatch.setattr(Rule, "__call__", violate)
    assert endpoint.validate() == snapshot


TEXT: Any = "text"
PLAIN_VALUES: dict[str, Callable[[SampleStack], object]] = {
    "bucket: 'text' is of type str: write s3.Bucket.from_": lambda sample: sample.multi_model(
        bucket=TEXT
    ),
    "vpc: 'text' is of type str: write ec2.Vpc.from_lookup(": lambda sample: sample.endpoint(
        vpc=TEXT
    ),
    "wait: 'text' is of type str: write Duration.minutes(5)": lambda _: Canary(wait=TEXT),
    "memory: 'text' is of type str: write Size.": lambda sample: ModelComponent(
        name="a", source=sample.single_model(), memory=TEXT
    ),
}


@pytest.mark.parametrize("message", PLAIN_VALUES)
def test_text_instead_of_a_construct_is_an_error(message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        PLAIN_VALUES[message](SampleStack())


def test_zero_percent_is_a_problem() -> None:
    for update in (Linear(percent=0), Rolling(percent=0)):
        assert len(SampleStack().endpoint(update=update).problems) == 1


REGIONS = {
    "cn-north-1": "container.release: region cn-north-1 has no SageMaker Triton 25.09: its newest "
    "release is 25.04",
    "me-central-1": "region: CloudFormation has no AWS::SageMaker::Endpoint in me-central-1: write "
    "another region",
    "eu-west-9": 'region: no AWS region with SageMaker Triton images "eu-west-9": did you mean',
    None: "region: the stack is environment-agnostic, and images differ by region: "
    "write env=Environment(region=...)",
}


@pytest.mark.parametrize("region", REGIONS)
def test_region_without_the_image_is_a_problem(region: str | None) -> None:
    (problem,) = SampleStack(region=region).endpoint().problems
    assert str(problem).startswith(REGIONS[region])


@pytest.mark.parametrize("synthesise", [SampleStack.template, lambda sample: sample.app.synth()])
def test_synthesis_fails_with_problems_of_all_endpoints(
    synthesise: Callable[[SampleStack], object],
) -> None:
    sample = SampleStack()  # without the context of cdk.json
    first = sample.endpoint(
        sample.variant(hosting=sample.multi_model(prefix="text"), initial_instance_count=0),
        endpoint_name="my endpoint",
        update=Canary(percent=90),
    )
    first.instance_production_variants[0].auto_scale_instance_count(max_capacity=0)
    TritonEndpoint(sample.stack, "Second", endpoint_name="second", variants=[])
    with pytest.raises(RuntimeError) as error:
        synthesise(sample)
    _, *lines = str(error.value).splitlines()
    assert sum(line.startswith("  [Stack/Endpoint] ") for line in lines) == 5
    assert "  [Stack/Second] variants: 0 variants: write one to 10" in lines
