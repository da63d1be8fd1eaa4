"""Everything that an endpoint may not be, each with its message."""

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Size
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from platform_facts import Processor, region, release
from tests.synth.endpoints import Scene
from triton_sagemaker import (
    AlarmThresholds,
    AllAtOnce,
    Canary,
    ConcurrencyTarget,
    CpuTarget,
    DataCapture,
    GpuTarget,
    InvalidEndpoint,
    InvocationsTarget,
    Linear,
    Rolling,
    ScheduledCapacity,
    ServerOptions,
    Severity,
)

Wrong = Callable[[Scene], Any]


def scaled(min_count: int = 1, max_count: int = 4, **arguments: Any) -> Wrong:
    """An endpoint with scaling that is wrong."""
    targets = arguments.pop("targets", [InvocationsTarget(per_minute=60)])
    type_name = arguments.pop("type_name", "ml.g5.xlarge")
    processor = arguments.pop("processor", Processor.GPU)
    initial_count = arguments.pop("initial_count", 1)

    def make(scene: Scene) -> Any:
        variant = scene.variant(
            container=scene.container(processor=processor),
            instances=scene.instances(type_name, initial_count=initial_count),
        )
        return scene.endpoint(variant).auto_scale(
            min_count=min_count, max_count=max_count, targets=targets, **arguments
        )

    return make


def old_release(scene: Scene, name: str, **options: Any) -> Any:
    """A variant of an older release, on a machine that it runs on."""
    variant = scene.with_options(**options)
    container = scene.container(release=release(name), options=variant.container.options)
    return scene.endpoint(scene.variant(container=container))


def bucket(scene: Scene) -> s3.IBucket:
    return s3.Bucket(scene.stack, "Other")


def alarm(scene: Scene, name: str) -> cloudwatch.IAlarm:
    return cloudwatch.Alarm.from_alarm_name(scene.stack, name, name)


def topic(scene: Scene, name: str) -> sns.ITopic:
    arn = f"arn:aws:sns:us-east-1:123456789012:{name}"
    return sns.Topic.from_topic_arn(scene.stack, name, arn)


def vpc(scene: Scene) -> ec2.IVpc:
    return ec2.Vpc(
        scene.stack,
        "Vpc",
        availability_zones=["a", "b"],
        nat_gateways=0,
        subnet_configuration=[
            ec2.SubnetConfiguration(name="I", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        ],
    )


V = "variants.AllTraffic"
HOUR = Duration.hours(1)
CASES: dict[str, tuple[Wrong, str]] = {
    "endpoint name": (
        lambda s: s.endpoint(endpoint_name="my_endpoint"),
        "endpoint_name: 'my_endpoint', of 11 characters, is not an endpoint name: write up to 63 "
        "letters, digits, and hyphens between them",
    ),
    "endpoint name too long": (
        lambda s: s.endpoint(endpoint_name="e-" * 32 + "e"),
        f"endpoint_name: '{'e-' * 32}e', of 65 characters, is not an endpoint name: write up to 63 "
        "letters, digits, and hyphens between them",
    ),
    "no variant": (
        lambda s: s.endpoint(variants=[]),
        "variants: 0 variants: write one to 10",
    ),
    "too many variants": (
        lambda s: s.endpoint(*(s.variant(name=f"V{n}") for n in range(11))),
        "variants: 11 variants: write one to 10",
    ),
    "too many rollback alarms": (
        lambda s: s.endpoint(rollback_alarms=[alarm(s, f"a{n}") for n in range(11)]),
        "rollback_alarms: 11 given: write at most 10",
    ),
    "too many topics": (
        lambda s: s.endpoint().monitor(topics=[topic(s, f"t{n}") for n in range(6)]),
        "topics: 6 topics, and an alarm notifies 5: remove some, or subscribe them to another's "
        "topic",
    ),
    "variant name": (
        lambda s: s.endpoint(s.variant(name="all traffic")),
        "variants.all traffic.name: 'all traffic' is not a variant name: write letters, digits, "
        "and hyphens between them",
    ),
    "variant twice": (
        lambda s: s.endpoint(s.variant(), s.variant()),
        'variants: "AllTraffic" is given twice: give each variant a name of its own',
    ),
    "negative weight": (
        lambda s: s.endpoint(s.variant(weight=-1), s.variant(name="B", weight=2)),
        f"{V}.weight: -1 is out of range: write 0 or more",
    ),
    "no weight": (
        lambda s: s.endpoint(s.variant(weight=0)),
        "variants: no variant gets traffic: write a weight above 0 for one of the variants",
    ),
    "mixed hosting": (
        lambda s: s.endpoint(s.variant(), s.variant(name="B", hosting=s.single_model())),
        "variants: MultiModelHosting and SingleModelHosting cannot be invoked alike: make an "
        "endpoint of each",
    ),
    "prefix without a slash at its end": (
        lambda s: s.endpoint(s.variant(hosting=s.multi_model(prefix="text"))),
        f'{V}.hosting.prefix: "text" would make every TargetModel start with a slash, or name no '
        'folder: write "text/"',
    ),
    "prefix with a slash in front": (
        lambda s: s.endpoint(s.variant(hosting=s.multi_model(prefix="/text/"))),
        f'{V}.hosting.prefix: "/text/" would make every TargetModel start with a slash, or name '
        'no folder: write "text/"',
    ),
    "key of no archive": (
        lambda s: s.endpoint(s.variant(hosting=s.single_model(key="text/"))),
        f'{V}.hosting.key: "text/" is not an archive: write a key that ends in .tar.gz, without a '
        "slash in front",
    ),
    "release not in the region": (
        lambda s: s.endpoint(s.variant(container=s.container(region=region("cn-north-1")))),
        f"{V}.container.release: region cn-north-1 has no SageMaker Triton 25.09: the newest "
        "release it has is 25.04",
    ),
    "environment against options": (
        lambda s: s.endpoint(
            s.variant(container=s.container(environment={"SAGEMAKER_TRITON_PING_MODE": "ready"}))
        ),
        f"{V}.container.environment: SAGEMAKER_TRITON_PING_MODE is set by ServerOptions or the "
        "hosting: set it there",
    ),
    "too many variables": (
        lambda s: s.endpoint(
            s.variant(container=s.container(environment={f"V{n:03}": "" for n in range(100)}))
        ),
        f"{V}.container.environment: 103 entries of 502 bytes; SageMaker takes 100 entries and "
        "32768 bytes: remove some",
    ),
    "too many bytes of variables": (
        lambda s: s.endpoint(
            s.variant(container=s.container(environment={f"V{n}": "x" * 1024 for n in range(32)}))
        ),
        f"{V}.container.environment: 35 entries of 32956 bytes; SageMaker takes 100 entries and "
        "32768 bytes: remove some",
    ),
    "variable too long": (
        lambda s: s.endpoint(s.variant(container=s.container(environment={"V": "x" * 1025}))),
        f"{V}.container.environment.V: has more than 1024 bytes: shorten it",
    ),
    "inference type before its release": (
        lambda s: old_release(s, "24.09", inference_type="infer"),
        f"{V}.container.options.inference_type: release 24.09 does not have it: remove it, or "
        "write release 25.03 or newer",
    ),
    "gRPC before its release": (
        lambda s: old_release(s, "23.02", grpc_port=8001),
        f"{V}.container.options.grpc_port: release 23.02 does not have it: remove it, or "
        "write release 23.07 or newer",
    ),
    "additional arguments before their release": (
        lambda s: old_release(s, "23.03", additional_args="--x"),
        f"{V}.container.options.additional_args: release 23.03 does not have it: remove it, or "
        "write release 23.07 or newer",
    ),
    "no threads": (
        lambda s: s.endpoint(s.with_options(thread_count=0)),
        f"{V}.container.options.thread_count: 0 is out of range: write 1 to 2147483647",
    ),
    "no shared memory": (
        lambda s: s.endpoint(s.with_options(python_shm_default=Size.bytes(0))),
        f"{V}.container.options.python_shm_default: 0 is out of range: write 1 to 2147483647",
    ),
    "port": (
        lambda s: s.endpoint(s.with_options(metrics_port=70000)),
        f"{V}.container.options.metrics_port: 70000 is out of range: write 1 to 65535",
    ),
    "GPU limit": (
        lambda s: s.endpoint(s.with_options(model_load_gpu_limit=80)),
        f"{V}.container.options.model_load_gpu_limit: 80 is out of range: write more than 0, at "
        "most 1",
    ),
    "generate on a multi-model endpoint": (
        lambda s: s.endpoint(s.with_options(inference_type="generate")),
        f"{V}.container.options.inference_type: multi-model endpoints always answer as infer, not "
        "generate: remove it, or host a single model",
    ),
    "ready on a multi-model endpoint": (
        lambda s: s.endpoint(s.with_options(ping_mode="ready")),
        f"{V}.container.options.ping_mode: ready makes a multi-model instance unhealthy as soon as "
        "one model fails to load: remove it",
    ),
    "no instance": (
        lambda s: s.endpoint(s.with_instances(initial_count=0)),
        f"{V}.instances.initial_count: 0 is out of range: write 1 to 2147483647",
    ),
    "startup time-out": (
        lambda s: s.endpoint(s.with_instances(startup_timeout=Duration.seconds(10))),
        f"{V}.instances.startup_timeout: 10 s is out of range: write 60 to 3600 whole seconds",
    ),
    "download time-out": (
        lambda s: s.endpoint(s.with_instances(download_timeout=Duration.seconds(7200))),
        f"{V}.instances.download_timeout: 7200 s is out of range: write 60 to 3600 whole seconds",
    ),
    "volume on NVMe": (
        lambda s: s.endpoint(s.with_instances(volume_size=Size.gibibytes(100))),
        f"{V}.instances.volume_size: ml.g5.xlarge has NVMe storage of its own, and SageMaker "
        "refuses a volume size: remove it",
    ),
    "volume too large": (
        lambda s: s.endpoint(
            s.variant(
                container=s.container(processor=Processor.CPU),
                instances=s.instances("ml.m5.xlarge", volume_size=Size.gibibytes(513)),
            )
        ),
        f"{V}.instances.volume_size: 513 GiB is out of range: write 1 to 512 whole GiB",
    ),
    "four GPUs for many models": (
        lambda s: s.endpoint(s.with_instances("ml.g5.12xlarge")),
        f"{V}.instances.instance_type: ml.g5.12xlarge cannot host a GPU multi-model endpoint, "
        "which takes one GPU: write ml.g5.xlarge, ml.g5.2xlarge, ml.g5.4xlarge, ml.g5.8xlarge, "
        "ml.g5.16xlarge, or host a single model",
    ),
    "GPU too old": (
        lambda s: s.endpoint(s.with_instances("ml.p2.xlarge")),
        f"{V}.instances.instance_type: ml.p2.xlarge has a K80 of compute capability 3.7, release "
        "25.09 needs 7.5 or more: write another instance type or another release",
    ),
    "GPU too new": (
        lambda s: s.endpoint(
            s.variant(
                container=s.container(release=release("22.07")),
                instances=s.instances("ml.g6e.xlarge"),
            )
        ),
        f"{V}.instances.instance_type: ml.g6e.xlarge has a L40S of compute capability 8.9, release "
        "22.07 needs 8.6 or less: write another instance type or another release",
    ),
    "AMI too old": (
        lambda s: s.endpoint(s.with_instances(inference_ami="al2-ami-sagemaker-inference-gpu-2")),
        f"{V}.instances.inference_ami: al2-ami-sagemaker-inference-gpu-2 has a driver for CUDA "
        "12.2, the image of 25.09 needs 13.0.1.012: write al2023-ami-sagemaker-inference-gpu-4-1, "
        "or leave it out",
    ),
    "AMI on a CPU": (
        lambda s: s.endpoint(
            s.variant(
                container=s.container(processor=Processor.CPU),
                instances=s.instances("ml.m5.xlarge", inference_ami="x"),
            )
        ),
        f"{V}.instances.inference_ami: ml.m5.xlarge has no GPU and takes none: remove it",
    ),
    "CPU image on a GPU": (
        lambda s: s.endpoint(s.variant(container=s.container(processor=Processor.CPU))),
        f"{V}.container.processor: ml.g5.xlarge has a GPU: write Processor.GPU",
    ),
    "GPU image on a CPU": (
        lambda s: s.endpoint(s.with_instances("ml.m5.xlarge")),
        f"{V}.container.processor: ml.m5.xlarge has no GPU: write Processor.CPU",
    ),
    "canary of everything": (
        lambda s: s.endpoint(update=Canary(percent=60)),
        "update.percent: 60 % is out of range for canary: write 1 to 50",
    ),
    "canary for too long": (
        lambda s: s.endpoint(update=Canary(wait=Duration.seconds(4000))),
        "update.wait: 4000 s is out of range: write 0 to 3600 whole seconds",
    ),
    "steps too small": (
        lambda s: s.endpoint(update=Linear(percent=5)),
        "update.percent: 5 % is out of range for linear: write 10 to 50",
    ),
    "batch too small": (
        lambda s: s.endpoint(update=Rolling(percent=1)),
        "update.percent: 1 % is out of range for rolling: write 5 to 50",
    ),
    "nine hours of linear steps": (
        lambda s: s.endpoint(update=Linear(percent=10, wait=HOUR)),
        "update.wait: up to 9 waits of 3600 s, 2400 s to start instances, 300 s for the old ones: "
        "these are 35100 s, and SageMaker ends an update after 28800 s: write a shorter wait, or a "
        "larger percent",
    ),
    "ten hours of batches": (
        lambda s: s.endpoint(update=Rolling(percent=5, wait=Duration.seconds(900))),
        "update.wait: up to 39 waits of 900 s, 2400 s to start instances: these are 37500 s, and "
        "SageMaker ends an update after 28800 s: write a shorter wait, or a larger percent",
    ),
    "old fleet kept too long": (
        lambda s: s.endpoint(update=AllAtOnce(keep_old=Duration.seconds(86400))),
        "update.keep_old: 86400 s is out of range: write 0 to 3600 whole seconds",
    ),
    "rolling with two variants": (
        lambda s: s.endpoint(s.variant(), s.variant(name="B"), update=Rolling()),
        "update: a rolling update takes one variant: choose canary, linear or all-at-once",
    ),
    "rolled back by nothing at all": (
        lambda s: s.endpoint(rollback_error_rate=0),
        "rollback_error_rate: 0 is out of range: write more than 0, at most 1",
    ),
    "half a second": (
        lambda s: s.endpoint(update=AllAtOnce(keep_old=Duration.millis(500))),
        "update.keep_old: 0.5 s is out of range: write 0 to 3600 whole seconds",
    ),
    "half a GiB": (
        lambda s: s.endpoint(
            s.variant(
                container=s.container(processor=Processor.CPU),
                instances=s.instances("ml.m5.xlarge", volume_size=Size.mebibytes(1536)),
            )
        ),
        f"{V}.instances.volume_size: 1.5 GiB is out of range: write 1 to 512 whole GiB",
    ),
    "one subnet": (
        lambda s: s.endpoint(vpc=vpc(s), vpc_subnets=ec2.SubnetSelection(availability_zones=["a"])),
        "vpc_subnets: 1 chosen: choose 2 to 16, in different zones",
    ),
    "subnets that the VPC does not have": (
        lambda s: s.endpoint(vpc=vpc(s), vpc_subnets=ec2.SubnetSelection(subnet_group_name="X")),
        "vpc_subnets: There are no subnet groups with name 'X' in this VPC. Available names: I",
    ),
    "subnets of no VPC": (
        lambda s: s.endpoint(vpc_subnets=ec2.SubnetSelection(one_per_az=True)),
        "vpc_subnets: there is no VPC: write vpc too, or remove it",
    ),
    "no security group": (
        lambda s: s.endpoint(vpc=vpc(s), security_groups=[]),
        "security_groups: 0 given: write one to 4",
    ),
    "connections of no VPC": (
        lambda s: s.endpoint().connections,
        "connections: the instances are in no VPC: write vpc",
    ),
    "capture of more than all": (
        lambda s: s.endpoint(data_capture=DataCapture(bucket=bucket(s), prefix="c", percent=101)),
        "data_capture.percent: 101 is out of range: write 1 to 100",
    ),
    "capture of nothing": (
        lambda s: s.endpoint(
            data_capture=DataCapture(bucket=bucket(s), prefix="c", requests=False, responses=False)
        ),
        "data_capture.requests: neither requests nor responses are recorded: record one",
    ),
    "scaling to zero": (
        scaled(min_count=0),
        "scaling.min_count: 0 is out of range: write 1 to 2147483647",
    ),
    "scaling limits turned round": (
        scaled(min_count=3, max_count=2),
        "scaling.max_count: 2 is less than the smallest number of instances, 3: write 3 or more",
    ),
    "fewer instances than scaling allows": (
        scaled(min_count=2),
        "instances.initial_count: 1 is outside the scaling limits: write 2 to 4",
    ),
    "more instances than scaling allows": (
        scaled(initial_count=5),
        "instances.initial_count: 5 is outside the scaling limits: write 1 to 4",
    ),
    "nothing to scale by": (
        scaled(targets=[]),
        "scaling: nothing to scale by: write max_rps, concurrency, gpu_percent, cpu_percent or "
        "schedules",
    ),
    "one target twice": (
        scaled(targets=[GpuTarget(percent=50), GpuTarget(percent=60)]),
        "scaling.targets: GpuTarget is given twice: keep one",
    ),
    "scaling by a GPU that is not there": (
        scaled(targets=[GpuTarget(percent=50)], type_name="ml.m5.xlarge", processor=Processor.CPU),
        "scaling.gpu_percent: ml.m5.xlarge has no GPU: remove gpu_percent",
    ),
    "GPU target of more than one GPU": (
        scaled(targets=[GpuTarget(percent=150)]),
        "scaling.gpu_percent: 150 is out of range: write more than 0, at most 100",
    ),
    "CPU target of more than one vCPU": (
        scaled(targets=[CpuTarget(percent=400)]),
        "scaling.cpu_percent: 400 is out of range: write more than 0, at most 100",
    ),
    "target of nothing": (
        scaled(targets=[InvocationsTarget(per_minute=0)]),
        "scaling.max_rps: 0 is out of range: write more than 0",
    ),
    "concurrency of many models": (
        scaled(targets=[ConcurrencyTarget(per_instance=4)]),
        "scaling.concurrency: AWS documents no such metric of multi-model endpoints: scale by "
        "requests (max_rps), or host a single model",
    ),
    "GPU limit on a CPU": (
        lambda s: s.endpoint(
            s.variant(
                container=s.container(
                    processor=Processor.CPU, options=ServerOptions(model_load_gpu_limit=0.8)
                ),
                instances=s.instances("ml.m5.xlarge"),
            )
        ),
        f"{V}.container.options.model_load_gpu_limit: ml.m5.xlarge has no GPU: remove "
        "model_load_gpu_limit",
    ),
    "threshold that nothing reaches": (
        lambda s: s.endpoint().monitor(AlarmThresholds(server_error_rate={Severity.CRITICAL: 5})),
        "alarms.server_error_rate.critical: 5 is out of range: write 0 to 1",
    ),
    "schedule of no form": (
        scaled(schedules=[ScheduledCapacity(name="n", schedule="noon", min_count=1, max_count=2)]),
        "scaling.schedules.n.schedule: 'noon' is no schedule: write cron(0 8 ? * MON-FRI *), "
        "rate(12 hours) or at(2027-01-31T08:00:00)",
    ),
    "schedule turned round": (
        scaled(
            schedules=[
                ScheduledCapacity(name="n", schedule="rate(1 day)", min_count=3, max_count=2)
            ]
        ),
        "scaling.schedules.n.max_count: 2 is less than the smallest number of instances, 3: write "
        "3 or more",
    ),
}


@pytest.mark.parametrize(
    "update",
    [
        Linear(percent=33, wait=HOUR, keep_old=HOUR),  # in three steps, the last of 34 %
        Linear(percent=50, wait=HOUR, keep_old=HOUR),
        Linear(percent=10, wait=Duration.seconds(2899)),
        Rolling(percent=25, wait=HOUR),
    ],
)
def test_an_update_that_ends_in_time_is_taken(update: Any) -> None:
    Scene().endpoint(update=update)


@pytest.mark.parametrize("case", CASES)
def test_wrong_configuration_says_where_what_and_what_to_write(case: str) -> None:
    make, message = CASES[case]
    with pytest.raises(InvalidEndpoint) as error:
        make(Scene())
    assert [str(problem) for problem in error.value.problems] == [message]


def test_everything_wrong_is_listed_at_once() -> None:
    scene = Scene()
    with pytest.raises(InvalidEndpoint) as error:
        scene.endpoint(
            scene.variant(
                hosting=scene.multi_model(prefix="text"),
                instances=scene.instances(initial_count=0, startup_timeout=Duration.seconds(1)),
            ),
            endpoint_name="my endpoint",
            update=Canary(percent=90),
        )
    assert str(error.value).splitlines()[0] == "endpoint my endpoint cannot be deployed:"
    assert len(error.value.problems) == 5


def test_a_value_that_only_a_deploy_knows_is_not_checked() -> None:
    scene = Scene()
    name = CfnParameter(scene.stack, "Name").value_as_string
    weight = CfnParameter(scene.stack, "Weight", type="Number").value_as_number
    scene.endpoint(scene.variant(weight=weight), endpoint_name=name)
    assert scene.properties("AWS::SageMaker::Endpoint")["EndpointName"] == {"Ref": "Name"}
