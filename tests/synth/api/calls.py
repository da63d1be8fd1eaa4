"""The API requests that CloudFormation makes of resources when it creates them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.synth.api.deployed import Deployed
from tests.synth.assembly import Properties, Resource


@dataclass(frozen=True)
class Call:
    """A request, for the resource `made_for` (`stack.LogicalId`).

    `unused` are properties of the resource that become no parameter of any request.
    """

    made_for: str
    service: str
    operation: str
    parameters: dict[str, Any]
    unused: tuple[str, ...] = field(default=(), compare=False)


class Calls:
    """All requests of a deploy of `stage`."""

    def __init__(self, stage: Deployed, calls: list[Call]) -> None:
        self.all = calls
        self.partition, self.region, self.templates = stage.partition, stage.region, stage.templates

    def of(self, operation: str) -> list[Call]:
        """Return those of one operation, such as `CreateModel`."""
        return [each for each in self.all if each.operation == operation]


@dataclass(frozen=True)
class Made:
    """How a type of resource is made: the operation, and the parameter that its name becomes.

    Properties are parameters of the same name, but for those in `renamed`; values of parameters in
    `documents` are sent as JSON.
    """

    service: str
    operation: str
    name: str | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    documents: tuple[str, ...] = ()


MADE = {
    "AWS::ApplicationAutoScaling::ScalableTarget": Made(
        "application-autoscaling", "RegisterScalableTarget"
    ),
    "AWS::CloudWatch::Alarm": Made("cloudwatch", "PutMetricAlarm", "AlarmName"),
    "AWS::CloudWatch::Dashboard": Made("cloudwatch", "PutDashboard"),
    "AWS::CodeBuild::Project": Made("codebuild", "CreateProject", "name"),
    "AWS::EC2::RouteTable": Made("ec2", "CreateRouteTable"),
    "AWS::EC2::Subnet": Made("ec2", "CreateSubnet"),
    "AWS::EC2::SubnetRouteTableAssociation": Made("ec2", "AssociateRouteTable"),
    "AWS::EC2::VPC": Made("ec2", "CreateVpc"),
    "AWS::EC2::VPCEndpoint": Made("ec2", "CreateVpcEndpoint"),
    "AWS::IAM::OIDCProvider": Made("iam", "CreateOpenIDConnectProvider"),
    "AWS::IAM::Role": Made(
        "iam", "CreateRole", "RoleName", documents=("AssumeRolePolicyDocument",)
    ),
    "AWS::KMS::Key": Made(
        "kms", "CreateKey", renamed={"KeyPolicy": "Policy"}, documents=("Policy",)
    ),
    "AWS::Lambda::Function": Made("lambda", "CreateFunction", "FunctionName"),
    "AWS::Logs::LogGroup": Made("logs", "CreateLogGroup", "logGroupName"),
    "AWS::S3::Bucket": Made("s3", "CreateBucket", "Bucket"),
    "AWS::S3::BucketPolicy": Made(
        "s3", "PutBucketPolicy", renamed={"PolicyDocument": "Policy"}, documents=("Policy",)
    ),
    "AWS::SNS::Subscription": Made("sns", "Subscribe"),
    "AWS::SSM::Parameter": Made("ssm", "PutParameter"),
    "AWS::SageMaker::Endpoint": Made("sagemaker", "CreateEndpoint"),
    "AWS::SageMaker::EndpointConfig": Made(
        "sagemaker", "CreateEndpointConfig", "EndpointConfigName"
    ),
    "AWS::SageMaker::InferenceComponent": Made(
        "sagemaker", "CreateInferenceComponent", "InferenceComponentName"
    ),
    "AWS::SageMaker::Model": Made("sagemaker", "CreateModel", "ModelName"),
    "AWS::StepFunctions::StateMachine": Made(
        "stepfunctions", "CreateStateMachine", "name", {"DefinitionString": "definition"}
    ),
}

Shape = Callable[[str, str], Any]
"""Returns the shape of an operation's request."""


def calls(stage: Deployed, shape: Shape) -> Calls:
    """Return what a deploy of a stage asks of AWS; the requests to custom resources are ours."""
    made = [
        Call(name, "cloudformation", "CreateStack", {"StackName": name}) for name in stage.templates
    ]
    for resource in stage.resources.values():
        if not resource.kind.startswith("Custom::"):
            made += _made(stage, resource, shape)
    return Calls(stage, made)


def _made(stage: Deployed, resource: Resource, shape: Shape) -> Iterator[Call]:
    properties = stage.value(resource.properties, resource.stack)
    if (tagging := TAGGED.get(resource.kind)) and (tags := properties.pop("Tags", None)):
        service, operation, parameters = tagging(stage.name(resource), tags)
        yield Call(resource.id, service, operation, parameters)
    for service, operation, parameters, used in FURTHER.get(resource.kind, _none)(
        stage.name(resource), properties
    ):
        properties = {key: each for key, each in properties.items() if key not in used}
        yield Call(resource.id, service, operation, parameters)
    if how := MADE.get(resource.kind):
        properties = {how.renamed.get(key, key): each for key, each in properties.items()}
        for name in how.documents:
            properties[name] = document(properties[name])
        if how.name:
            properties[how.name] = stage.name(resource)
        parameters, unused = _like(properties, shape(how.service, how.operation))
        yield Call(resource.id, how.service, how.operation, parameters, unused)
    elif properties:
        yield Call(resource.id, "", "", {}, tuple(properties))


def _like(value: Properties, shape: Any) -> tuple[Properties, tuple[str, ...]]:
    """Return the parameters with the capitals of a request's shape, and the names it lacks."""
    unused: list[str] = []

    def walk(value: Any, shape: Any, where: str) -> Any:
        if shape.type_name == "structure" and isinstance(value, dict):
            names = {name.lower(): name for name in shape.members}
            result = {}
            for key, each in value.items():
                name = names.get(key.lower())
                if name is None:
                    unused.append(f"{where}{key}")
                else:
                    result[name] = walk(each, shape.members[name], f"{where}{key}.")
            return result
        if shape.type_name == "list" and isinstance(value, list):
            return [walk(each, shape.member, where) for each in value]
        return value

    return walk(value, shape, ""), tuple(unused)


def document(policy: Any) -> str:
    """Return JSON as CloudFormation sends it, without white space."""
    return json.dumps(policy, separators=(",", ":"))


Further = Iterator[tuple[str, str, dict[str, Any], set[str]]]
"""Service, operation, parameters, and the properties that are used up with it."""


def _none(name: str, properties: Properties) -> Further:
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
            ): each
            for key, each in rule.items()
        }
        for rule in properties[encryption]["ServerSideEncryptionConfiguration"]
    ]
    configuration = {"ServerSideEncryptionConfiguration": {"Rules": rules}}
    yield "s3", "PutBucketEncryption", {**bucket, **configuration}, {encryption}
    if "LifecycleConfiguration" in properties:
        rules = [_lifecycle(each) for each in properties["LifecycleConfiguration"]["Rules"]]
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
    kept = {key: each for key, each in rule.items() if key not in ("ExpirationInDays", "Prefix")}
    if "ExpirationInDays" in rule:
        kept["Expiration"] = {"Days": rule["ExpirationInDays"]}
    return {**kept, "Filter": {"Prefix": rule.get("Prefix", "")}}


def _topic(name: str, properties: Properties) -> Further:
    attributes = {key: each for key, each in properties.items() if key != "TopicName"}
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
    yield "ec2", "CreateTags", {"Resources": [vpc], "Tags": properties["Tags"]}, {"Tags"}
    for operation, of, attribute in (
        ("ModifyVpcAttribute", {"VpcId": vpc}, "EnableDnsHostnames"),
        ("ModifyVpcAttribute", {"VpcId": vpc}, "EnableDnsSupport"),
        ("ModifySubnetAttribute", {"SubnetId": subnet}, "MapPublicIpOnLaunch"),
    ):
        if attribute in properties:
            chosen = {attribute: {"Value": properties[attribute]}}
            yield "ec2", operation, {**of, **chosen}, {attribute}


def _security_group(name: str, properties: Properties) -> Further:
    parameters = {
        "GroupName": name,
        "Description": properties["GroupDescription"],
        "VpcId": properties["VpcId"],
    }
    yield "ec2", "CreateSecurityGroup", parameters, {"GroupDescription", "VpcId"}
    egress = [
        {
            "IpProtocol": each["IpProtocol"],
            "IpRanges": [{"CidrIp": each["CidrIp"], "Description": each["Description"]}],
        }
        for each in properties["SecurityGroupEgress"]
    ]
    yield (
        "ec2",
        "AuthorizeSecurityGroupEgress",
        {"GroupId": "sg-0123456789abcdef0", "IpPermissions": egress},
        {"SecurityGroupEgress"},
    )


def _scaling_policy(name: str, properties: Properties) -> Further:
    resource, dimension, service = properties["ScalingTargetId"].split("|")
    of = {"ResourceId": resource, "ScalableDimension": dimension, "ServiceNamespace": service}
    kept = {key: each for key, each in properties.items() if key != "ScalingTargetId"}
    yield "application-autoscaling", "PutScalingPolicy", {**kept, **of}, set(properties)


def _scheduled(name: str, properties: Properties) -> Further:
    of = ("ResourceId", "ScalableDimension", "ServiceNamespace")
    for action in properties.get("ScheduledActions", ()):
        parameters = {**action, **{key: properties[key] for key in of}}
        yield "application-autoscaling", "PutScheduledAction", parameters, {"ScheduledActions"}


def _endpoint(name: str, properties: Properties) -> Further:
    updated = {key: each for key, each in properties.items() if key != "Tags"}
    yield (
        "sagemaker",
        "UpdateEndpoint",
        updated,
        {"RetainAllVariantProperties", "ExcludeRetainedVariantProperties"},
    )


def _component(name: str, properties: Properties) -> Further:
    updated = ("DeploymentConfig", "RuntimeConfig", "Specification")
    parameters = {"InferenceComponentName": name, **{key: properties[key] for key in updated}}
    yield "sagemaker", "UpdateInferenceComponent", parameters, {"DeploymentConfig"}


Tags = Any
"""A list of keys with values, or a mapping: as a type's property has them."""


def _tag_arn(service: str, operation: str, arn: str, member: str = "ResourceArn") -> Any:
    def call(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
        return service, operation, {member: arn, "Tags": tags}

    return call


def _tag_key(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    values = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in tags]
    key = {"KeyId": "1234abcd-12ab-34cd-56ef-1234567890ab"}
    return "kms", "TagResource", {**key, "Tags": values}


def _tag_log(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    return "logs", "TagLogGroup", {"logGroupName": name, "tags": _mapping(tags)}


def _tag_function(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    arn = f"arn:aws:lambda:us-east-1:111122223333:function:{name}"
    return "lambda", "TagResource", {"Resource": arn, "Tags": _mapping(tags)}


def _tag_target(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    arn = "arn:aws:application-autoscaling:us-east-1:111122223333:scalable-target/0"
    return (
        "application-autoscaling",
        "TagResource",
        {"ResourceARN": arn, "Tags": _mapping(tags)},
    )


def _tag_bucket(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    return "s3", "PutBucketTagging", {"Bucket": name, "Tagging": {"TagSet": tags}}


def _tag_parameter(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    values = [{"Key": key, "Value": value} for key, value in tags.items()]
    parameters = {"ResourceType": "Parameter", "ResourceId": name, "Tags": values}
    return "ssm", "AddTagsToResource", parameters


def _tag_group(name: str, tags: Tags) -> tuple[str, str, dict[str, Any]]:
    return "ec2", "CreateTags", {"Resources": ["sg-0123456789abcdef0"], "Tags": tags}


def _mapping(tags: Tags) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


DASHBOARD = "arn:aws:cloudwatch::111122223333:dashboard/text"
TOPIC = "arn:aws:sns:us-east-1:111122223333:alarms"

TAGGED: dict[str, Callable[[str, Tags], tuple[str, str, dict[str, Any]]]] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": _tag_target,
    "AWS::CloudWatch::Dashboard": _tag_arn("cloudwatch", "TagResource", DASHBOARD, "ResourceARN"),
    "AWS::EC2::SecurityGroup": _tag_group,
    "AWS::KMS::Key": _tag_key,
    "AWS::Lambda::Function": _tag_function,
    "AWS::Logs::LogGroup": _tag_log,
    "AWS::S3::Bucket": _tag_bucket,
    "AWS::SNS::Topic": _tag_arn("sns", "TagResource", TOPIC),
    "AWS::SSM::Parameter": _tag_parameter,
}
"""How types are tagged whose creating operation has tags of another form, or none."""


FURTHER: dict[str, Callable[[str, Properties], Further]] = {
    "AWS::ApplicationAutoScaling::ScalableTarget": _scheduled,
    "AWS::ApplicationAutoScaling::ScalingPolicy": _scaling_policy,
    "AWS::EC2::RouteTable": _network,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::EC2::Subnet": _network,
    "AWS::EC2::VPC": _network,
    "AWS::EC2::VPCEndpoint": _network,
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
"""What CloudFormation calls besides, of types whose one creating operation does not take it all."""
