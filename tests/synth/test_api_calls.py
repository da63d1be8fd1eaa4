"""What AWS would refuse of the requests that templates become; and that each rule sees it."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_cdk import TimeZone
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_applicationautoscaling import Schedule

from stages import load_stage
from tests.synth.api import (
    build_rules,
    cloudwatch_rules,
    policy_rules,
    sagemaker_rules,
    storage_rules,
)
from tests.synth.api.calls import FURTHER, MADE, Calls, calls
from tests.synth.api.deployed import Deployed
from tests.synth.api.models import model_violations, request_shape
from tests.synth.conftest import CONTEXT, Templates
from tests.synth.endpoints import Scene
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE, every_stage
from triton_sagemaker import (
    DataCapture,
    ServerOptions,
)

Rule = Callable[[Calls], Iterator[str]]
Resources = dict[str, dict[str, Any]]

RULES: list[Rule] = [
    model_violations,
    *build_rules.RULES,
    *cloudwatch_rules.RULES,
    *policy_rules.RULES,
    *sagemaker_rules.RULES,
    *storage_rules.RULES,
]


def refused(templates: dict[str, dict[str, Any]], *, region: str, rules: list[Rule]) -> list[str]:
    """What is wrong with the requests of a deploy."""
    made = calls(Deployed(templates, region=region, account=ACCOUNT), request_shape)
    return [line for rule in rules for line in rule(made)]


def test_shipped_stages_make_valid_requests(stage: str, templates: Templates) -> None:
    assert refused(templates(stage), region=load_stage(stage).region, rules=RULES) == []


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_generated_stages_make_valid_requests(name: str, every_template: Templates) -> None:
    assert refused(every_template(name), region=every_stage(name).region, rules=RULES) == []


@pytest.fixture(scope="module")
def everything() -> dict[str, dict[str, Any]]:
    """An endpoint with what the construct library can do, and no stage asks for."""
    scene = Scene(CONTEXT)
    records = s3.Bucket.from_bucket_name(scene.stack, "Records", "records")
    variant = scene.variant(
        "ml.c5.xlarge",
        container=scene.container(
            options=ServerOptions(thread_count=4, model_namespacing=False),
            environment={"OWN": "value"},
        ),
        hosting=scene.multi_model(cache_models=False),
    )
    endpoint = scene.endpoint(
        variant,
        encryption_key=scene.bucket.key,
        data_capture=DataCapture(bucket=records, prefix="asked"),
    )
    scaling = endpoint.instance_production_variants[0].auto_scale_instance_count(max_capacity=3)
    scaling.scale_on_invocations("Invocations", max_requests_per_second=2)
    scaling.scale_on_schedule(
        "morning",
        schedule=Schedule.cron(hour="8", minute="0"),
        min_capacity=2,
        max_capacity=4,
        time_zone=TimeZone.EUROPE_BERLIN,
    )
    endpoint.monitor()
    return {"Stack": dict(scene.template().to_json())}


def test_construct_library_makes_valid_requests(
    everything: dict[str, dict[str, Any]],
) -> None:
    assert refused(everything, region="us-east-1", rules=RULES) == []


def test_every_known_resource_type_is_used(
    everything: dict[str, dict[str, Any]], every_template: Templates
) -> None:
    stacks = [everything, *map(every_template, EVERY_STAGE)]
    made = {
        resource["Type"]
        for templates in stacks
        for template in templates.values()
        for resource in template["Resources"].values()
    }
    assert MADE.keys() | FURTHER.keys() == {
        each for each in made if not each.startswith("Custom::")
    }


def test_unknown_resource_type_is_reported(every_template: Templates) -> None:
    strange = copy.deepcopy(every_template("plain"))
    strange["plain-models"]["Resources"]["Table"] = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {"TableName": "t"},
    }
    messages = refused(strange, region="us-west-1", rules=[model_violations])
    assert messages == ["plain-models.Table:  has no TableName"]


def first(resources: Resources, kind: str, name: str = "") -> dict[str, Any]:
    """The properties of the first resource of a type whose logical id holds a name."""
    result: dict[str, Any] = next(
        each for id_, each in resources.items() if each["Type"] == kind and name in id_
    )["Properties"]
    return result


def every(resources: Resources, kind: str) -> list[dict[str, Any]]:
    """The properties of the resources of a type."""
    return [resource["Properties"] for resource in resources.values() if resource["Type"] == kind]


def container(resources: Resources) -> dict[str, Any]:
    result: dict[str, Any] = first(resources, "AWS::SageMaker::Model")["PrimaryContainer"]
    return result


def variant(resources: Resources) -> dict[str, Any]:
    result: dict[str, Any] = first(resources, "AWS::SageMaker::EndpointConfig")[
        "ProductionVariants"
    ][0]
    return result


def policy(resources: Resources) -> dict[str, Any]:
    """The blue/green policy of an endpoint."""
    deployment = first(resources, "AWS::SageMaker::Endpoint")["DeploymentConfig"]
    result: dict[str, Any] = deployment["BlueGreenUpdatePolicy"]
    return result


def alarm(resources: Resources) -> dict[str, Any]:
    return first(resources, "AWS::CloudWatch::Alarm", "Monitoring")


def statement(resources: Resources) -> dict[str, Any]:
    """The first statement of an endpoint's role."""
    document = first(resources, "AWS::IAM::Policy", "EndpointRole")["PolicyDocument"]
    result: dict[str, Any] = document["Statement"][0]
    return result


def environment(resources: Resources) -> dict[str, Any]:
    """The environment of builds on a GPU."""
    result: dict[str, Any] = first(resources, "AWS::CodeBuild::Project", "Engines")["Environment"]
    return result


def dashboard(resources: Resources, **changes: Any) -> None:
    """Give a dashboard one widget."""
    widget = {"x": 0, "y": 0, "width": 8, "height": 6, "properties": {"metrics": []}, **changes}
    body = json.dumps({"widgets": [widget] * changes.get("times", 1)})
    first(resources, "AWS::CloudWatch::Dashboard")["DashboardBody"] = body


Change = Callable[[Resources], object]
CONFIG, ENDPOINT = "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
SCALED_BY = "AWS::ApplicationAutoScaling::ScalingPolicy"
OPERATION = "TargetTrackingScalingPolicyConfiguration"

MISTAKES: dict[str, tuple[Rule, str, Change, str]] = {
    "a parameter that the API lacks": (
        model_violations,
        "prod-text",
        lambda each: container(each).update(Cpu=2),
        "CreateModel has no PrimaryContainer.Cpu",
    ),
    "more topics than an alarm tells": (
        model_violations,
        "prod-text",
        lambda each: alarm(each).update(AlarmActions=["arn:aws:sns:us-east-1:1:t"] * 6),
        "Member must have length less than or equal to 5",
    ),
    "many models in one file": (
        sagemaker_rules.model_data,
        "prod-text",
        lambda each: container(each).update(ModelDataUrl="s3://b/a.tar.gz"),
        "s3://b/a.tar.gz is no prefix",
    ),
    "two subnets in one zone": (
        sagemaker_rules.subnets,
        "prod-network",
        lambda resources: [
            subnet.update(AvailabilityZone="us-east-1a")
            for subnet in every(resources, "AWS::EC2::Subnet")
        ],
        "subnets in one availability zone",
    ),
    "many models on several GPUs": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: variant(each).update(InstanceType="ml.g5.12xlarge"),
        "ml.g5.12xlarge has 4 GPUs, for a multi-model endpoint",
    ),
    "a key beside NVMe": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: first(each, CONFIG).update(KmsKeyId="k"),
        "KmsKeyId with the NVMe storage of ml.g5.xlarge",
    ),
    "a canary of 60 %": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: policy(each)["TrafficRoutingConfiguration"]["CanarySize"].update(Value=60),
        "60 % is not 1 to 50 %",
    ),
    "a rolling update of several variants": (
        sagemaker_rules.updates,
        "prod-search",
        lambda each: first(each, ENDPOINT).update(
            DeploymentConfig={
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                    "WaitIntervalInSeconds": 60,
                }
            }
        ),
        "a rolling update of several variants",
    ),
    "a period that metrics do not have": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(Period=30),
        "a period of 30 s",
    ),
    "two statistics": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(Statistic="Sum", ExtendedStatistic="p99"),
        "not one of Statistic and ExtendedStatistic",
    ),
    "a unit that a metric may not have": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(Unit="Percent"),
        "a metric without the unit Percent is not seen",
    ),
    "a widget of 501 metrics": (
        cloudwatch_rules.dashboards,
        "prod-text",
        lambda each: dashboard(each, properties={"metrics": [["N", "M"]] * 501}),
        "501 metrics in a widget",
    ),
    "scaling of what is not there": (
        cloudwatch_rules.scaling,
        "prod-text",
        lambda each: first(each, TARGET).update(ResourceId="endpoint/prod-text/variant/Other"),
        "there is no endpoint/prod-text/variant/Other",
    ),
    "two policies of one metric": (
        cloudwatch_rules.scaling,
        "prod-text",
        lambda each: first(each, SCALED_BY, "Gpu").update(
            {OPERATION: first(each, SCALED_BY, "Invocations")[OPERATION]}
        ),
        "is scaled by SageMakerVariantInvocationsPerInstance 2 times",
    ),
    "a role of too many words": (
        policy_rules.sizes,
        "prod-text",
        lambda each: statement(each).update(Resource=["arn:aws:s3:::" + "b" * 63] * 140),
        "inline policies of 13",
    ),
    "a Sid with a blank": (
        policy_rules.grammar,
        "prod-text",
        lambda each: statement(each).update(Sid="Write logs"),
        "not each Sid is of letters and digits",
    ),
    "a key that nobody manages": (
        policy_rules.key_policies,
        "prod-models",
        lambda each: first(each, "AWS::KMS::Key", "Models")["KeyPolicy"].update(Statement=[]),
        "nobody may manage the key",
    ),
    "a topic in China": (
        policy_rules.partitions,
        "prod-text",
        lambda each: alarm(each).update(AlarmActions=["arn:aws-cn:sns:cn-north-1:1:t"]),
        "arn:aws-cn: in aws",
    ),
    "CodeBuild's credentials for another's image": (
        build_rules.build_projects,
        "prod-models",
        lambda each: environment(each).update(ImagePullCredentialsType="CODEBUILD"),
        "CODEBUILD for nvcr.io/nvidia/tensorrt",
    ),
    "a catalog entry of 4097 bytes": (
        storage_rules.parameters,
        "prod-text",
        lambda each: first(each, "AWS::SSM::Parameter").update(Value="é" * 2048 + "x"),
        "a value of 4097 bytes",
    ),
    "access logs that are encrypted with a key": (
        storage_rules.buckets,
        "prod-models",
        lambda each: first(each, "AWS::S3::Bucket", "AccessLogs").update(
            BucketEncryption=first(each, "AWS::S3::Bucket", "ModelsBucket")["BucketEncryption"]
        ),
        "logs to a bucket that is encrypted with aws:kms",
    ),
    "subnets that overlap": (
        storage_rules.networks,
        "prod-network",
        lambda each: first(each, "AWS::EC2::Subnet").update(CidrBlock="10.0.128.0/18"),
        "10.0.128.0/17 overlaps 10.0.128.0/18",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_invalid_request_is_reported(mistake: str, templates: Templates) -> None:
    rule, stack, change, messages = MISTAKES[mistake]
    broken = copy.deepcopy(templates("prod"))
    change(broken[stack]["Resources"])
    assert messages in "\n".join(refused(broken, region="us-east-1", rules=[rule]))


COMPONENT = "AWS::SageMaker::InferenceComponent"
MISTAKES_OF_COMPONENTS: dict[str, tuple[Rule, Change, str]] = {
    "a component of a variant that there is not": (
        sagemaker_rules.components,
        lambda resources: first(resources, COMPONENT).update(VariantName="Other"),
        "not a variant that hosts components",
    ),
    "a configuration without a role": (
        sagemaker_rules.variants,
        lambda resources: first(resources, CONFIG).pop("ExecutionRoleArn"),
        "inference components without ExecutionRoleArn",
    ),
    "a blue/green update of components": (
        sagemaker_rules.updates,
        lambda resources: first(resources, ENDPOINT).update(
            DeploymentConfig={"BlueGreenUpdatePolicy": {}}
        ),
        "a DeploymentConfig of an endpoint of components",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES_OF_COMPONENTS)
def test_invalid_inference_component_is_reported(mistake: str, every_template: Templates) -> None:
    rule, change, message = MISTAKES_OF_COMPONENTS[mistake]
    broken = copy.deepcopy(every_template("components"))
    change(broken["components-text"]["Resources"])
    assert message in "\n".join(refused(broken, region="us-east-1", rules=[rule]))


def test_every_rule_rejects_a_request() -> None:
    mistakes = [*MISTAKES.values(), *MISTAKES_OF_COMPONENTS.values()]
    assert {mistake[0] for mistake in mistakes} == set(RULES)


def test_gpu_project_in_region_without_gpus_is_reported(templates: Templates) -> None:
    messages = refused(templates("prod"), region="us-west-1", rules=[build_rules.build_projects])
    assert messages == ["prod-models.EnginesProject8115F258: no GPU in us-west-1"]


def test_arn_of_another_partition_is_reported(every_template: Templates) -> None:
    china = copy.deepcopy(every_template("china"))
    of = first(china["china-delivery"]["Resources"], "AWS::IAM::Policy", "Deploy")
    text = json.dumps(of["PolicyDocument"])
    assert "s3.cn-north-1.amazonaws.com.cn" in text
    of["PolicyDocument"] = json.loads(text.replace(".amazonaws.com.cn", ".amazonaws.com"))
    (messages,) = refused(china, region="cn-north-1", rules=[policy_rules.partitions])
    assert ".cn-north-1.amazonaws.com in aws-cn" in messages
