"""Invalid arguments of TritonEndpoint and their messages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from tests.synth.endpoints import SampleStack
from triton_sagemaker import (
    Canary,
    ContainerImage,
    DataCapture,
    Linear,
    ModelComponent,
    Rolling,
    ScalableInstanceCount,
    TritonEndpoint,
)

EndpointFactory = Callable[[SampleStack], TritonEndpoint]
AddScaling = Callable[[ScalableInstanceCount], None]


def scaled_endpoint(
    add_scaling: AddScaling,
    *,
    min_capacity: int = 1,
    max_capacity: int = 4,
    initial_count: int = 1,
    type_name: str = "ml.g5.xlarge",
    single: bool = False,
) -> EndpointFactory:
    """Return a factory of an endpoint with invalid scaling."""

    def make(sample: SampleStack) -> TritonEndpoint:
        hosting = sample.single_model() if single else sample.multi_model()
        endpoint = sample.endpoint(
            sample.variant(type_name, hosting=hosting, initial_instance_count=initial_count)
        )
        add_scaling(
            endpoint.instance_production_variants[0].auto_scale_instance_count(
                min_capacity=min_capacity, max_capacity=max_capacity
            )
        )
        return endpoint

    return make


def on_invocations(count: ScalableInstanceCount) -> None:
    count.scale_on_invocations("Invocations", max_requests_per_second=2)


def on_gpus(*percents: float) -> AddScaling:
    def scale(count: ScalableInstanceCount) -> None:
        for number, percent in enumerate(percents):
            count.scale_on_gpu_utilization(f"Gpu{number}", target_utilization_percent=percent)

    return scale


def monitored(topics: Callable[[SampleStack], list[sns.ITopic]]) -> EndpointFactory:
    """Return a factory of an endpoint whose alarms notify topics."""

    def make(sample: SampleStack) -> TritonEndpoint:
        endpoint = sample.endpoint()
        endpoint.monitor(topics=topics(sample))
        return endpoint

    return make


def endpoint(**arguments: Any) -> EndpointFactory:
    """Return a factory of an endpoint with these arguments."""
    return lambda sample: sample.endpoint(**arguments)


def variants(*changes: dict[str, Any]) -> EndpointFactory:
    """Return a factory of an endpoint whose variants have these changes."""
    return lambda sample: sample.endpoint(*(sample.variant(**change) for change in changes))


def multi_model(**changes: Any) -> EndpointFactory:
    return lambda sample: sample.endpoint(sample.variant(hosting=sample.multi_model(**changes)))


def single_model(
    hosting: dict[str, Any] | None = None, container: dict[str, Any] | None = None
) -> EndpointFactory:
    return lambda sample: sample.endpoint(
        sample.variant(
            hosting=sample.single_model(**hosting or {}),
            container=sample.container(**container or {}),
        )
    )


def environment(**values: str) -> EndpointFactory:
    return lambda sample: sample.endpoint(
        sample.variant(container=sample.container(environment=values))
    )


def options(**values: Any) -> EndpointFactory:
    return lambda sample: sample.endpoint(sample.with_options(**values))


def capture(**values: Any) -> EndpointFactory:
    return lambda sample: sample.endpoint(
        data_capture=DataCapture(bucket=s3.Bucket(sample.stack, "Other"), prefix="c", **values)
    )


def topic(sample: SampleStack, name: str, region: str = "us-east-1") -> sns.ITopic:
    return sns.Topic.from_topic_arn(sample.stack, name, f"arn:aws:sns:{region}:123456789012:{name}")


def imported_vpc(sample: SampleStack, **subnets: Any) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        sample.stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], **subnets
    )


VARIANT = "variants.AllTraffic"
HOUR = Duration.hours(1)
OWN_IMAGE = ContainerImage(
    f"111122223333.dkr.ecr.eu-west-1.amazonaws.com/triton@sha256:{'0a' * 32}"
)
CASES: dict[str, tuple[EndpointFactory, str]] = {
    "image of another region": (
        single_model(container={"image": OWN_IMAGE}),
        f"{VARIANT}.container.image.uri: the image is in another region than us-east-1: copy it "
        "there",
    ),
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
    "endpoint name": (
        endpoint(endpoint_name="my_endpoint"),
        "endpoint_name: 'my_endpoint', of 11 characters, is not an endpoint name: write up",
    ),
    "too many topics": (
        monitored(lambda sample: [topic(sample, f"t{n}") for n in range(6)]),
        "topics: 6 topics, and an alarm notifies at most 5: remove some, or subscribe",
    ),
    "topic in another region": (
        monitored(lambda sample: [topic(sample, "far", "eu-west-1")]),
        "topics: arn:aws:sns:eu-west-1:123456789012:far is not in us-east-1, and an alarm",
    ),
    "variant name": (
        variants({"variant_name": "all traffic"}),
        "variants.all traffic.variant_name: 'all traffic' is not a variant name: write letters,",
    ),
    "duplicate variant name": (
        variants({}, {}),
        'variants: two variants are named "AllTraffic": use unique names',
    ),
    "negative weight": (
        variants({"initial_variant_weight": -1}, {"variant_name": "B"}),
        f"{VARIANT}.initial_variant_weight: -1 is out of range: write 0 or more",
    ),
    "total weight 0": (
        variants({"initial_variant_weight": 0}),
        "variants: no variant gets traffic: write a weight above 0 for one of the variants",
    ),
    "mixed hosting": (
        lambda sample: sample.endpoint(
            sample.variant(), sample.variant(variant_name="B", hosting=sample.single_model())
        ),
        "variants: MultiModelHosting and SingleModelHosting are invoked differently: use one",
    ),
    "prefix without trailing slash": (
        multi_model(prefix="text"),
        f'{VARIANT}.hosting.prefix: "text" must end with a slash and not start with one:',
    ),
    "key without .tar.gz": (
        single_model(hosting={"key": "text/"}),
        f'{VARIANT}.hosting.key: "text/" is not an archive: write a key that ends in .tar.gz,',
    ),
    "variable of a server option": (
        environment(SAGEMAKER_TRITON_PING_MODE="ready"),
        f"{VARIANT}.container.environment: SAGEMAKER_TRITON_PING_MODE is set by ServerOptions or",
    ),
    "too long environment variable": (
        environment(V="x" * 1025),
        f"{VARIANT}.container.environment.V: has more than 1024 bytes: shorten it",
    ),
    "too large environment": (
        environment(**{f"V{n}": "x" * 1024 for n in range(32)}),
        f"{VARIANT}.container.environment: 35 entries of 32956 bytes; SageMaker allows 100 entries",
    ),
    "zero threads": (
        options(thread_count=0),
        f"{VARIANT}.container.options.thread_count: 0 is out of range: write 1 to 2147483647",
    ),
    "inference type of a multi-model endpoint": (
        options(inference_type="generate"),
        f"{VARIANT}.container.options.inference_type: multi-model endpoints support infer",
    ),
    "ping mode of a multi-model endpoint": (
        options(ping_mode="ready"),
        f"{VARIANT}.container.options.ping_mode: ready makes a multi-model instance unhealthy as",
    ),
    "canary above 50 percent": (
        lambda sample: sample.endpoint(update=Canary(percent=60)),
        "update.percent: 60 % is out of range for canary: write 1 to 50",
    ),
    "linear update above eight hours": (
        lambda sample: sample.endpoint(update=Linear(percent=10, wait=HOUR)),
        "update.wait: up to 9 waits of 3600 s, 2400 s to start instances, 300 s for the old",
    ),
    "rolling update of two variants": (
        lambda sample: sample.endpoint(
            sample.variant(), sample.variant(variant_name="B"), update=Rolling()
        ),
        "update: a rolling update supports one variant only: write canary, linear or all-at-once",
    ),
    "rollback error rate 0": (
        endpoint(rollback_error_rate=0),
        "rollback_error_rate: 0 is out of range: write more than 0, at most 1",
    ),
    "capture above 100 percent": (
        capture(percent=101),
        "data_capture.percent: 101 is out of range: write 1 to 100",
    ),
    "capture of neither requests nor responses": (
        capture(requests=False, responses=False),
        "data_capture.requests: requests and responses are both false: set one of them to true",
    ),
    "minimum capacity 0": (
        scaled_endpoint(on_invocations, min_capacity=0),
        f"{VARIANT}.auto_scale_instance_count.min_capacity: 0 is out of range: write 1 to",
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
    "concurrency 0": (
        scaled_endpoint(
            lambda c: c.scale_on_concurrency("C", requests_per_instance=0), single=True
        ),
        f"{VARIANT}.scale_on_concurrency: 0 is out of range: write more than 0",
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
