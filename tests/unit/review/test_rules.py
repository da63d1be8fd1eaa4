"""Rules for dangers, on small templates and stage files."""

import copy
from typing import Any

import pytest

from release.checkout import StageFile
from release.templates import Template
from review.comparison import Comparison
from review.dangers import dangers
from review.findings import FindingsChange
from tests.unit.review.edits import PROD, STACK, compare
from tests.unit.review.resources import RESOURCES


def review_dangers(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    file_before: StageFile = PROD,
    file_after: StageFile = PROD,
) -> list[tuple[str, str]]:
    """Return rule and message of every danger of a stack with these resources."""
    sides: list[dict[str, Template]] = [
        {STACK: {"Resources": RESOURCES}, stack: {"Resources": side}} for side in (before, after)
    ]
    comparison = Comparison("prod", sides[0], sides[1], file_before, file_after)
    return [(danger.rule, danger.message) for danger in dangers(comparison)]


def rule_messages(rule: str, *resources: Any, **options: Any) -> list[str]:
    """Return the messages of one rule; the other arguments are those of `review_dangers`."""
    return [message for name, message in review_dangers(*resources, **options) if name == rule]


TEMPLATES = {STACK: {"Resources": RESOURCES}}
SETTINGS = {"terminationProtection": True, "tags": {"team": "ml"}, "assumeRoleArn": "deploy"}


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (SETTINGS, []),
        ({**SETTINGS, "terminationProtection": False}, ["terminationProtection: true -> false"]),
        ({**SETTINGS, "tags": {}}, ['tags: {"team": "ml"} -> {}']),
        ({**SETTINGS, "assumeRoleArn": "mine"}, ["assumeRoleArn: deploy -> mine"]),
        (
            {"terminationProtection": True, "tags": {"team": "ml"}},
            ["assumeRoleArn: deploy -> none"],
        ),
        ({**SETTINGS, "parameters": {"a": "b"}}, ['parameters: none -> {"a": "b"}']),
    ],
)
@pytest.mark.parametrize("stack", [STACK, "prod-new"])
def test_changed_stack_settings(stack: str, settings: dict[str, Any], messages: list[str]) -> None:
    sides = {STACK: SETTINGS}, {STACK: SETTINGS, stack: settings}
    result = dangers(Comparison("prod", TEMPLATES, TEMPLATES, PROD, PROD, settings=sides))
    assert [danger.message for danger in result] == [f"{stack}: {message}" for message in messages]
    assert all(danger.rule == "changed_stack_settings" for danger in result)


CATALOG = "{{resolve:ssm:/triton/prod/text/bert}}"


@pytest.mark.parametrize(
    "value",
    [
        CATALOG,
        f"arn:aws:s3:::{CATALOG}",
        {"Fn::Join": ["", ["{{res", "olve:ssm:/triton/prod/text/bert}}"]]},
        {"Fn::Sub": CATALOG},
    ],
)
def test_dynamic_reference(value: Any) -> None:
    after = copy.deepcopy(RESOURCES)
    after["Role"]["Properties"]["Description"] = value
    text = f"{STACK} reads {CATALOG} at deploy time, which can change after the review"
    assert rule_messages("deploy_time_values", RESOURCES, after) == [text]
    assert rule_messages("deploy_time_values", after, after) == []


@pytest.mark.parametrize(
    ("default", "is_danger"), [("/triton/x", True), ("/cdk-bootstrap/x", False)]
)
def test_parameter_of_an_ssm_type(default: str, is_danger: bool) -> None:
    parameter = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": default}
    after = {STACK: {"Resources": RESOURCES, "Parameters": {"Name": parameter}}}
    result = dangers(Comparison("prod", TEMPLATES, after, PROD, PROD))
    text = f"{STACK} reads {default} as parameter Name at deploy time, which can change after "
    assert [danger.message for danger in result] == is_danger * [f"{text}the review"]


def test_harmless_stack_settings() -> None:
    unprotected = {STACK: {**SETTINGS, "terminationProtection": False}}
    for before in (unprotected, {}):
        comparison = Comparison(
            "prod", TEMPLATES, TEMPLATES, PROD, PROD, settings=(before, {STACK: SETTINGS})
        )
        assert not dangers(comparison)


def test_same_setting_of_several_stacks_is_one_danger() -> None:
    def tag_dangers(tag: str) -> list[Any]:
        after = {name: {**SETTINGS, "tags": tag} for name in ("a", "b")}
        sides = {"a": SETTINGS, "b": SETTINGS}, after
        return list(dangers(Comparison("prod", TEMPLATES, TEMPLATES, PROD, PROD, settings=sides)))

    ((first,), (second,)) = tag_dangers("x"), tag_dangers("y")
    assert first.message == 'a, b: tags: {"team": "ml"} -> x'
    assert first.key != second.key


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Example": {"Type": kind, "Properties": properties}}


def with_properties(name: str, **properties: Any) -> dict[str, Any]:
    """Return RESOURCES with changed properties of a resource."""
    resources = copy.deepcopy(RESOURCES)
    resources[name]["Properties"].update(properties)
    return resources


ALARM = {
    "ComparisonOperator": "GreaterThanThreshold",
    "DatapointsToAlarm": 2,
    "EvaluationPeriods": 3,
    "MetricName": "Errors",
    "Threshold": 0.05,
    "TreatMissingData": "notBreaching",
}


def test_gpu_thresholds_are_compared_per_gpu() -> None:
    gpu = {
        **ALARM,
        "MetricName": "GPUMemoryUtilization",
        "Dimensions": [{"Name": "VariantName", "Value": "AllTraffic"}],
        "Threshold": 90,
    }
    before = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **gpu)}
    for threshold, count in ((360, 0), (380, 1)):  # sums over four GPUs; 360 is 4 * 90
        after = {
            **copy.deepcopy(RESOURCES),
            **resource("AWS::CloudWatch::Alarm", **{**gpu, "Threshold": threshold}),
        }
        (variant,) = after["Config"]["Properties"]["ProductionVariants"]
        variant["InstanceType"] = "ml.g5.12xlarge"
        assert len(rule_messages("weakened_alarms", before, after)) == count


JOBS_RULE = {"Prefix": "jobs/", "ExpirationInDays": 30, "Status": "Enabled"}
TEXT_RULE = {"Filter": {"Prefix": "text/"}, "ExpirationDate": "2027-01-01", "Status": "Enabled"}
ACCESS_LOGGING = {"LoggingConfiguration": {"DestinationBucketName": "b"}}
PROJECT = "AWS::CodeBuild::Project"
VERSIONING = {"VersioningConfiguration": {"Status": "Enabled"}}


NONCURRENT_RULE = {"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}


def lifecycle(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"LifecycleConfiguration": {"Rules": [*rules]}}


def transition_rule(storage_class: str, days: int) -> dict[str, Any]:
    transition = {"StorageClass": storage_class, "TransitionInDays": days}
    return {"Status": "Enabled", "Transitions": [transition]}


BUCKET, LOG, KEY, GROUP = (
    "AWS::S3::Bucket",
    "AWS::Logs::LogGroup",
    "AWS::KMS::Key",
    "AWS::EC2::SecurityGroup",
)
PROPERTIES: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    ("lost_logging", BUCKET, ACCESS_LOGGING, {}, 1),
    ("lost_logging", BUCKET, {}, ACCESS_LOGGING, 0),
    ("lost_logging", LOG, {"RetentionInDays": 90}, {"RetentionInDays": 1}, 1),
    ("lost_logging", LOG, {}, {"RetentionInDays": 365}, 1),
    ("lost_logging", LOG, {"RetentionInDays": 7}, {}, 0),
    ("internet_routes", "AWS::EC2::Subnet", {}, {"MapPublicIpOnLaunch": True}, 1),
    ("internet_routes", GROUP, {"SecurityGroupEgress": [{"CidrIp": "10.0.0.0/8"}]},
     {"SecurityGroupEgress": [{"CidrIp": "0.0.0.0/0"}]}, 1),
    ("lost_safeguards", KEY, {"EnableKeyRotation": True}, {}, 1),
    ("lost_safeguards", KEY, {}, {"EnableKeyRotation": True}, 0),
    ("lost_safeguards", KEY, {}, {"Enabled": False}, 1),
    ("lost_safeguards", KEY, {"Enabled": False}, {}, 0),
    ("lost_safeguards", BUCKET, VERSIONING, {}, 1),
    ("lost_safeguards", BUCKET, {}, VERSIONING, 0),
    ("lost_safeguards", "AWS::IAM::Role", {"PermissionsBoundary": "arn:aws:iam::1:p"}, {}, 1),
    ("lost_safeguards", "AWS::SageMaker::Model", {"EnableNetworkIsolation": True}, {}, 1),
    ("lost_safeguards", PROJECT, {}, {"Environment": {"PrivilegedMode": True}}, 1),
    ("lost_safeguards", "AWS::Lambda::Function", {}, {"ReservedConcurrentExecutions": 0}, 1),
    ("lost_logging", PROJECT, {}, {"LogsConfig": {"CloudWatchLogs": {"Status": "DISABLED"}}}, 1),
    ("public_exposure", BUCKET, {}, {"AccessControl": "PublicRead"}, 1),
    ("expiring_objects", BUCKET, {}, lifecycle(NONCURRENT_RULE), 1),
    ("encryption_removed", "AWS::SNS::Topic", {"KmsMasterKeyId": "a"},
     {"KmsMasterKeyId": "alias/aws/sns"}, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "is_danger"),
    [
        ([{**JOBS_RULE, "ExpirationInDays": 60}], False),
        ([{**JOBS_RULE, "Prefix": "jobs/old/"}], False),
        ([{**JOBS_RULE, "ExpirationInDays": 7}], True),
        ([{**JOBS_RULE, "Prefix": ""}], True),
        ([{**JOBS_RULE, "Status": "Disabled"}], False),
        ([JOBS_RULE, TEXT_RULE], True),
        ([JOBS_RULE, transition_rule("DEEP_ARCHIVE", 1)], True),
        ([JOBS_RULE, transition_rule("STANDARD_IA", 30)], False),
    ],
)
def test_changed_lifecycle(rules: list[dict[str, Any]], *, is_danger: bool) -> None:
    sides = (resource(BUCKET, **lifecycle(*side)) for side in ([JOBS_RULE], rules))
    assert bool(rule_messages("expiring_objects", *sides, stack="prod-models")) == is_danger


@pytest.mark.parametrize(("rule", "kind", "before", "after", "count"), PROPERTIES)
def test_changed_property(
    rule: str, kind: str, before: dict[str, Any], after: dict[str, Any], count: int
) -> None:
    sides = (resource(kind, **before), resource(kind, **after))
    assert len(rule_messages(rule, *sides, stack="prod-models")) == count


@pytest.mark.parametrize(
    ("rule", "kind", "properties"),
    [
        ("internet_routes", "AWS::EC2::NatGateway", {}),
        ("internet_routes", "AWS::EC2::Route", {"DestinationCidrBlock": "0.0.0.0/0"}),
        ("internet_routes", "AWS::EC2::Subnet", {"MapPublicIpOnLaunch": True}),
        ("internet_routes", "AWS::EC2::VPCPeeringConnection", {}),
        ("internet_routes", "AWS::EC2::VPCEndpoint", {"ServiceName": "dynamodb"}),
        ("internet_routes", GROUP, {"SecurityGroupEgress": [{"CidrIp": "0.0.0.0/0"}]}),
        ("internet_routes", "AWS::EC2::SecurityGroupEgress", {"CidrIpv6": "::/0"}),
        ("lost_safeguards", "AWS::IAM::AccessKey", {"UserName": "ci"}),
    ],
)
def test_new_resource(rule: str, kind: str, properties: dict[str, Any]) -> None:
    after = resource(kind, **properties)
    assert len(rule_messages(rule, {}, after, stack="prod-network")) == 1
    assert not rule_messages(rule, after, after, stack="prod-network")


def test_changed_export_that_is_imported() -> None:
    def stacks(**outputs: Any) -> dict[str, Template]:
        named = {
            key: {"Value": value, "Export": {"Name": f"prod-models:{key}"}}
            for key, value in outputs.items()
        }
        importer = {
            "Type": "AWS::SNS::Topic",
            "Properties": {"TopicName": {"Fn::ImportValue": IMPORTED_NAME}},
        }
        return {
            "prod-models": {"Resources": resource("AWS::SNS::Topic"), "Outputs": named},
            STACK: {"Resources": {"Importer": importer}},
        }

    before = stacks(Key={"Ref": "Example"}, Free={"Ref": "Example"})
    for after, count in (
        (stacks(Key={"Ref": "Example"}), 0),
        (stacks(Free={"Ref": "Example"}), 1),
        (stacks(Key={"Ref": "Other"}), 1),
    ):
        result = dangers(Comparison("prod", before, after, PROD, PROD))
        assert [danger.rule for danger in result].count("rejected_exports") == count


IMPORTED_NAME = "prod-models:Key"


def role(*statements: dict[str, Any], trusts: dict[str, Any] | None = None) -> dict[str, Any]:
    service = {"Service": "lambda.amazonaws.com"}
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": trusts or service}
    return resource(
        "AWS::IAM::Role",
        AssumeRolePolicyDocument={"Statement": [trust]},
        Policies=[{"PolicyDocument": {"Statement": [{"Effect": "Allow", **statement}]}}
                  for statement in statements],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (role({"Action": "*", "Resource": "*"}), "may do everything"),
        (role({"NotAction": "iam:*", "Resource": "*"}), "may do everything"),
        (role({"Action": "s3:*", "Resource": "arn:aws:s3:::b/*"}), "may do everything in a"),
        (role({"Action": "s3:Get*", "Resource": "*"}), "reaches all data"),
        (role({"Action": "kms:Decrypt", "Resource": "arn:aws:kms:us-east-1:1:key/*"}), "reaches"),
        (
            role({
                "Action": "kms:Decrypt",
                "Resource": "arn:aws:kms:us-east-1:1:key/*",
                "Condition": {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}},
            }),
            None,
        ),
        (role({"Action": "iam:PassRole", "Resource": "*"}), "allows privilege escalation"),
        (role({"Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/*"}), None),
        (role({"Action": "ec2:DescribeSubnets", "Resource": "*"}), None),
        (role(trusts={"AWS": "arn:aws:iam::999999999999:root"}), "admits a principal outside"),
        (role(trusts={"AWS": "arn:aws:iam::111111111111:root"}), None),
        (role(trusts={"AWS": "999999999999"}), "admits a principal outside"),
        (
            resource(
                "AWS::IAM::Role",
                ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonS3FullAccess"],
            ),
            "has a full-access policy managed by AWS",
        ),
        (
            resource(
                "AWS::IAM::Role",
                AssumeRolePolicyDocument={"Statement": {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRoleWithWebIdentity",
                    "Principal": {"Federated": "arn:aws:iam::111111111111:oidc-provider/x"},
                }},
            ),
            "trusts any identity of a federated",
        ),
    ],
)  # fmt: skip
def test_privileged_new_role(new: dict[str, Any], reason: str | None) -> None:
    messages = rule_messages("privileged_new_principals", {}, new, stack="prod-new")
    assert len(messages) == (reason is not None)
    assert all(str(reason) in message for message in messages)


def test_checkov_finding_of_high_severity() -> None:
    lines = ("checkov: prod-text, AWS::S3::Bucket.Example: no public read [CKV_AWS_20]",
             "checkov: prod-text, AWS::S3::Bucket.Example: versions [CKV_AWS_21]")  # fmt: skip
    findings = FindingsChange(new=lines)
    before: dict[str, Template] = {STACK: {"Resources": {}}}
    after: dict[str, Template] = {STACK: {"Resources": RESOURCES}}
    comparison = Comparison("prod", before, after, PROD, PROD, findings=findings)
    high_severity = [
        danger for danger in dangers(comparison) if danger.rule == "high_severity_findings"
    ]
    assert [danger.subject for danger in high_severity] == [
        "prod-text.AWS::S3::Bucket.Example.CKV_AWS_20"
    ]
    assert [danger.message for danger in high_severity] == [lines[0]]


REASON = "cdk-nag: prod-text/Role: AwsSolutions-IAM5[Resource::a/*]: Archives below a prefix."


@pytest.mark.parametrize(
    ("finding", "is_danger"),
    [
        (
            "cdk-nag: prod-new/Role: AwsSolutions-IAM5[Resource::b/*]: Archives below a prefix.",
            False,
        ),
        ("cdk-nag: prod-new/Role: AwsSolutions-IAM4[Policy::x]: Archives below a prefix.", True),
        ("cdk-nag: prod-text/Role: AwsSolutions-IAM5[Resource::*]: It works.", True),
        ("cdk-nag: prod-text/Role: AwsSolutions-IAM5[x]: y]: Archives below a prefix.", True),
        ("cdk-nag: prod-text/Role: AwsSolutions-S1: logs\nof nothing", True),
        ("cdk-nag: prod-text: AwsSolutions-IAM5[a]: Archives below a prefix.: x: y", True),
    ],
)
def test_new_acknowledgement(finding: str, *, is_danger: bool) -> None:
    lines = FindingsChange(new=(finding,), remaining=(REASON,))
    result = dangers(Comparison("prod", TEMPLATES, TEMPLATES, PROD, PROD, acknowledged=lines))
    assert [danger.rule for danger in result] == is_danger * ["new_acknowledgements"]


def test_reason_in_the_code_of_the_base_is_not_new() -> None:
    line = "cdk-nag: prod-text/Role: AwsSolutions-IAM4: It works."
    lines = FindingsChange(new=(line,))
    strings = frozenset({"It works."})
    known_reason = Comparison(
        "prod", TEMPLATES, TEMPLATES, PROD, PROD, acknowledged=lines, base_strings=strings
    )
    assert dangers(known_reason) == []
    new_stage = Comparison("prod", {}, TEMPLATES, PROD, PROD, acknowledged=lines)
    assert "new_acknowledgements" not in {danger.rule for danger in dangers(new_stage)}


MONTH = 1.4 * 2 * 730
"""Monthly cost of the endpoint in RESOURCES."""


@pytest.mark.parametrize(
    ("old_limit", "limit", "count", "is_danger"),
    [
        (None, MONTH - 1, 2, True),
        (None, MONTH + 1, 2, False),
        (None, MONTH + 1, 3, True),
        (MONTH - 1, MONTH - 1, 2, False),  # already above, and does not rise
        (MONTH - 1, MONTH - 1, 3, True),
        (MONTH - 1, MONTH - 2, 2, True),
    ],
)
def test_over_budget(old_limit: float | None, limit: float, count: int, is_danger: bool) -> None:
    after = copy.deepcopy(RESOURCES)
    after["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = count
    sides = (PROD.model_copy(update={"max_monthly_usd": limit}) for limit in (old_limit, limit))
    files = dict(zip(("file_before", "file_after"), sides, strict=True))
    assert bool(rule_messages("over_budget", RESOURCES, after, **files)) == is_danger


def single_model_stack(model: str) -> dict[str, Any]:
    resources = copy.deepcopy(RESOURCES)
    resources["Model"]["Properties"]["PrimaryContainer"]["Mode"] = "SingleModel"
    entry = resources["Entry"]["Properties"]
    entry["Value"] = entry["Value"].replace("minilm", model)
    return resources


def test_single_model_endpoint_cannot_change_its_model() -> None:
    messages = rule_messages(
        "rejected_updates", single_model_stack("minilm"), single_model_stack("bert")
    )
    assert len(messages) == 1
    assert "bert would answer the clients of minilm" in messages[0]


def test_group_key_depends_on_all_members() -> None:
    def alarms(*names: str) -> dict[str, Any]:
        alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": ALARM}
        named = {
            name: {**alarm, "Metadata": {"aws:cdk:path": f"prod-text/{name}"}} for name in names
        }
        return {**RESOURCES, **named}

    def key(after: dict[str, Any]) -> str:
        (danger,) = dangers(compare(alarms("A", "B", "C"), after))
        assert danger.key.startswith("prod/lost_alarms/")
        return danger.key

    assert len({key(alarms("A")), key(alarms("B")), key(alarms()), key(alarms("A", "B"))}) == 4


def test_no_longer_production_includes_only_its_own_alarms() -> None:
    alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": ALARM}
    warning_alarm = {
        **alarm,
        "Metadata": {"aws:cdk:path": "prod-text/Endpoint/Monitoring/A-warning"},
    }
    before = {**RESOURCES, "Warning": warning_alarm}
    after = {key: value for key, value in RESOURCES.items() if key != "Quota"}
    development = PROD.model_copy(update={"production": False})
    rules = [rule for rule, _ in review_dangers(before, after, file_after=development)]
    assert rules == ["no_longer_production", "lost_alarms"]


def test_unknown_region_and_instance_type() -> None:
    gpu = {**ALARM, "MetricName": "GPUUtilization",
           "Dimensions": [{"Name": "VariantName", "Value": "AllTraffic"}]}  # fmt: skip
    before = {**copy.deepcopy(RESOURCES), **resource("AWS::CloudWatch::Alarm", **gpu)}
    before["Config"]["Properties"]["ProductionVariants"][0]["InstanceType"] = "ml.old.xlarge"
    after = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **{**gpu, "Threshold": 1})}
    moved_stage = PROD.model_copy(update={"region": "xx-nowhere-1"})
    rules = [rule for rule, _ in review_dangers(before, after, file_before=moved_stage)]
    assert rules == ["new_environment", "weakened_alarms"]


def test_moved_stage_is_compared_without_region_and_account() -> None:
    def stack(region: str, account: str, *actions: str) -> dict[str, Any]:
        queue = f"arn:aws:sqs:{region}:{account}:work"
        return role({"Action": list(actions), "Resource": queue})

    moved_stage = StageFile(region="eu-west-1", production=True, account="222222222222")
    before = stack(PROD.region, str(PROD.account), "sqs:SendMessage")
    same_access = stack(moved_stage.region, str(moved_stage.account), "sqs:SendMessage")
    more_access = stack(
        moved_stage.region, str(moved_stage.account), "sqs:SendMessage", "sqs:PurgeQueue"
    )
    rules = [
        rule
        for rule, _ in review_dangers(before, same_access, stack="prod-new", file_after=moved_stage)
    ]
    assert rules == ["new_environment"]
    rules = [
        rule
        for rule, _ in review_dangers(before, more_access, stack="prod-new", file_after=moved_stage)
    ]
    assert rules == ["new_environment", "widened_access"]
    assert not rule_messages("replaced_resources", {**before, "B": RESOURCES["Log"]}, same_access,
                  stack="prod-new", file_after=moved_stage)  # fmt: skip
