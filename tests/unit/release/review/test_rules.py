"""Rules that two templates of a few lines, or two stage files, show."""

import copy
from typing import Any

import pytest

from release.review.comparison import Comparison
from release.review.dangers import dangers
from release.review.findings import FindingsChange
from release.stage_file import StageFile
from release.tree import Template
from tests.unit.release.review.edits import PROD, STACK, compared
from tests.unit.release.review.resources import RESOURCES


def dangers_of(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    was: StageFile = PROD,
    will_be: StageFile = PROD,
) -> list[tuple[str, str]]:
    """Return rule and sentence of every danger, of stacks with these resources."""
    sides: list[dict[str, Template]] = [
        {STACK: {"Resources": RESOURCES}, stack: {"Resources": each}} for each in (before, after)
    ]
    comparison = Comparison("prod", sides[0], sides[1], was, will_be)
    return [(danger.rule, danger.message) for danger in dangers(comparison)]


def of(rule: str, *arguments: Any, **named: Any) -> list[str]:
    return [message for name, message in dangers_of(*arguments, **named) if name == rule]


SAME = {STACK: {"Resources": RESOURCES}}
PROTECTED = {"terminationProtection": True, "tags": {"team": "ml"}, "assumeRoleArn": "deploy"}


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (PROTECTED, []),
        ({**PROTECTED, "terminationProtection": False}, ["terminationProtection: true -> false"]),
        ({**PROTECTED, "tags": {}}, ['tags: {"team": "ml"} -> {}']),
        ({**PROTECTED, "assumeRoleArn": "mine"}, ["assumeRoleArn: deploy -> mine"]),
        (
            {"terminationProtection": True, "tags": {"team": "ml"}},
            ["assumeRoleArn: deploy -> none"],
        ),
        ({**PROTECTED, "parameters": {"a": "b"}}, ['parameters: none -> {"a": "b"}']),
    ],
)
@pytest.mark.parametrize("stack", [STACK, "prod-new"])
def test_a_stack_that_is_deployed_otherwise_is_a_danger(
    stack: str, settings: dict[str, Any], messages: list[str]
) -> None:
    sides = {STACK: PROTECTED}, {STACK: PROTECTED, stack: settings}
    known = dangers(Comparison("prod", SAME, SAME, PROD, PROD, settings=sides))
    assert [each.message for each in known] == [f"{stack}: {message}" for message in messages]
    assert all(each.rule == "changed_stack_settings" for each in known)


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
def test_a_value_that_is_read_when_a_stack_is_deployed_is_a_danger(value: Any) -> None:
    after = copy.deepcopy(RESOURCES)
    after["Role"]["Properties"]["Description"] = value
    text = f"{STACK} takes {CATALOG} when it is deployed: who may write that decides then"
    assert of("deploy_time_values", RESOURCES, after) == [text]
    assert of("deploy_time_values", after, after) == []


@pytest.mark.parametrize(
    ("default", "is_danger"), [("/triton/x", True), ("/cdk-bootstrap/x", False)]
)
def test_a_parameter_that_is_read_when_a_stack_is_deployed_is_a_danger(
    default: str, is_danger: bool
) -> None:
    parameter = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": default}
    after = {STACK: {"Resources": RESOURCES, "Parameters": {"Name": parameter}}}
    known = dangers(Comparison("prod", SAME, after, PROD, PROD))
    assert [danger.message for danger in known] == is_danger * [
        f"{STACK} takes {default} as parameter Name when it is deployed: who may write that "
        "decides then"
    ]


def test_protection_that_comes_and_settings_of_a_new_stage_are_no_danger() -> None:
    unprotected = {STACK: {**PROTECTED, "terminationProtection": False}}
    for before in (unprotected, {}):
        comparison = Comparison(
            "prod", SAME, SAME, PROD, PROD, settings=(before, {STACK: PROTECTED})
        )
        assert not dangers(comparison)


def test_one_change_of_several_stacks_is_one_danger_whose_key_has_the_value() -> None:
    def known(tag: str) -> list[Any]:
        after = {name: {**PROTECTED, "tags": tag} for name in ("a", "b")}
        sides = {"a": PROTECTED, "b": PROTECTED}, after
        return list(dangers(Comparison("prod", SAME, SAME, PROD, PROD, settings=sides)))

    ((one,), (other,)) = known("x"), known("y")
    assert one.message == 'a, b: tags: {"team": "ml"} -> x'
    assert one.key != other.key


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"It": {"Type": kind, "Properties": properties}}


def changed(*steps: str, **properties: Any) -> dict[str, Any]:
    """Return the stack of an endpoint with other properties below some steps."""
    resources = copy.deepcopy(RESOURCES)
    here = resources[steps[0]]["Properties"]
    for step in steps[1:]:
        here = here.setdefault(step, {})
    here.update(properties)
    return resources


ALARM = {
    "ComparisonOperator": "GreaterThanThreshold",
    "DatapointsToAlarm": 2,
    "EvaluationPeriods": 3,
    "MetricName": "Errors",
    "Threshold": 0.05,
    "TreatMissingData": "notBreaching",
}


def test_an_alarm_for_too_little_is_weaker_when_it_waits_for_less() -> None:
    low = {**ALARM, "ComparisonOperator": "LessThanThreshold", "Threshold": 5}
    before = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **low)}
    sides = (
        {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **{**low, "Threshold": each})}
        for each in (1, 9)
    )
    assert [len(of("weakened_alarms", before, side)) for side in sides] == [1, 0]


def test_a_threshold_of_more_gpus_is_for_each_of_them() -> None:
    """The metric of four GPUs runs to 400."""
    gpu = {
        **ALARM,
        "MetricName": "GPUMemoryUtilization",
        "Dimensions": [{"Name": "VariantName", "Value": "AllTraffic"}],
        "Threshold": 90,
    }
    before = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **gpu)}
    for threshold, count in ((360, 0), (380, 1)):
        after = {
            **copy.deepcopy(RESOURCES),
            **resource("AWS::CloudWatch::Alarm", **{**gpu, "Threshold": threshold}),
        }
        (variant,) = after["Config"]["Properties"]["ProductionVariants"]
        variant["InstanceType"] = "ml.g5.12xlarge"
        assert len(of("weakened_alarms", before, after)) == count


NOTIFYING = {"AlarmActions": ["arn:aws:sns:us-east-1:1:a", "arn:aws:sns:us-east-1:1:b"]}


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ({"AlarmActions": ["arn:aws:sns:us-east-1:1:b"]}, ["the alarm no longer notifies a"]),
        ({"AlarmActions": [*NOTIFYING["AlarmActions"], "c"]}, []),
        ({"ActionsEnabled": False}, ["the alarm notifies nobody: its actions are off"]),
    ],
)
def test_an_alarm_that_tells_fewer(change: dict[str, Any], texts: list[str]) -> None:
    before = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **ALARM, **NOTIFYING)}
    after = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **{**ALARM, **NOTIFYING, **change})}
    expected = [f"AWS::CloudWatch::Alarm prod-text/It: {text}" for text in texts]
    assert of("unheard_alarms", before, after) == expected


def test_somebody_who_no_longer_hears() -> None:
    mail = resource("AWS::SNS::Subscription", Protocol="email", Endpoint="a@b.c", TopicArn="t")
    topic = resource("AWS::SNS::Topic")
    gone = dangers_of(mail, {}, stack="prod-models")
    text = "AWS::SNS::Subscription prod-models/It: email a@b.c is no longer notified of t"
    assert gone == [("unheard_alarms", text)]
    other = copy.deepcopy(mail)
    other["It"]["Properties"]["FilterPolicy"] = {"a": ["b"]}
    assert of("unheard_alarms", mail, other, stack="prod-models")
    deleted = [("replaced_resources", "AWS::SNS::Topic It is deleted")]
    assert dangers_of(topic, {}, stack="prod-models") == deleted


WATCHED = {"TerminationWaitInSeconds": 300}
CANARY = {"Type": "CANARY", "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10}}


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (WATCHED, {"TerminationWaitInSeconds": 0}, True),
        (WATCHED, {}, True),
        (WATCHED, {"TerminationWaitInSeconds": 120}, False),
        (
            {"TrafficRoutingConfiguration": {**CANARY, "WaitIntervalInSeconds": 600}},
            {"TrafficRoutingConfiguration": {**CANARY, "WaitIntervalInSeconds": 0}},
            True,
        ),
        (
            {"TrafficRoutingConfiguration": {**CANARY, "WaitIntervalInSeconds": 600}},
            {"TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}},
            True,
        ),
    ],
)
def test_alarms_need_time_to_go_off(
    before: dict[str, Any], after: dict[str, Any], lost: bool
) -> None:
    sides = (
        changed("Endpoint", "DeploymentConfig", BlueGreenUpdatePolicy=each)
        for each in (before, after)
    )
    assert bool(of("lost_rollback", *sides)) == lost


def test_another_alarm_rolls_nothing_back_for_the_one_that_did() -> None:
    other = {"Alarms": [{"AlarmName": "quiet"}]}
    after = changed("Endpoint", "DeploymentConfig", AutoRollbackConfiguration=other)
    messages = ["prod-text: updates are no longer rolled back by errors"]
    assert of("lost_rollback", RESOURCES, after) == messages


KEPT = {"RetainAllVariantProperties": True}


@pytest.mark.parametrize(
    "after",
    [
        {"RetainAllVariantProperties": False},
        {"ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DesiredInstanceCount"}]},
    ],
)
def test_a_fleet_that_falls_to_its_initial_number(after: dict[str, Any]) -> None:
    before = changed("Endpoint", **KEPT)
    messages = of("reset_counts", before, changed("Endpoint", **{**KEPT, **after}))
    assert len(messages) == 1
    assert "AllTraffic: 2 of up to 2" in messages[0]
    weights = [{"VariantPropertyType": "DesiredWeight"}]
    assert not of(
        "reset_counts",
        before,
        changed("Endpoint", **KEPT, ExcludeRetainedVariantProperties=weights),
    )


JOBS = {"Prefix": "jobs/", "ExpirationInDays": 30, "Status": "Enabled"}
TEXTS = {"Filter": {"Prefix": "text/"}, "ExpirationDate": "2027-01-01", "Status": "Enabled"}
LOGGED = {"LoggingConfiguration": {"DestinationBucketName": "b"}}
PROJECT = "AWS::CodeBuild::Project"
VERSIONED = {"VersioningConfiguration": {"Status": "Enabled"}}


def expiring(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"LifecycleConfiguration": {"Rules": [*rules]}}


def moved(storage: str, days: int) -> dict[str, Any]:
    to = {"StorageClass": storage, "TransitionInDays": days}
    return {"Status": "Enabled", "Transitions": [to]}


BUCKET, LOG, KEY, GROUP = (
    "AWS::S3::Bucket",
    "AWS::Logs::LogGroup",
    "AWS::KMS::Key",
    "AWS::EC2::SecurityGroup",
)
PROPERTIES: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    ("expiring_objects", BUCKET, expiring(JOBS), expiring(JOBS), 0),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring({**JOBS, "ExpirationInDays": 60}), 0),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring({**JOBS, "Prefix": "jobs/old/"}), 0),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring({**JOBS, "ExpirationInDays": 7}), 1),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring({**JOBS, "Prefix": ""}), 1),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring({**JOBS, "Status": "Disabled"}), 0),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring(JOBS, TEXTS), 1),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring(JOBS, moved("DEEP_ARCHIVE", 1)), 1),
    ("expiring_objects", BUCKET, expiring(JOBS), expiring(JOBS, moved("STANDARD_IA", 30)), 0),
    ("lost_records", BUCKET, LOGGED, {}, 1),
    ("lost_records", BUCKET, {}, LOGGED, 0),
    ("lost_records", LOG, {"RetentionInDays": 90}, {"RetentionInDays": 1}, 1),
    ("lost_records", LOG, {}, {"RetentionInDays": 365}, 1),
    ("lost_records", LOG, {"RetentionInDays": 7}, {}, 0),
    ("internet_routes", "AWS::EC2::Subnet", {}, {"MapPublicIpOnLaunch": True}, 1),
    ("internet_routes", GROUP, {"SecurityGroupEgress": [{"CidrIp": "10.0.0.0/8"}]},
     {"SecurityGroupEgress": [{"CidrIp": "0.0.0.0/0"}]}, 1),
    ("lost_safeguards", KEY, {"EnableKeyRotation": True}, {}, 1),
    ("lost_safeguards", KEY, {}, {"EnableKeyRotation": True}, 0),
    ("lost_safeguards", KEY, {}, {"Enabled": False}, 1),
    ("lost_safeguards", KEY, {"Enabled": False}, {}, 0),
    ("lost_safeguards", BUCKET, VERSIONED, {"VersioningConfiguration": {"Status": "Suspended"}}, 1),
    ("lost_safeguards", BUCKET, {}, VERSIONED, 0),
    ("lost_safeguards", "AWS::IAM::Role", {"PermissionsBoundary": "arn:aws:iam::1:p"}, {}, 1),
    ("lost_safeguards", "AWS::SageMaker::Model", {"EnableNetworkIsolation": True}, {}, 1),
    ("lost_safeguards", PROJECT, {}, {"Environment": {"PrivilegedMode": True}}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "kind", "before", "after", "count"), PROPERTIES)
def test_a_property_that_changes_for_the_worse(
    rule: str, kind: str, before: dict[str, Any], after: dict[str, Any], count: int
) -> None:
    sides = (resource(kind, **before), resource(kind, **after))
    assert len(of(rule, *sides, stack="prod-models")) == count


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("AWS::EC2::NatGateway", {}),
        ("AWS::EC2::Route", {"DestinationCidrBlock": "0.0.0.0/0"}),
        ("AWS::EC2::Subnet", {"MapPublicIpOnLaunch": True}),
        ("AWS::EC2::VPCPeeringConnection", {}),
        (GROUP, {"SecurityGroupEgress": [{"CidrIp": "0.0.0.0/0"}]}),
        ("AWS::EC2::SecurityGroupEgress", {"CidrIpv6": "::/0"}),
    ],
)
def test_a_new_way_out_of_a_network(kind: str, properties: dict[str, Any]) -> None:
    after = resource(kind, **properties)
    assert len(of("internet_routes", {}, after, stack="prod-network")) == 1
    assert not of("internet_routes", after, after, stack="prod-network")


def test_an_export_that_is_in_use() -> None:
    def stacks(**outputs: Any) -> dict[str, Template]:
        named = {
            key: {"Value": value, "Export": {"Name": f"prod-models:{key}"}}
            for key, value in outputs.items()
        }
        user = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::ImportValue": IN_USE}}}
        return {
            "prod-models": {"Resources": resource("AWS::SNS::Topic"), "Outputs": named},
            STACK: {"Resources": {"User": user}},
        }

    before = stacks(Key={"Ref": "It"}, Free={"Ref": "It"})
    for after, count in (
        (stacks(Key={"Ref": "It"}), 0),
        (stacks(Free={"Ref": "It"}), 1),
        (stacks(Key={"Ref": "Other"}), 1),
    ):
        known = dangers(Comparison("prod", before, after, was=PROD, will_be=PROD))
        assert [each.rule for each in known].count("refused_exports") == count


IN_USE = "prod-models:Key"


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
    ("new", "why"),
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
def test_what_is_new_is_judged_too(new: dict[str, Any], why: str | None) -> None:
    messages = of("privileged_new_principals", {}, new, stack="prod-new")
    assert [why is not None and why in message for message in messages] == ([True] if why else [])


def test_checkov_s_high_findings_count() -> None:
    lines = ("checkov: prod-text, AWS::S3::Bucket.It: no public read [CKV_AWS_20]",
             "checkov: prod-text, AWS::S3::Bucket.It: versions [CKV_AWS_21]")  # fmt: skip
    findings = FindingsChange(new=lines, fixed=(), still=())
    before: dict[str, Template] = {STACK: {"Resources": {}}}
    after: dict[str, Template] = {STACK: {"Resources": RESOURCES}}
    comparison = Comparison("prod", before, after, PROD, PROD, findings=findings)
    high = [danger for danger in dangers(comparison) if danger.rule == "high_findings"]
    assert [each.subject for each in high] == ["prod-text.AWS::S3::Bucket.It.CKV_AWS_20"]
    assert [each.message for each in high] == [lines[0]]


REASON = "cdk-nag: prod-text/Role: AwsSolutions-IAM5[Resource::a/*]: Archives below a prefix."


@pytest.mark.parametrize(
    ("line", "is_danger"),
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
def test_what_is_acknowledged_for_a_new_reason_is_a_danger(line: str, *, is_danger: bool) -> None:
    lines = FindingsChange(new=(line,), fixed=(), still=(REASON,))
    known = dangers(Comparison("prod", SAME, SAME, PROD, PROD, acknowledged=lines))
    assert [danger.rule for danger in known] == is_danger * ["new_acknowledgements"]


def test_a_reason_that_the_base_s_code_gives_or_of_a_new_stage_is_no_danger() -> None:
    line = "cdk-nag: prod-text/Role: AwsSolutions-IAM4: It works."
    lines = FindingsChange(new=(line,), fixed=(), still=())
    reviewed = frozenset({"It works."})
    known = Comparison("prod", SAME, SAME, PROD, PROD, acknowledged=lines, base_strings=reviewed)
    assert dangers(known) == []
    new = Comparison("prod", {}, SAME, PROD, PROD, acknowledged=lines)
    assert "new_acknowledgements" not in {danger.rule for danger in dangers(new)}


def test_one_reason_for_several_findings_is_one_danger() -> None:
    new = tuple(f"cdk-nag: prod-{name}/Role: AwsSolutions-IAM4: It works." for name in "ab")
    lines = FindingsChange(new=new, fixed=(), still=(REASON,))
    (danger,) = dangers(Comparison("prod", SAME, SAME, PROD, PROD, acknowledged=lines))
    assert danger.message == (
        "prod-a/Role, prod-b/Role: AwsSolutions-IAM4 of cdk-nag is acknowledged for a new reason: "
        "It works."
    )


MONTH = 1.4 * 2 * 730  # of the endpoint of RESOURCES


@pytest.mark.parametrize(
    ("was", "will_be", "count", "crossed"),
    [
        (None, MONTH - 1, 2, True),
        (None, MONTH + 1, 2, False),
        (None, MONTH + 1, 3, True),
        (MONTH - 1, MONTH - 1, 2, False),  # it was above already, and does not rise
        (MONTH - 1, MONTH - 1, 3, True),
        (MONTH - 1, MONTH - 2, 2, True),
    ],
)
def test_a_budget_is_crossed(was: float | None, will_be: float, count: int, crossed: bool) -> None:
    after = copy.deepcopy(RESOURCES)
    after["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = count
    sides = (PROD.model_copy(update={"max_monthly_usd": each}) for each in (was, will_be))
    files = dict(zip(("was", "will_be"), sides, strict=True))
    assert bool(of("over_budget", RESOURCES, after, **files)) == crossed


def single(model: str) -> dict[str, Any]:
    resources = copy.deepcopy(RESOURCES)
    resources["Model"]["Properties"]["PrimaryContainer"]["Mode"] = "SingleModel"
    entry = resources["Entry"]["Properties"]
    entry["Value"] = entry["Value"].replace("minilm", model)
    return resources


def test_another_model_would_answer() -> None:
    messages = of("refused_updates", single("minilm"), single("bert"))
    assert len(messages) == 1
    assert "clients are sent there for minilm, and bert would answer them" in messages[0]


def test_a_group_has_the_key_of_exactly_what_is_in_it() -> None:
    def alarms(*names: str) -> dict[str, Any]:
        alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": ALARM}
        named = {
            name: {**alarm, "Metadata": {"aws:cdk:path": f"prod-text/{name}"}} for name in names
        }
        return {**RESOURCES, **named}

    def key(after: dict[str, Any]) -> str:
        (danger,) = dangers(compared(alarms("A", "B", "C"), after))
        assert danger.key.startswith("prod/lost_alarms/")
        return danger.key

    assert len({key(alarms("A")), key(alarms("B")), key(alarms()), key(alarms("A", "B"))}) == 4


def test_no_longer_production_is_one_danger_and_nothing_else_hides_in_it() -> None:
    alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": ALARM}
    paged = {**alarm, "Metadata": {"aws:cdk:path": "prod-text/Endpoint/Monitoring/A-warning"}}
    before = {**RESOURCES, "Paged": paged}
    after = {key: each for key, each in RESOURCES.items() if key != "Quota"}
    less = PROD.model_copy(update={"production": False})
    rules = [rule for rule, _ in dangers_of(before, after, will_be=less)]
    assert rules == ["left_production", "lost_alarms"]


def test_a_place_and_a_type_that_are_in_no_table_are_compared_as_they_are() -> None:
    gpu = {**ALARM, "MetricName": "GPUUtilization",
           "Dimensions": [{"Name": "VariantName", "Value": "AllTraffic"}]}  # fmt: skip
    before = {**copy.deepcopy(RESOURCES), **resource("AWS::CloudWatch::Alarm", **gpu)}
    before["Config"]["Properties"]["ProductionVariants"][0]["InstanceType"] = "ml.old.xlarge"
    after = {**RESOURCES, **resource("AWS::CloudWatch::Alarm", **{**gpu, "Threshold": 1})}
    there = PROD.model_copy(update={"region": "xx-nowhere-1"})
    rules = [rule for rule, _ in dangers_of(before, after, was=there)]
    assert rules == ["new_environment", "weakened_alarms"]


def test_a_moved_stage_is_compared_by_meaning() -> None:
    """The same role in another region and account; and one that may do more there."""

    def stack(region: str, account: str, *actions: str) -> dict[str, Any]:
        queue = f"arn:aws:sqs:{region}:{account}:work"
        return role({"Action": list(actions), "Resource": queue})

    there = StageFile(region="eu-west-1", production=True, account="222222222222")
    before = stack(PROD.region, str(PROD.account), "sqs:SendMessage")
    same = stack(there.region, str(there.account), "sqs:SendMessage")
    more = stack(there.region, str(there.account), "sqs:SendMessage", "sqs:PurgeQueue")
    rules = [rule for rule, _ in dangers_of(before, same, stack="prod-new", will_be=there)]
    assert rules == ["new_environment"]
    rules = [rule for rule, _ in dangers_of(before, more, stack="prod-new", will_be=there)]
    assert rules == ["new_environment", "widened_access"]
    assert not of("replaced_resources", {**before, "B": RESOURCES["Log"]}, same,
                  stack="prod-new", will_be=there)  # fmt: skip
