"""Single changes of a small stack: dangers, notes and harmless changes."""

import copy
from typing import Any

import pytest

from platform_facts.rules.server import metrics_variables
from release.templates import Template
from review.comparison import Comparison
from review.dangers import dangers
from review.endpoint_changes import endpoint_changes
from review.money import cost_changes
from review.template_changes import Note, notes
from tests.unit.plan.plans import make_endpoint
from tests.unit.review.edits import PROD, Edit, add, compare, drop, plan_of, put, together
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


def auditors() -> dict[str, Any]:
    """Return a role that another account may assume."""
    new_role = role(statement("s3:GetObject", "arn:aws:s3:::models/*"))
    trust = new_role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
    trust["Principal"] = {"AWS": arn("iam", "root")}
    return new_role


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
                "MemorySize": 1024,
                "Role": {"Fn::GetAtt": ["FunctionRole", "Arn"]},
            },
        },
        "Latency": alarm(),
        "Errors": {
            **alarm(MetricName="Invocation5XXErrors", Threshold=0.05),
            "Metadata": {"aws:cdk:path": "prod-text/Errors/Resource"},
        },
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
            "Type": "Custom::TritonModels",
            "Properties": {"Bucket": {"Ref": "Bucket"}, "Model": "minilm", "Target": "cpu",
                           "Digest": "1"},
        },
        "Guard": {
            "Type": "Custom::TritonUpdateGuard",
            "Properties": {"Endpoint": "prod-text", "Archives": ["minilm-1.tar.gz"]},
        },
        "Check": {"Type": "Custom::TritonUpdateCheck", "Properties": {"Endpoint": "prod-text"}},
        "Budget": {
            "Type": "AWS::Budgets::Budget",
            "Properties": {
                "Budget": {"BudgetLimit": {"Amount": 100, "Unit": "USD"}},
                "NotificationsWithSubscribers": [
                    {
                        "Notification": {"NotificationType": "ACTUAL", "Threshold": 100},
                        "Subscribers": [{"Address": "a@example.org", "SubscriptionType": "EMAIL"}],
                    }
                ],
            },
        },
    }  # fmt: skip


def review(edit: Edit, **plan: Any) -> tuple[list[str], str]:
    """Return rule, message and details of each danger, and all other texts of the review.

    `plan` has changed values of the plan.
    """
    before, after = base_resources(), base_resources()
    edit(after)
    comparison = compare(before, after, plan_after=PROD.model_copy(update=plan))
    texts = [clause for change in endpoint_changes(comparison) for clause in change.clauses]
    texts += [clause for note in notes(comparison) for clause in note.clauses]
    texts += map(str, cost_changes(comparison))
    messages = [
        f"{danger.rule}: {danger.message} {danger.details}" for danger in dangers(comparison)
    ]
    return messages, "\n".join(texts)


VARIANT = ("Config", "ProductionVariants", 0)
BLUE_GREEN = ("Endpoint", "DeploymentConfig", "BlueGreenUpdatePolicy")
ROUTING = (*BLUE_GREEN, "TrafficRoutingConfiguration")
CAPTURE = ("Config", "DataCaptureConfig")
STATEMENT = ("Policy", "PolicyDocument", "Statement", 0)
BUCKET_STATEMENTS = ("BucketPolicy", "PolicyDocument", "Statement")
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

DANGERS: dict[str, tuple[Edit, str]] = {
    # AWS's defaults
    "VPC endpoint policy removed": (
        drop("Gateway", "PolicyDocument"),
        "widened_access: anyone in the VPC may now * on every resource (*)",
    ),
    "key policy removed": (
        drop("Key", "KeyPolicy"),
        "widened_access: arn:aws:iam::${AWS::AccountId}:root may now kms:* on Key",
    ),
    "security group without egress rules": (
        drop("Group", "SecurityGroupEgress"),
        "internet_routes: ... prod-text/Group: the security group allows egress to anywhere",
    ),
    # replaced roles
    "role renamed with more permissions": (
        RENAMED_ROLE,
        "widened_access: Renamed may now s3:DeleteObject, s3:PutObject on arn:aws:s3:::models/*",
    ),
    # policies
    "NotAction": (
        put(*STATEMENT, {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
        "widened_access: Role may now everything except iam:* on every resource (*)",
    ),
    "NotResource": (
        put(*STATEMENT, {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "a"}),
        "widened_access: Role may now s3:GetObject on everything except a",
    ),
    "NotPrincipal": (
        put("Gateway", "PolicyDocument", "Statement", 0, {
            "Effect": "Allow", "Action": "s3:*", "Resource": "*",
            "NotPrincipal": {"AWS": arn("iam", "root")}}),
        "widened_access: anyone in the VPC may now s3:* on every resource (*)",
    ),
    "condition value changed": (
        put(*STATEMENT, "Condition", {"StringLike": {"s3:prefix": ["other/*"]}}),
        "widened_access: Role may now ... StringLike text/* -> s3:prefix StringLike other/*",
    ),
    "condition removed": (
        drop(*STATEMENT, "Condition"),
        "on Bucket: the condition s3:prefix StringLike text/* is removed",
    ),
    "Deny statement narrowed": (
        put("BucketPolicy", "PolicyDocument", "Statement", 0, "Action", "s3:GetObject"),
        "widened_access: anyone is no longer denied s3:* on Bucket",
    ),
    "exemption from a Deny statement": (
        put("BucketPolicy", "PolicyDocument", "Statement", 0, "Condition", "StringNotEquals",
            {"aws:PrincipalArn": "arn:x"}),
        "on Bucket: the condition aws:PrincipalArn StringNotEquals arn:x is new",
    ),
    # amounts
    "canary replaced by linear steps without a wait": (
        put(*ROUTING, LINEAR),
        "lost_rollback: ... but each step waits 0 s: 100 % of the traffic has moved before",
    ),
    "greater canary": (
        put(*ROUTING, "CanarySize", "Value", 60),
        "lost_rollback: ... before an alarm can go off: ... CanarySize.Value: 10 -> 60",
    ),
    "instance counts no longer retained": (
        put("Endpoint", "RetainAllVariantProperties", False),
        "reset_instance_counts: ... independent of the load: RetainAllVariantProperties: true",
    ),
    "scale-out suspended": (
        put("Scaling", "SuspendedState", {"DynamicScalingOutSuspended": True}),
        "unknown_resources: ... SuspendedState.DynamicScalingOutSuspended: none -> true",
    ),
    # access
    "function role with more permissions": (
        put("Function", "Role", {"Fn::GetAtt": ["Role", "Arn"]}),
        "widened_access: ... runs as another role, which may do more: Role: FunctionRole -> Role",
    ),
    "execution role outside of the stage": (
        put("Model", "ExecutionRoleArn", "arn:aws:iam::111111111111:role/Admin"),
        "widened_access: ... runs as arn:aws:iam::111111111111:role/Admin, whose permissions are",
    ),
    "other existing subnets": (
        put("Model", "VpcConfig", "Subnets", ["subnet-1", "subnet-2"]),
        'internet_routes: ... existing subnets: VpcConfig.Subnets: ["a", "b"] -> ["subnet-1", ',
    ),
    "ingress from the internet in two halves": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "0.0.0.0/1"}, {"CidrIp": "128.0.0.0/1"}]),
        "public_exposure: ... admits the public network 0.0.0.0/1",
    ),
    "shadow variant": (
        put("Config", "ShadowProductionVariants", [{
            "VariantName": "Shadow", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 2,
            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}]),
        "unknown_resources: ... no stack has this property: ShadowProductionVariants",
    ),
    "SSM access to instances": (
        put(*VARIANT, "EnableSSMAccess", True),
        "unknown_resources: ... ProductionVariants.EnableSSMAccess of AllTraffic: none -> true",
    ),
    "update guard deleted": (
        drop("Guard"),
        "replaced_resources: Custom::TritonUpdateGuard prod-text/Guard: deleted",
    ),
    "threshold raised": (
        put("Latency", "Threshold", 5_000_000),
        "weakened_alarms: ... the alarm is weaker: threshold 1,000 ms -> 5,000 ms",
    ),
    "period lengthened": (put("Latency", "Period", 300), "is weaker: Period: 60 -> 300"),
    "missing data ignored": (
        put("Latency", "TreatMissingData", "ignore"),
        "the alarm is weaker: TreatMissingData: none -> ignore",
    ),
    "alarm action removed": (
        drop("Latency", "AlarmActions"),
        "silenced_alarms: ... the alarm no longer notifies pager",
    ),
    "alarm actions disabled": (
        put("Latency", "ActionsEnabled", False),
        "the alarm sends no notifications: its actions are disabled",
    ),
    "subscription deleted": (
        drop("Subscription"),
        "silenced_alarms: ... email a@example.com is no longer notified by Topic",
    ),
    "budget deleted": (
        drop("Budget"),
        "lost_alarms: ... the budget of 100 USD is deleted: nobody is notified of the costs",
    ),
    "budget without a subscriber": (
        put("Budget", "NotificationsWithSubscribers", 0, "Subscribers", 0, "Address", "b@b.org"),
        "silenced_alarms: ... the budget no longer notifies a@example.org (ACTUAL)",
    ),
    "budget that notifies later": (
        put("Budget", "NotificationsWithSubscribers", 0, "Notification", "Threshold", 500),
        "weakened_alarms: ... notifies later: 100 -> 500 % of its limit, 500 USD (ACTUAL)",
    ),
    "threshold above the metric": (
        put("Errors", "Threshold", 5),
        "threshold 0.05 -> 5: the metric is a share of 0 to 1, so that the alarm can never go off",
    ),
    "function with less memory": (
        put("Function", "MemorySize", 128),
        "shrunk_protection: ... MemorySize: 1024 MB -> 128 MB",
    ),
    "topic renamed": (
        put("Topic", "TopicName", "on-call"),
        "replaced_resources: AWS::SNS::Topic prod-text/Topic: replaced (TopicName: ... -> on-call)",
    ),
    "subscription to a renamed topic": (
        put("Topic", "TopicName", "on-call"),
        "silenced_alarms: ... email a@example.com is not notified until it confirms",
    ),
    "models in another bucket": (
        put("Archive", "Bucket", {"Ref": "RetainedBucket"}),
        "every model is built again, in another bucket: ... (Bucket: Bucket -> RetainedBucket)",
    ),
    "role that another account may assume": (
        add(Auditors=auditors()),
        "root may sts:AssumeRole on Auditors; Auditors may s3:GetObject on arn:aws:s3:::models/*",
    ),
    "metric changed": (
        put("Latency", "MetricName", "Other"),
        "the alarm is weaker: MetricName: ModelLatency -> Other",
    ),
    "buckets of other accounts": (
        put(*STATEMENT, "Resource", "arn:aws:s3:::models-*/x"),
        "may now ... on arn:aws:s3:::models-*/x (buckets of every account)",
    ),
    "IfExists condition": (
        put("FunctionRole", "AssumeRolePolicyDocument", "Statement", "Condition",
            {"StringEqualsIfExists": {"aws:SourceAccount": "111111111111"}}),
        "widened_access: lambda.amazonaws.com may now ... StringEqualsIfExists 111111111111",
    ),
    "statement for a service removed": (
        drop("TopicPolicy", "PolicyDocument", "Statement", 0),
        "lost_service_access: cloudwatch.amazonaws.com may no longer sns:Publish on Topic",
    ),
    "single zone": (
        put("Model", "VpcConfig", "Subnets", ["a"]),
        'low_availability: ... in a single zone: VpcConfig.Subnets: ["a", "b"] -> ["a"]',
    ),
    "image without a digest": (
        put("Build", "Environment", "Image", "public.ecr.aws/docker/library/python:latest"),
        "lost_pins: ... the build image is not pinned by digest: Environment.Image: ",
    ),
    "endpoint without a dependency on the guard": (
        lambda resources: resources["Endpoint"].update(DependsOn=[]),
        "lost_safeguards: AWS::SageMaker::Endpoint prod-text/Endpoint: DependsOn: Guard removed",
    ),

}  # fmt: skip


@pytest.mark.parametrize("title", DANGERS)
def test_dangerous_change(title: str) -> None:
    edit, line = DANGERS[title]
    messages, _ = review(edit)
    parts = line.split(" ... ")
    assert any(all(part in message for part in parts) for message in messages), messages


def test_changed_budget_is_only_a_note() -> None:
    messages, text = review(lambda _: None, max_monthly_usd=90_000)
    assert messages == []
    assert "max_monthly_usd: none -> 90000" in text


HARMLESS: dict[str, Edit] = {
    "stricter threshold": add(Latency=alarm(Threshold=500_000)),
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
    "metrics published to CloudWatch": put("Model", "PrimaryContainer", "Environment",
        metrics_variables("/aws/sagemaker/Endpoints/prod-text", "Triton/prod-text")),
    "new role with few permissions": add(
        New=role(statement("s3:GetObject", "arn:aws:s3:::m/*"))),
}  # fmt: skip


@pytest.mark.parametrize("title", HARMLESS)
def test_harmless_change(title: str) -> None:
    after = base_resources()
    HARMLESS[title](after)
    assert after != base_resources()
    messages, _ = review(HARMLESS[title])
    assert [message for message in messages if not message.startswith("reduced_protection")] == []


def test_new_resource_is_told_with_its_safe_values() -> None:
    block = dict.fromkeys(("BlockPublicAcls", "RestrictPublicBuckets"), True)
    bucket = {
        "Type": "AWS::S3::Bucket",
        "Properties": {"PublicAccessBlockConfiguration": block},
        "DeletionPolicy": "Retain",
    }
    secure = {
        "Effect": "Deny",
        "Action": "s3:*",
        "Resource": "*",
        "Principal": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    policy = {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": {"Ref": "New"}, "PolicyDocument": {"Statement": [secure]}},
    }
    messages, text = review(add(New=bucket, NewPolicy=policy))
    assert messages == []
    assert (
        "AWS::S3::Bucket New created with blocked public access, access by TLS only, retention "
        "after its stack, without versions, access logs, encryption by a key of KMS"
    ) in text


def test_disabled_data_capture_does_not_report_its_key() -> None:
    (danger,) = review(drop("Config", "DataCaptureConfig"))[0]
    assert danger.startswith("lost_logging")


def test_policy_in_a_joined_text_is_compared() -> None:
    text = '{"Statement": {"Effect": "Allow", "Action": "logs:Get", "Principal": "*", "Resource": "'
    document = {"Fn::Join": ["", [text, {"Ref": "AWS::Region"}, '"}}']]}
    kind = {"Type": "AWS::Logs::ResourcePolicy", "Properties": {"PolicyDocument": document}}
    after = {**base_resources(), "Policy2": kind}
    messages = [danger.message for danger in dangers(compare(base_resources(), after))]
    assert "anyone may logs:Get on ${AWS::Region}" in messages


def test_only_new_exceptions_of_a_denial_are_told() -> None:
    def denying(*excepted: str) -> dict[str, Any]:
        denial = {"Effect": "Deny", "Action": "s3:PutObject", "Principal": "*"}
        policy = {"Statement": [{**denial, "NotResource": [f"b/{name}/*" for name in excepted]}]}
        resources = base_resources()
        resources["BucketPolicy"]["Properties"]["PolicyDocument"] = policy
        return resources

    (danger,) = dangers(compare(denying("a"), denying("a", "a/b", "c")))
    assert danger.message == "anyone is no longer denied s3:PutObject on b/c/*"
    assert dangers(compare(denying("a", "c"), denying("a"))) == []


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
    plan = plan_of(endpoints={})
    assert dangers(Comparison("prod", {}, after, plan, plan)) == []
    gateway = {"Nat": {"Type": "AWS::EC2::NatGateway", "Properties": {}}}
    after = {"prod-network": {"Resources": network | gateway}}
    assert [danger.rule for danger in dangers(Comparison("prod", {}, after, plan, plan))] == [
        "unknown_resources"
    ]


def test_same_change_of_several_endpoints_is_one_danger() -> None:
    def stacks(seconds: int) -> dict[str, Template]:
        stacks_by_name: dict[str, Template] = {}
        for name in ("prod-a", "prod-b", "prod-c"):
            resources = base_resources()
            put("Endpoint", "EndpointName", name)(resources)
            put(*ROUTING, "WaitIntervalInSeconds", seconds)(resources)
            stacks_by_name[name] = {"Resources": resources}
        return stacks_by_name

    endpoints = {name: make_endpoint(f"prod-{name}") for name in "abc"}
    plan = plan_of(endpoints=endpoints)
    (danger,) = dangers(Comparison("prod", stacks(600), stacks(0), plan, plan))
    assert danger.message.endswith("all traffic moves before an alarm can roll the update back")
    assert all(text.endswith("IntervalInSeconds: 600 s -> 0 s") for text in danger.consequences)
    assert "prod-a/Endpoint, prod-b/Endpoint, prod-c/Endpoint: " in danger.message


def test_access_to_a_renamed_resource_is_not_new() -> None:
    before, after = base_resources(), base_resources()
    for resources, name in ((before, "Function"), (after, "Renamed")):
        resources[name] = resources.pop("Function")
        put(*STATEMENT, "Resource", {"Fn::GetAtt": [name, "Arn"]})(resources)
    assert dangers(compare(before, after)) == []
    put("Renamed", "Timeout", 900)(after)
    assert [danger.rule for danger in dangers(compare(before, after))] == ["widened_access"]


@pytest.mark.parametrize("is_imported", [True, False])
def test_removed_export(*, is_imported: bool) -> None:
    topic = {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {}}}
    export = {"Outputs": {"A": {"Value": "a", "Export": {"Name": "prod-models:A"}}}}
    user = {"Type": "AWS::SNS::Topic", "Properties": {
        "TopicName": {"Fn::ImportValue": "prod-models:A"} if is_imported else "a"}}  # fmt: skip
    users: Template = {"Resources": {"User": user}}
    before: dict[str, Template] = {"prod-models": {"Resources": topic, **export}, "prod-a": users}
    after: dict[str, Template] = {"prod-models": {"Resources": topic}, "prod-a": users}
    plan = plan_of(endpoints={})
    messages = [danger.message for danger in dangers(Comparison("prod", before, after, plan, plan))]
    text = "prod-models: the update fails: prod-a import exports that it removes: prod-models:A. "
    text += "First deploy a version that keeps them (export_value)"
    assert messages == ([text] if is_imported else [])


def test_changed_export_has_both_values() -> None:
    def template(value: str, name: str) -> Template:
        topic = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": value}}
        outputs = {f"ExportsOutput{key}": {"Value": text, "Export": {"Name": key}}
                   for key, text in (("RefKey", value), (name, "x"))}  # fmt: skip
        return {"Resources": {"Topic": topic}, "Outputs": outputs}

    plan = plan_of(endpoints={})
    before, after = template("arn:aws:kms:a", "Old"), template("arn:aws:kms:b", "New")
    comparison = Comparison("prod", {"prod-models": before}, {"prod-models": after}, plan, plan)
    (note,) = notes(comparison)
    assert "Outputs ExportsOutputRefKey: arn:aws:kms:a -> arn:aws:kms:b" in note.clauses
    assert note.clauses.count("exports added or removed") == 1


@pytest.mark.parametrize(
    ("actions", "ending"),
    [
        (["s3:GetObject", "s3:PutObject"], "changed: policies in other words, with equal access"),
        (["s3:GetObject"], "s3:PutObject on every resource (*), also of other accounts"),
    ],
)
def test_policy_in_other_words_is_told_as_such(actions: list[str], ending: str) -> None:
    def template(*statements: Any) -> Template:
        policy = {"PolicyDocument": {"Statement": [*statements]}, "VpcId": "vpc-1"}
        return {"Resources": {"Gateway": {"Type": "AWS::EC2::VPCEndpoint", "Properties": policy}}}

    before = template(statement(["s3:PutObject", "s3:GetObject"], Principal="*"))
    after = template(*(statement(action, Principal="*") for action in actions))
    plan = plan_of(endpoints={})
    comparison = Comparison("prod", {"prod-network": before}, {"prod-network": after}, plan, plan)
    (note,) = notes(comparison)
    assert note.clauses[-1].endswith(ending)


def test_templates_that_differ_in_words_only_are_told_as_such() -> None:
    def template(account: Any) -> Template:
        trust = {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Condition": {"StringEquals": {"aws:SourceAccount": account}},
        }
        policy = {"AssumeRolePolicyDocument": {"Statement": [trust]}}
        return {"Resources": {"Role": {"Type": "AWS::IAM::Role", "Properties": policy}}}

    plan = plan_of(endpoints={})
    before, after = ({"prod-network": template(account)} for account in ("1", ["1"]))
    (note,) = notes(Comparison("prod", before, after, plan, plan))
    assert note == Note("prod-network", ["in other words, which change no resource"])


def test_created_resources_are_told_with_all_their_values() -> None:
    nested = {"AlarmActions": [{"Ref": "Topic"}, PAGER], "Tags": [{"Key": "a", "Value": "b"}]}
    new = {f"New{limit}": {**alarm(Threshold=limit, **nested),
                           "Metadata": {"aws:cdk:path": f"prod-text/New{limit}/Resource"}}
           for limit in (5, 9)}  # fmt: skip
    rule = {"Type": "AWS::Events::Rule", "Properties": {
        "ScheduleExpression": "rate(1 day)", "Targets": [{"Id": "a", "Arn": PAGER}]}}  # fmt: skip
    _, texts = review(add(**new, Nightly=rule))
    assert "2 AWS::CloudWatch::Alarm created (MetricName ModelLatency" in texts
    assert f"AlarmActions Topic and {PAGER}, DatapointsToAlarm 2" in texts
    assert ": New5 (Threshold 5), New9 (Threshold 9)" in texts
    assert f"Nightly created (ScheduleExpression rate(1 day), Targets.Arn of a {PAGER})" in texts


def test_equal_operators_of_conditions_are_no_change() -> None:
    sides = []
    for operator in ("ArnNotEquals", "ArnNotLike"):
        sides.append(copy.deepcopy(RESOURCES))
        put(*BUCKET_STATEMENTS, 0, "Condition", {operator: {"aws:PrincipalArn": "x"}})(sides[-1])
    assert dangers(compare(*sides)) == []


def test_retained_bucket_cannot_be_read_without_its_key() -> None:
    def resources(policy: str) -> dict[str, Any]:
        key = {"Fn::GetAtt": ["Key", "Arn"]}
        encryption = {"ServerSideEncryptionByDefault": {"KMSMasterKeyID": key}}
        return {
            "Key": {"Type": "AWS::KMS::Key", "Properties": {}, "DeletionPolicy": policy},
            "Data": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain",
                     "Properties": {"BucketEncryption": [encryption]}},
        }  # fmt: skip

    (danger,) = dangers(compare(resources("Retain"), resources("Delete")))
    assert "and what Data keeps can then not be decrypted: DeletionPolicy" in danger.message


def test_removed_property_is_a_danger_in_each_stack() -> None:
    """Resources of several stacks have the same logical id."""
    before = {"Model": copy.deepcopy(RESOURCES["Model"])}
    after = copy.deepcopy(before)
    drop("Model", "VpcConfig")(after)
    stacks = ("prod-text", "prod-vision")
    old, new = ({stack: {"Resources": side} for stack in stacks} for side in (before, after))
    (danger,) = dangers(Comparison("prod", old, new, PROD, PROD))
    assert danger.message.startswith("AWS::SageMaker::Model prod-text/Model, prod-vision/Model: ")


def test_index_of_a_table_cannot_be_changed() -> None:
    def messages(before: dict[str, str], after: dict[str, str]) -> list[str]:
        sides = []
        for attributes in (before, after):
            indexes = [{"IndexName": name, "Projection": {"ProjectionType": kind}}
                       for name, kind in attributes.items()]  # fmt: skip
            properties = {"GlobalSecondaryIndexes": indexes}
            sides.append({"Table": {"Type": "AWS::DynamoDB::Table", "Properties": properties}})
        return [danger.message for danger in dangers(compare(*sides))
                if danger.rule == "rejected_updates"]  # fmt: skip

    (message,) = messages({"a": "ALL", "b": "ALL"}, {"a": "KEYS_ONLY"})
    assert "the update fails: it changes a, and DynamoDB only creates or deletes one" in message
    (message,) = messages({"a": "ALL"}, {"b": "ALL"})
    assert "the update fails: it creates or deletes 2 indexes, and DynamoDB" in message
    assert messages({"a": "ALL"}, {"a": "ALL", "b": "ALL"}) == []


ALARMS = "arn:aws:cloudwatch:us-east-1:111111111111:alarm:"
ANY_PARTITION = "arn:${AWS::Partition}:cloudwatch"


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        (f"{ALARMS}*", f"{ALARMS}prod-models-*", "lost_service_access"),
        (f"{ALARMS}*", ALARMS.replace("1" * 12, "2" * 12) + "*", "widened_access"),
        (f"{ALARMS}prod-?", f"{ALARMS}prod-*", "widened_access"),
        (f"{ALARMS}prod-*", f"{ALARMS}*", "widened_access"),
        (f"{ANY_PARTITION}:*:111111111111:*",
         f"{ANY_PARTITION}:us-east-1:222222222222:alarm:111111111111:*", "widened_access"),
    ],
)  # fmt: skip
def test_service_with_narrower_and_other_condition(before: str, after: str, rule: str) -> None:
    def topic(alarms: str) -> dict[str, Any]:
        condition = {"ArnLike": {"aws:SourceArn": alarms}}
        keys = {"Principal": {"Service": "cloudwatch.amazonaws.com"}, "Condition": condition}
        document = {"Statement": [statement("sns:Publish", **keys)]}
        properties = {"Topics": [{"Ref": "Topic"}], "PolicyDocument": document}
        return {"Topic": {"Type": "AWS::SNS::Topic"},
                "Policy": {"Type": "AWS::SNS::TopicPolicy", "Properties": properties}}  # fmt: skip

    (danger,) = dangers(compare(topic(before), topic(after)))
    assert danger.rule == rule


def test_condition_on_the_caller_is_told_as_such() -> None:
    def policy(resource: str) -> dict[str, Any]:
        condition = {"StringEquals": {"aws:PrincipalAccount": "111111111111"}}
        keys = {"Principal": "*", "Condition": condition}
        document = {"Statement": [statement("s3:GetObject", resource, **keys)]}
        properties = {"PolicyDocument": document, "VpcId": "vpc-1"}
        return {"Gateway": {"Type": "AWS::EC2::VPCEndpoint", "Properties": properties}}

    (danger,) = dangers(compare(policy("arn:aws:s3:::models/*"), policy("*")))
    assert danger.message.endswith(
        "s3:GetObject on every resource (*), also of other accounts, if aws:PrincipalAccount "
        "StringEquals 111111111111 (which is about the caller)"
    )


def test_condition_that_a_request_without_the_key_meets_is_told_as_such() -> None:
    condition = {"StringEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}}
    keys = {"Principal": "*", "Condition": condition}
    messages, _ = review(put(*BUCKET_STATEMENTS, [statement("s3:GetObject", **keys)]))
    text = "if aws:PrincipalOrgID StringEqualsIfExists o-1 (or without it)"
    assert [message for message in messages if text in message]
