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
    stack_rules,
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
    *stack_rules.RULES,
    *storage_rules.RULES,
]


def refused(templates: dict[str, dict[str, Any]], *, region: str, rules: list[Rule]) -> list[str]:
    """What is wrong with the requests of a deploy."""
    made = calls(Deployed(templates, region=region, account=ACCOUNT), request_shape)
    return [line for rule in rules for line in rule(made)]


def test_aws_takes_what_the_shipped_stages_ask(stage: str, templates: Templates) -> None:
    assert refused(templates(stage), region=load_stage(stage).region, rules=RULES) == []


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_aws_takes_whatever_a_stage_may_ask(name: str, every_template: Templates) -> None:
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


def test_aws_takes_what_the_construct_library_may_ask(
    everything: dict[str, dict[str, Any]],
) -> None:
    assert refused(everything, region="us-east-1", rules=RULES) == []


def test_no_type_of_resource_is_known_in_vain(
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


def test_every_type_of_resource_becomes_requests(every_template: Templates) -> None:
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


def pooled(variant: dict[str, Any], *priorities: int) -> dict[str, Any]:
    """Give a variant pools of its instance type."""
    kind = variant.pop("InstanceType")
    variant["InstancePools"] = [
        {"InstanceType": kind, "Priority": priority} for priority in priorities
    ]
    return variant


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


def definition(resources: Resources) -> None:
    machine = {"StartAt": "a", "States": {"a": {"Type": "Pass", "Next": "b"}}}
    first(resources, "AWS::StepFunctions::StateMachine")["DefinitionString"] = json.dumps(machine)


def with_actions(resources: Resources, *actions: str) -> None:
    statement(resources)["Action"] = list(actions)


Change = Callable[[Resources], object]
MODEL, CONFIG, ENDPOINT = (
    f"AWS::SageMaker::{each}" for each in ("Model", "EndpointConfig", "Endpoint")
)
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
    "a text for a number": (
        model_violations,
        "prod-text",
        lambda each: variant(each).update(InitialInstanceCount="two"),
        "Invalid type for parameter ProductionVariants[0].InitialInstanceCount",
    ),
    "a name with a blank": (
        model_violations,
        "prod-text",
        lambda each: variant(each).update(VariantName="All Traffic"),
        "failed to satisfy constraint: Member must satisfy regular expression pattern",
    ),
    "a type that there is not": (
        model_violations,
        "prod-text",
        lambda each: variant(each).update(InstanceType="ml.g5.tiny"),
        "Member must satisfy enum value set",
    ),
    "more alarms than roll back": (
        model_violations,
        "prod-text",
        lambda each: first(each, ENDPOINT)["DeploymentConfig"].update(
            AutoRollbackConfiguration={"Alarms": [{"AlarmName": f"a{n}"} for n in range(11)]}
        ),
        "Member must have length less than or equal to 10",
    ),
    "more topics than an alarm tells": (
        model_violations,
        "prod-text",
        lambda each: alarm(each).update(AlarmActions=["arn:aws:sns:us-east-1:1:t"] * 6),
        "Member must have length less than or equal to 5",
    ),
    "a variable of 1025 bytes": (
        sagemaker_rules.environments,
        "prod-text",
        lambda each: container(each)["Environment"].update(LONG="é" * 513),
        "a variable has more than 1024 bytes",
    ),
    "variables of 33 KB": (
        sagemaker_rules.environments,
        "prod-text",
        lambda each: container(each)["Environment"].update(
            {f"V{n}": "x" * 1000 for n in range(34)}
        ),
        "the environment has more than 32 KB",
    ),
    "many models in one file": (
        sagemaker_rules.model_data,
        "prod-text",
        lambda each: container(each).update(ModelDataUrl="s3://b/a.tar.gz"),
        "s3://b/a.tar.gz is no prefix",
    ),
    "one model in a folder": (
        sagemaker_rules.model_data,
        "prod-search",
        lambda each: container(each).update(ModelDataUrl="s3://b/a/"),
        "s3://b/a/ is no .tar.gz",
    ),
    "a model cache for one model": (
        sagemaker_rules.model_data,
        "prod-search",
        lambda each: container(each).update(MultiModelConfig={"ModelCacheSetting": "Enabled"}),
        "MultiModelConfig without Mode MultiModel",
    ),
    "one subnet": (
        sagemaker_rules.subnets,
        "prod-text",
        lambda each: first(each, MODEL)["VpcConfig"]["Subnets"].pop(),
        "one subnet",
    ),
    "two subnets in one zone": (
        sagemaker_rules.subnets,
        "prod-network",
        lambda each: [
            subnet.update(AvailabilityZone="us-east-1a")
            for subnet in every(each, "AWS::EC2::Subnet")
        ],
        "subnets in one availability zone",
    ),
    "two variants of one name": (
        sagemaker_rules.variants,
        "prod-search",
        lambda each: variant(each).update(VariantName="Large"),
        "a variant's name is given twice",
    ),
    "a variant of no model": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: variant(each).update(ModelName="text"),
        "serves text, which nobody makes",
    ),
    "many models on several GPUs": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: variant(each).update(InstanceType="ml.g5.12xlarge"),
        "ml.g5.12xlarge has 4 GPUs, for a multi-model endpoint",
    ),
    "many models on instance pools": (
        sagemaker_rules.variants,
        "prod-text",
        lambda resources: pooled(variant(resources), 1),
        "instance pools of a multi-model endpoint",
    ),
    "instance pools without a first": (
        sagemaker_rules.variants,
        "prod-text",
        lambda resources: pooled(variant(resources), 2, 3),
        "priorities [2, 3]",
    ),
    "an instance type beside pools": (
        sagemaker_rules.variants,
        "prod-text",
        lambda resources: pooled(variant(resources), 1).update(InstanceType="ml.g5.xlarge"),
        "InstanceType beside InstancePools",
    ),
    "a driver without a GPU": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: variant(each).update(InstanceType="ml.m5.xlarge"),
        "an AMI for GPUs on ml.m5.xlarge",
    ),
    "a volume beside NVMe": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: variant(each).update(VolumeSizeInGB=30),
        "VolumeSizeInGB with the NVMe storage of ml.g5.xlarge",
    ),
    "a key beside NVMe": (
        sagemaker_rules.variants,
        "prod-text",
        lambda each: first(each, CONFIG).update(KmsKeyId="k"),
        "KmsKeyId with the NVMe storage of ml.g5.xlarge",
    ),
    "no policy of updates": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: first(each, ENDPOINT)["DeploymentConfig"].pop("BlueGreenUpdatePolicy"),
        "not one policy",
    ),
    "a canary of 60 %": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: policy(each)["TrafficRoutingConfiguration"]["CanarySize"].update(Value=60),
        "60 % is not 1 to 50 %",
    ),
    "linear steps of a canary's size": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: policy(each)["TrafficRoutingConfiguration"].update(Type="LINEAR"),
        "LINEAR with CanarySize",
    ),
    "linear steps of 5 %": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: policy(each).update(
            TrafficRoutingConfiguration={
                "Type": "LINEAR",
                "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 5},
                "WaitIntervalInSeconds": 60,
            }
        ),
        "5 % is not 10 to 50 %",
    ),
    "waits that are longer than the update": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: policy(each).update(MaximumExecutionTimeoutInSeconds=900),
        "waits of 900 s in 900 s",
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
    "a rolling update of 60 %": (
        sagemaker_rules.updates,
        "prod-text",
        lambda each: first(each, ENDPOINT).update(
            DeploymentConfig={
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 60},
                    "WaitIntervalInSeconds": 60,
                }
            }
        ),
        "60 % is not 5 to 50 %",
    ),
    "a period that metrics do not have": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(Period=30),
        "a period of 30 s",
    ),
    "an alarm over two days": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(EvaluationPeriods=2880),
        "2880 periods are more than a day",
    ),
    "six bad minutes of five": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: alarm(each).update(DatapointsToAlarm=6),
        "6 of 5 datapoints",
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
    "an expression and its metric": (
        cloudwatch_rules.alarms,
        "prod-text",
        lambda each: first(each, "AWS::CloudWatch::Alarm", "LoadedModels")["Metrics"][1].update(
            ReturnData=True
        ),
        "not one expression is watched",
    ),
    "a widget of 501 metrics": (
        cloudwatch_rules.dashboards,
        "prod-text",
        lambda each: dashboard(each, properties={"metrics": [["N", "M"]] * 501}),
        "501 metrics in a widget",
    ),
    "501 widgets": (
        cloudwatch_rules.dashboards,
        "prod-text",
        lambda each: dashboard(each, times=501),
        "501 widgets",
    ),
    "a widget beyond the edge": (
        cloudwatch_rules.dashboards,
        "prod-text",
        lambda each: dashboard(each, x=17),
        "a widget beyond the 24th column",
    ),
    "a search that is too long": (
        cloudwatch_rules.dashboards,
        "prod-text",
        lambda each: dashboard(
            each, properties={"metrics": [[{"expression": f"SEARCH('{'x' * 1024}', 'Sum', 60)"}]]}
        ),
        "a search of 1045 characters",
    ),
    "scaling of what is not there": (
        cloudwatch_rules.scaling,
        "prod-text",
        lambda each: first(each, TARGET).update(ResourceId="endpoint/prod-text/variant/Other"),
        "there is no endpoint/prod-text/variant/Other",
    ),
    "fewest instances above the most": (
        cloudwatch_rules.scaling,
        "prod-text",
        lambda each: first(each, TARGET).update(MinCapacity=11),
        "at least 11, at most less",
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
    "eleven managed policies": (
        policy_rules.sizes,
        "prod-text",
        lambda each: first(each, "AWS::IAM::Role").update(
            ManagedPolicyArns=["arn:aws:iam::aws:policy/ReadOnlyAccess"] * 11
        ),
        "11 managed policies",
    ),
    "a trust that goes on": (
        policy_rules.sizes,
        "prod-text",
        lambda each: first(each, "AWS::IAM::Role")["AssumeRolePolicyDocument"].update(
            Id="x" * 2048
        ),
        "a policy of 22",
    ),
    "a Sid with a blank": (
        policy_rules.grammar,
        "prod-text",
        lambda each: statement(each).update(Sid="Write logs"),
        "not each Sid is of letters and digits",
    ),
    "an action of no service": (
        policy_rules.grammar,
        "prod-text",
        lambda each: with_actions(each, "GetObject"),
        "GetObject is no action",
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
    "a GPU of a middle size": (
        build_rules.build_projects,
        "prod-models",
        lambda each: environment(each).update(ComputeType="BUILD_GENERAL1_MEDIUM"),
        "no BUILD_GENERAL1_MEDIUM has a GPU",
    ),
    "a source that is no archive": (
        build_rules.build_projects,
        "prod-models",
        lambda each: first(each, "AWS::CodeBuild::Project")["Source"].update(
            Location="s3://b/a.zip"
        ),
        "no archive at s3://b/a.zip",
    ),
    "a function of many variables": (
        build_rules.functions,
        "prod-models",
        lambda each: first(each, "AWS::Lambda::Function").update(
            Environment={"Variables": {"V": "x" * 4096}}
        ),
        "variables of 4097 bytes",
    ),
    "a state that is not there": (
        build_rules.state_machines,
        "prod-models",
        definition,
        "no state b",
    ),
    "a stack of 501 resources": (
        stack_rules.templates,
        "prod-text",
        lambda each: each.update({f"G{n}": {"Type": "Custom::None"} for n in range(501)}),
        "Resources",
    ),
    "a template of more than a megabyte": (
        stack_rules.templates,
        "prod-text",
        lambda each: alarm(each).update(AlarmDescription="x" * 1024 * 1024),
        "a template of 1",
    ),
    "a catalog entry of 4097 bytes": (
        storage_rules.parameters,
        "prod-text",
        lambda each: first(each, "AWS::SSM::Parameter").update(Value="é" * 2048 + "x"),
        "a value of 4097 bytes",
    ),
    "a parameter of AWS's": (
        storage_rules.parameters,
        "prod-text",
        lambda each: first(each, "AWS::SSM::Parameter").update(Name="/aws/text"),
        "/aws/text is AWS's",
    ),
    "a parameter of many levels": (
        storage_rules.parameters,
        "prod-text",
        lambda each: first(each, "AWS::SSM::Parameter").update(Name="/a" * 16),
        "is too long",
    ),
    "a parameter whose ARN is too long": (
        storage_rules.parameters,
        "prod-text",
        lambda each: first(each, "AWS::SSM::Parameter").update(Name="/" + "a" * 969),
        "is too long",
    ),
    "a log of AWS's": (
        storage_rules.logs,
        "prod-models",
        lambda each: first(each, "AWS::Logs::LogGroup", "Logtext").update(LogGroupName="aws/text"),
        "a name that begins with aws/",
    ),
    "access logs that are encrypted with a key": (
        storage_rules.buckets,
        "prod-models",
        lambda each: first(each, "AWS::S3::Bucket", "AccessLogs").update(
            BucketEncryption=first(each, "AWS::S3::Bucket", "ModelsBucket")["BucketEncryption"]
        ),
        "logs to a bucket that is encrypted with aws:kms",
    ),
    "a rule that does nothing": (
        storage_rules.buckets,
        "prod-models",
        lambda each: first(each, "AWS::S3::Bucket")["LifecycleConfiguration"]["Rules"].append(
            {"Status": "Enabled"}
        ),
        "a rule that does nothing",
    ),
    "a subnet outside of its VPC": (
        storage_rules.networks,
        "prod-network",
        lambda each: first(each, "AWS::EC2::Subnet").update(CidrBlock="10.1.0.0/17"),
        "10.1.0.0/17 is in no VPC",
    ),
    "subnets that overlap": (
        storage_rules.networks,
        "prod-network",
        lambda each: first(each, "AWS::EC2::Subnet").update(CidrBlock="10.0.128.0/18"),
        "10.0.128.0/17 overlaps 10.0.128.0/18",
    ),
    "a VPC that is too large": (
        storage_rules.networks,
        "prod-network",
        lambda each: first(each, "AWS::EC2::VPC").update(CidrBlock="10.0.0.0/8"),
        "10.0.0.0/8 is not /16 to /28",
    ),
    "a group described with an apostrophe": (
        storage_rules.networks,
        "prod-network",
        lambda each: first(each, "AWS::EC2::SecurityGroup").update(GroupDescription="Triton's"),
        "described with characters that EC2 does not take",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(mistake: str, templates: Templates) -> None:
    rule, stack, change, messages = MISTAKES[mistake]
    broken = copy.deepcopy(templates("prod"))
    change(broken[stack]["Resources"])
    assert messages in "\n".join(refused(broken, region="us-east-1", rules=[rule]))


COMPONENT = "AWS::SageMaker::InferenceComponent"
MISTAKES_OF_COMPONENTS: dict[str, tuple[Rule, Change, str]] = {
    "a component without a copy": (
        sagemaker_rules.components,
        lambda resources: first(resources, COMPONENT)["RuntimeConfig"].update(CopyCount=0),
        "created without a copy",
    ),
    "a component of a variant that there is not": (
        sagemaker_rules.components,
        lambda resources: first(resources, COMPONENT).update(VariantName="Other"),
        "not a variant that hosts components",
    ),
    "a component of many models": (
        sagemaker_rules.components,
        lambda resources: container(resources).update(Mode="MultiModel"),
        "serves no single model",
    ),
    "a batch of all copies": (
        sagemaker_rules.components,
        lambda resources: first(resources, COMPONENT)["DeploymentConfig"]["RollingUpdatePolicy"][
            "MaximumBatchSize"
        ].update(Value=100),
        "100 % is not 5 to 50 %",
    ),
    "a configuration without a role": (
        sagemaker_rules.variants,
        lambda resources: first(resources, CONFIG).pop("ExecutionRoleArn"),
        "inference components without ExecutionRoleArn",
    ),
    "instances that nobody counts": (
        sagemaker_rules.variants,
        lambda resources: variant(resources).pop("ManagedInstanceScaling"),
        "ManagedInstanceScaling is of inference components",
    ),
    "a blue/green update of components": (
        sagemaker_rules.updates,
        lambda resources: first(resources, ENDPOINT).update(
            DeploymentConfig={"BlueGreenUpdatePolicy": {}}
        ),
        "a DeploymentConfig of an endpoint of components",
    ),
    "a target that is no component": (
        cloudwatch_rules.scaling,
        lambda resources: first(resources, TARGET).update(ResourceId="inference-component/none"),
        "there is no inference-component/none",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES_OF_COMPONENTS)
def test_a_mistake_of_inference_components_is_seen(mistake: str, every_template: Templates) -> None:
    rule, change, message = MISTAKES_OF_COMPONENTS[mistake]
    broken = copy.deepcopy(every_template("components"))
    change(broken["components-text"]["Resources"])
    assert message in "\n".join(refused(broken, region="us-east-1", rules=[rule]))


def test_every_rule_sees_a_mistake() -> None:
    mistakes = [*MISTAKES.values(), *MISTAKES_OF_COMPONENTS.values()]
    assert {mistake[0] for mistake in mistakes} == set(RULES)


def test_a_project_with_gpus_is_seen_where_codebuild_has_none(templates: Templates) -> None:
    messages = refused(templates("prod"), region="us-west-1", rules=[build_rules.build_projects])
    assert messages == ["prod-models.EnginesProject8115F258: no GPU in us-west-1"]


def test_what_is_of_another_partition_is_seen_in_china(every_template: Templates) -> None:
    china = copy.deepcopy(every_template("china"))
    of = first(china["china-delivery"]["Resources"], "AWS::IAM::Policy", "Deploy")
    text = json.dumps(of["PolicyDocument"])
    assert "s3.cn-north-1.amazonaws.com.cn" in text
    of["PolicyDocument"] = json.loads(text.replace(".amazonaws.com.cn", ".amazonaws.com"))
    (messages,) = refused(china, region="cn-north-1", rules=[policy_rules.partitions])
    assert ".cn-north-1.amazonaws.com in aws-cn" in messages
