"""The API requests with which CloudFormation creates the resources of a stage."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.synth.api.deployed import Deployed
from tests.synth.assembly import Properties, Resource


@dataclass(frozen=True)
class Call:
    """A request for the resource `resource_id` (`stack.LogicalId`).

    `unused` has the properties of the resource that are in no request.
    """

    resource_id: str
    service: str
    operation: str
    parameters: dict[str, Any]
    unused: tuple[str, ...] = field(default=(), compare=False)


class Calls:
    """The requests of a deploy of a stage."""

    def __init__(self, stage: Deployed, calls: list[Call]) -> None:
        self.all = calls
        self.partition, self.region, self.templates = stage.partition, stage.region, stage.templates

    def by_operation(self, operation: str) -> list[Call]:
        """Return the requests of one operation, such as `CreateModel`."""
        return [call for call in self.all if call.operation == operation]


@dataclass(frozen=True)
class Creation:
    """The operation that creates resources of a type.

    `name` is the parameter for the resource name. Properties become parameters of the same name
    unless `renamed` maps them; parameters in `documents` are sent as JSON.
    """

    service: str
    operation: str
    name: str | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    documents: tuple[str, ...] = ()


CREATIONS = {
    "AWS::ApplicationAutoScaling::ScalableTarget": Creation(
        "application-autoscaling", "RegisterScalableTarget"
    ),
    "AWS::CloudWatch::Alarm": Creation("cloudwatch", "PutMetricAlarm", "AlarmName"),
    "AWS::CloudWatch::Dashboard": Creation("cloudwatch", "PutDashboard"),
    "AWS::CodeBuild::Project": Creation("codebuild", "CreateProject", "name"),
    "AWS::EC2::RouteTable": Creation("ec2", "CreateRouteTable"),
    "AWS::EC2::Subnet": Creation("ec2", "CreateSubnet"),
    "AWS::EC2::SubnetRouteTableAssociation": Creation("ec2", "AssociateRouteTable"),
    "AWS::EC2::VPC": Creation("ec2", "CreateVpc"),
    "AWS::EC2::VPCEndpoint": Creation("ec2", "CreateVpcEndpoint", documents=("PolicyDocument",)),
    "AWS::DynamoDB::Table": Creation("dynamodb", "CreateTable", "TableName"),
    "AWS::IAM::OIDCProvider": Creation("iam", "CreateOpenIDConnectProvider"),
    "AWS::IAM::Role": Creation(
        "iam", "CreateRole", "RoleName", documents=("AssumeRolePolicyDocument",)
    ),
    "AWS::KMS::Key": Creation(
        "kms", "CreateKey", renamed={"KeyPolicy": "Policy"}, documents=("Policy",)
    ),
    "AWS::Lambda::Function": Creation("lambda", "CreateFunction", "FunctionName"),
    "AWS::Logs::LogGroup": Creation("logs", "CreateLogGroup", "logGroupName"),
    "AWS::S3::Bucket": Creation("s3", "CreateBucket", "Bucket"),
    "AWS::S3::BucketPolicy": Creation(
        "s3", "PutBucketPolicy", renamed={"PolicyDocument": "Policy"}, documents=("Policy",)
    ),
    "AWS::SNS::Subscription": Creation("sns", "Subscribe"),
    "AWS::SageMaker::Endpoint": Creation("sagemaker", "CreateEndpoint"),
    "AWS::SageMaker::EndpointConfig": Creation(
        "sagemaker", "CreateEndpointConfig", "EndpointConfigName"
    ),
    "AWS::SageMaker::InferenceComponent": Creation(
        "sagemaker", "CreateInferenceComponent", "InferenceComponentName"
    ),
    "AWS::SageMaker::Model": Creation("sagemaker", "CreateModel", "ModelName"),
    "AWS::StepFunctions::StateMachine": Creation(
        "stepfunctions", "CreateStateMachine", "name", {"DefinitionString": "definition"}
    ),
}

Shape = Callable[[str, str], Any]
"""(service, operation) -> botocore shape of the request."""


def calls(stage: Deployed, shape: Shape) -> Calls:
    """Return the requests of a deploy of a stage, without those of custom resources."""
    requests = [
        Call(name, "cloudformation", "CreateStack", {"StackName": name}) for name in stage.templates
    ]
    for resource in stage.resources.values():
        if not resource.kind.startswith("Custom::"):
            requests += _resource_calls(stage, resource, shape)
    return Calls(stage, requests)


def _resource_calls(stage: Deployed, resource: Resource, shape: Shape) -> Iterator[Call]:
    properties = stage.value(resource.properties, resource.stack)
    properties.pop("Tags", None)  # stages/schema/tags.py limits them
    for service, operation, parameters, used in FURTHER_CALLS.get(resource.kind, _no_calls)(
        stage.name(resource), properties
    ):
        properties = {key: value for key, value in properties.items() if key not in used}
        yield Call(resource.id, service, operation, parameters)
    if creation := CREATIONS.get(resource.kind):
        properties = {creation.renamed.get(key, key): value for key, value in properties.items()}
        for name in creation.documents:
            properties[name] = document(properties[name])
        if creation.name:
            properties[creation.name] = stage.name(resource)
        parameters, unused = _request_parameters(
            properties, shape(creation.service, creation.operation)
        )
        yield Call(resource.id, creation.service, creation.operation, parameters, unused)
    elif properties:
        yield Call(resource.id, "", "", {}, tuple(properties))


def _request_parameters(value: Properties, shape: Any) -> tuple[Properties, tuple[str, ...]]:
    """Return (parameters with the names of the request shape, property names not in the shape)."""
    unused: list[str] = []

    def walk(value: Any, shape: Any, where: str) -> Any:
        if shape.type_name == "structure" and isinstance(value, dict):
            names = {name.lower(): name for name in shape.members}
            result = {}
            for key, part in value.items():
                name = names.get(key.lower())
                if name is None:
                    unused.append(f"{where}{key}")
                else:
                    result[name] = walk(part, shape.members[name], f"{where}{key}.")
            return result
        if shape.type_name == "list" and isinstance(value, list):
            return [walk(part, shape.member, where) for part in value]
        return value

    return walk(value, shape, ""), tuple(unused)


def document(policy: Any) -> str:
    """Return a policy as JSON without white space, as CloudFormation sends it."""
    return json.dumps(policy, separators=(",", ":"))


Further = Iterator[tuple[str, str, dict[str, Any], set[str]]]
"""Further requests: service, operation, parameters, properties that the request contains."""


def _no_calls(name: str, properties: Properties) -> Further:
    yield from ()


def _role(name: str, properties: Properties) -> Further:
    for arn in properties.get("ManagedPolicyArns", ()):
        yield "iam", "AttachRolePolicy", {"RoleName": name, "PolicyArn": arn}, {"ManagedPolicyArns"}


def _policy(name: str, properties: Properties) -> Further:
    for role in properties["Roles"]:
        parameters = {
            "RoleName": role,
            "PolicyName": properties["PolicyName"],
            "PolicyDocument": document(properties["PolicyDocument"]),
        }
        yield "iam", "PutRolePolicy", parameters, {"Roles", "PolicyName", "PolicyDocument"}


def _table(name: str, properties: Properties) -> Further:
    if encryption := properties.get("SSESpecification"):
        encryption["Enabled"] = encryption.pop("SSEEnabled")
    recovery = {"PointInTimeRecoverySpecification"}
    parameters = {"TableName": name, **{key: properties[key] for key in recovery}}
    yield "dynamodb", "UpdateContinuousBackups", parameters, recovery


def _key(name: str, properties: Properties) -> Further:
    key = {"KeyId": "1234abcd-12ab-34cd-56ef-1234567890ab"}
    if properties.get("EnableKeyRotation"):
        yield "kms", "EnableKeyRotation", key, {"EnableKeyRotation"}
    if days := properties.get("PendingWindowInDays"):
        yield (
            "kms",
            "ScheduleKeyDeletion",
            {**key, "PendingWindowInDays": days},
            {"PendingWindowInDays"},
        )


def _log_group(name: str, properties: Properties) -> Further:
    parameters = {"logGroupName": name, "retentionInDays": properties["RetentionInDays"]}
    yield "logs", "PutRetentionPolicy", parameters, {"RetentionInDays", "LogGroupName"}


def _bucket(name: str, properties: Properties) -> Further:
    bucket = {"Bucket": name}
    block, encryption = "PublicAccessBlockConfiguration", "BucketEncryption"
    yield "s3", "PutPublicAccessBlock", {**bucket, block: properties[block]}, {block}
    rules = [
        {
            {"ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault"}.get(
                key, key
            ): value
            for key, value in rule.items()
        }
        for rule in properties[encryption]["ServerSideEncryptionConfiguration"]
    ]
    configuration = {"ServerSideEncryptionConfiguration": {"Rules": rules}}
    yield "s3", "PutBucketEncryption", {**bucket, **configuration}, {encryption}
    if "LifecycleConfiguration" in properties:
        rules = [_lifecycle(rule) for rule in properties["LifecycleConfiguration"]["Rules"]]
        yield (
            "s3",
            "PutBucketLifecycleConfiguration",
            {**bucket, "LifecycleConfiguration": {"Rules": rules}},
            {"LifecycleConfiguration"},
        )
    if logging := properties.get("LoggingConfiguration"):
        enabled = {
            "TargetBucket": logging["DestinationBucketName"],
            "TargetPrefix": logging.get("LogFilePrefix", ""),
        }
        status = {"BucketLoggingStatus": {"LoggingEnabled": enabled}}
        yield "s3", "PutBucketLogging", {**bucket, **status}, {"LoggingConfiguration"}


def _lifecycle(rule: Properties) -> Properties:
    members = {
        key: value for key, value in rule.items() if key not in ("ExpirationInDays", "Prefix")
    }
    if "ExpirationInDays" in rule:
        members["Expiration"] = {"Days": rule["ExpirationInDays"]}
    return {**members, "Filter": {"Prefix": rule.get("Prefix", "")}}


def _topic(name: str, properties: Properties) -> Further:
    attributes = {key: value for key, value in properties.items() if key != "TopicName"}
    yield "sns", "CreateTopic", {"Attributes": attributes, "Name": name}, set(properties)


def _topic_policy(name: str, properties: Properties) -> Further:
    for topic in properties["Topics"]:
        parameters = {
            "TopicArn": topic,
            "AttributeName": "Policy",
            "AttributeValue": document(properties["PolicyDocument"]),
        }
        yield "sns", "SetTopicAttributes", parameters, {"Topics", "PolicyDocument"}


def _network(name: str, properties: Properties) -> Further:
    vpc, subnet = "vpc-0123456789abcdef0", "subnet-0123456789abcdef0"
    for operation, resource, attribute in (
        ("ModifyVpcAttribute", {"VpcId": vpc}, "EnableDnsHostnames"),
        ("ModifyVpcAttribute", {"VpcId": vpc}, "EnableDnsSupport"),
        ("ModifySubnetAttribute", {"SubnetId": subnet}, "MapPublicIpOnLaunch"),
    ):
        if attribute in properties:
            value = {attribute: {"Value": properties[attribute]}}
            yield "ec2", operation, {**resource, **value}, {attribute}


def _security_group(name: str, properties: Properties) -> Further:
    parameters = {
        "GroupName": name,
        "Description": properties["GroupDescription"],
        "VpcId": properties["VpcId"],
    }
    yield "ec2", "CreateSecurityGroup", parameters, {"GroupDescription", "VpcId"}
    egress = [
        {
            **{key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule},
            "IpRanges": [{"CidrIp": rule["CidrIp"], "Description": rule["Description"]}],
        }
        for rule in properties["SecurityGroupEgress"]
    ]
    yield (
        "ec2",
        "AuthorizeSecurityGroupEgress",
        {"GroupId": "sg-0123456789abcdef0", "IpPermissions": egress},
        {"SecurityGroupEgress"},
    )


def _scaling_policy(name: str, properties: Properties) -> Further:
    resource, dimension, service = properties["ScalingTargetId"].split("|")
    target = {"ResourceId": resource, "ScalableDimension": dimension, "ServiceNamespace": service}
    policy = {key: value for key, value in properties.items() if key != "ScalingTargetId"}
    yield "application-autoscaling", "PutScalingPolicy", {**policy, **target}, set(properties)


def _scheduled(name: str, properties: Properties) -> Further:
    target_keys = ("ResourceId", "ScalableDimension", "ServiceNamespace")
    for action in properties.get("ScheduledActions", ()):
        parameters = {**action, **{key: properties[key] for key in target_keys}}
        yield "application-autoscaling", "PutScheduledAction", parameters, {"ScheduledActions"}


def _endpoint(name: str, properties: Properties) -> Further:
    used = {"RetainAllVariantProperties", "ExcludeRetainedVariantProperties"}
    yield "sagemaker", "UpdateEndpoint", properties, used


def _budget(name: str, properties: Properties) -> Further:
    parameters = {
        "AccountId": "111122223333",
        "Budget": {
            **properties["Budget"],
            "BudgetLimit": {
                key: str(value) for key, value in properties["Budget"]["BudgetLimit"].items()
            },
        },
        "NotificationsWithSubscribers": properties["NotificationsWithSubscribers"],
    }
    yield "budgets", "CreateBudget", parameters, set(properties)


def _component(name: str, properties: Properties) -> Further:
    updated = ("DeploymentConfig", "RuntimeConfig", "Specification")
    parameters = {"InferenceComponentName": name, **{key: properties[key] for key in updated}}
    yield "sagemaker", "UpdateInferenceComponent", parameters, {"DeploymentConfig"}


FURTHER_CALLS: dict[str, Callable[[str, Properties], Further]] = {
    "AWS::DynamoDB::Table": _table,
    "AWS::ApplicationAutoScaling::ScalableTarget": _scheduled,
    "AWS::ApplicationAutoScaling::ScalingPolicy": _scaling_policy,
    "AWS::Budgets::Budget": _budget,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::EC2::Subnet": _network,
    "AWS::EC2::VPC": _network,
    "AWS::IAM::Policy": _policy,
    "AWS::IAM::Role": _role,
    "AWS::KMS::Key": _key,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::S3::Bucket": _bucket,
    "AWS::SNS::Topic": _topic,
    "AWS::SNS::TopicPolicy": _topic_policy,
    "AWS::SageMaker::Endpoint": _endpoint,
    "AWS::SageMaker::InferenceComponent": _component,
}
"""Resource type -> further requests for properties that the creating operation does not take."""
