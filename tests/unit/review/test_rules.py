"""Rules for dangers, on small templates and plans."""

import copy
from typing import Any

import pytest

from plan.document import Plan
from release.templates import Template
from review.comparison import Comparison
from review.dangers import dangers
from tests.unit.plan.plans import make_variant
from tests.unit.review.edits import PROD, STACK, compare, plan_of, variant
from tests.unit.review.resources import RESOURCES


def review_dangers(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    plan_before: Plan = PROD,
    plan_after: Plan = PROD,
) -> list[tuple[str, str]]:
    """Return rule and message of every danger of a stack with these resources."""
    sides: list[dict[str, Template]] = [
        {STACK: {"Resources": RESOURCES}, stack: {"Resources": side}} for side in (before, after)
    ]
    comparison = Comparison("prod", sides[0], sides[1], plan_before, plan_after)
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
        ({"terminationProtection": True, "tags": {"team": "ml"}},
         ["assumeRoleArn: deploy -> none"]),
        ({**SETTINGS, "parameters": {"a": "b"}}, ['parameters: none -> {"a": "b"}']),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stack", [STACK, "prod-new"])
def test_changed_stack_settings(stack: str, settings: dict[str, Any], messages: list[str]) -> None:
    sides = {STACK: SETTINGS}, {STACK: SETTINGS, stack: settings}
    result = dangers(Comparison("prod", TEMPLATES, TEMPLATES, PROD, PROD, settings=sides))
    assert [danger.message for danger in result] == [f"{stack}: {message}" for message in messages]
    assert all(danger.rule == "changed_stack_settings" for danger in result)


def test_harmless_stack_settings() -> None:
    unprotected = {STACK: {**SETTINGS, "terminationProtection": False}}
    for before in (unprotected, {}):
        comparison = Comparison(
            "prod", TEMPLATES, TEMPLATES, PROD, PROD, settings=(before, {STACK: SETTINGS})
        )
        assert not dangers(comparison)


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Example": {"Type": kind, "Properties": properties}}


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
        plan = plan_of(endpoint={"variants": {"AllTraffic": make_variant("ml.g5.12xlarge")}})
        assert len(rule_messages("weakened_alarms", before, after, plan_after=plan)) == count


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
MACHINE = "AWS::StepFunctions::StateMachine"


def definition(seconds: int) -> dict[str, Any]:
    """Return a definition as text with a reference, as the CDK writes it."""
    start = '{"States":{"Build":{"Type":"Task","Resource":"'
    end = f'","TimeoutSeconds":{seconds}}}}}}}'
    return {"DefinitionString": {"Fn::Join": ["", [start, {"Ref": "Role"}, end]]}}


def buildspec(command: str) -> dict[str, Any]:
    text = f"phases:\n  install:\n    commands:\n      - {command}\n"
    return {"Source": {"BuildSpec": text}}


AWS_IMAGE = "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:"
ARGUMENTS = "SAGEMAKER_TRITON_ADDITIONAL_ARGS"
VARIABLES = [
    (ARGUMENTS, "--model-repository=gs://evil/models --load-model=evil", 1),
    (ARGUMENTS, "--model-repository /tmp/x", 1),
    (ARGUMENTS, "--backend-directory=/opt/ml/x", 1),
    (ARGUMENTS, "--pinned-memory-pool-byte-size=268435456 --exit-on-error=false", 0),
    (ARGUMENTS, "--cuda-memory-pool-byte-size=0:67108864 --disable-auto-complete-config", 0),
    (ARGUMENTS, "--backend-config=python,shm-default-byte-size=16777216", 0),
    ("HTTPS_PROXY", "evil.example.com:3128", 1),
    ("PYTHONWARNINGS", "ignore", 1),
    ("OMP_NUM_THREADS", "4", 0),
    ("THRESHOLD", "0.5", 0),
    ("LANGUAGE", "de-DE", 0),
]
"""Name, value, and number of dangers."""


def container(image: str, **environment: str) -> dict[str, Any]:
    return {"PrimaryContainer": {"Image": image, "Environment": environment}}


PROPERTIES: list[tuple[str, str, dict[str, Any], dict[str, Any], int]] = [
    ("lost_logging", BUCKET, ACCESS_LOGGING, {}, 1),
    ("lost_logging", BUCKET, {}, ACCESS_LOGGING, 0),
    ("shrunk_protection", LOG, {"RetentionInDays": 90}, {"RetentionInDays": 1}, 1),
    ("shrunk_protection", LOG, {}, {"RetentionInDays": 365}, 1),
    ("shrunk_protection", LOG, {"RetentionInDays": 7}, {}, 0),
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
    ("lost_safeguards", "AWS::IAM::Role", {"PermissionsBoundary": "arn:aws:iam::1:p"},
     {"PermissionsBoundary": "arn:aws:iam::1:q"}, 1),
    ("lost_safeguards", "AWS::SageMaker::Model", {"EnableNetworkIsolation": True}, {}, 1),
    ("selected_code", "AWS::SageMaker::Model", container("@sha256:a"), container("@sha256:b"), 1),
    ("selected_code", "AWS::SageMaker::Model", container(AWS_IMAGE + "25.06"),
     container(AWS_IMAGE + "25.09"), 0),
    *(("selected_code", "AWS::SageMaker::Model", container(AWS_IMAGE),
       container(AWS_IMAGE, **{name: value}), count)
      for name, value, count in VARIABLES),
    ("lost_safeguards", PROJECT, {}, {"Environment": {"PrivilegedMode": True}}, 1),
    ("shrunk_protection", "AWS::Lambda::Function", {}, {"ReservedConcurrentExecutions": 0}, 1),
    ("shrunk_protection", "AWS::Lambda::Function", {"Timeout": 900}, {"Timeout": 60}, 1),
    ("shrunk_protection", "AWS::Lambda::Function", {"Timeout": 900}, {"Timeout": 600}, 0),
    ("reduced_protection", "AWS::Lambda::Function", {"Timeout": 900}, {"Timeout": 600}, 1),
    ("shrunk_protection", "Custom::X", {"ServiceTimeout": "3300"}, {"ServiceTimeout": "600"}, 1),
    ("shrunk_protection", MACHINE, definition(3300), definition(600), 1),
    ("shrunk_protection", MACHINE, definition(600), definition(3300), 0),
    ("changed_limits", MACHINE, {"Definition": {"MaxConcurrency": 10}},
     {"Definition": {"MaxConcurrency": 500}}, 1),
    ("changed_limits", MACHINE, {"DefinitionString": '{"ToleratedFailurePercentage": 0}'},
     {"DefinitionString": '{"ToleratedFailurePercentage": 100}'}, 1),
    ("lost_safeguards", "AWS::DynamoDB::Table",
     {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}, {}, 1),
    ("build_downloads", PROJECT, buildspec("pip install --require-hashes -r a.txt"),
     buildspec("pip install -r a.txt"), 1),
    ("lost_logging", PROJECT, {}, {"LogsConfig": {"CloudWatchLogs": {"Status": "DISABLED"}}}, 1),
    ("unknown_resources", BUCKET, {}, {"AccessControl": "PublicRead"}, 1),
    ("expiring_objects", BUCKET, {}, lifecycle(NONCURRENT_RULE), 1),
    ("silenced_alarms", "AWS::SNS::Topic", {"KmsMasterKeyId": "a"},
     {"KmsMasterKeyId": "arn:aws:kms:us-east-1:1:alias/aws/sns"}, 1),
    ("encryption_removed", "AWS::SNS::Topic", {"KmsMasterKeyId": "a"}, {}, 1),
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


def test_amount_in_a_text_has_both_values_and_unit() -> None:
    sides = (resource(MACHINE, **definition(seconds)) for seconds in (3300, 600))
    (message,) = rule_messages("shrunk_protection", *sides, stack="prod-models")
    assert message.endswith("DefinitionString.States.Build.TimeoutSeconds: 3300 s -> 600 s")


@pytest.mark.parametrize(("rule", "kind", "before", "after", "count"), PROPERTIES)
def test_changed_property(
    rule: str, kind: str, before: dict[str, Any], after: dict[str, Any], count: int
) -> None:
    sides = (resource(kind, **before), resource(kind, **after))
    assert len(rule_messages(rule, *sides, stack="prod-models")) == count


def test_protection_that_moves_within_a_table_of_another_type_is_kept() -> None:
    protection = {"DeletionProtectionEnabled": True}
    before = resource("AWS::DynamoDB::Table", **protection)
    for replica, count in ((protection, 0), ({"DeletionProtectionEnabled": False}, 1)):
        after = resource("AWS::DynamoDB::GlobalTable", Replicas=[replica])
        messages = rule_messages("lost_safeguards", before, after, stack="prod-models")
        assert len(messages) == count
    (message,) = rule_messages("replaced_resources", before, after, stack="prod-models")
    assert message.endswith("refuses: AWS::DynamoDB::Table -> AWS::DynamoDB::GlobalTable")


@pytest.mark.parametrize(
    ("rule", "kind", "properties"),
    [
        ("unknown_resources", "AWS::EC2::NatGateway", {}),
        ("internet_routes", "AWS::EC2::Subnet", {"MapPublicIpOnLaunch": True}),
        ("unknown_resources", "AWS::EC2::SecurityGroupEgress", {"CidrIpv6": "::/0"}),
    ],
)
def test_new_resource(rule: str, kind: str, properties: dict[str, Any]) -> None:
    after = resource(kind, **properties)
    assert len(rule_messages(rule, {}, after, stack="prod-network")) == 1
    assert not rule_messages(rule, after, after, stack="prod-network")


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
        (role(trusts={"AWS": "arn:aws:iam::999999999999:root"}), "admits a principal outside"),
        (role(trusts={"AWS": "arn:aws:iam::111111111111:root"}), None),
        (role(trusts={"AWS": "999999999999"}), "admits a principal outside"),
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


def test_powers_of_a_trusted_role_come_first() -> None:
    statements = [
        {"Action": "dynamodb:Query", "Resource": "arn:aws:dynamodb:::table/catalog"},
        {"Action": "sts:AssumeRole", "Resource": "arn:aws:iam:::role/cdk-*"},
    ]
    trusts = {"AWS": "arn:aws:iam::999999999999:root"}
    (message,) = rule_messages(
        "privileged_new_principals", {}, role(*statements, trusts=trusts), stack="prod-new"
    )
    assert message.index("role/cdk-*") < message.index("table/catalog")


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
        (MONTH + 1, 6 * MONTH, 2, True),
    ],
)
def test_over_budget(old_limit: float | None, limit: float, count: int, is_danger: bool) -> None:
    before, after = (
        plan_of(endpoint={"variants": {"AllTraffic": variant(high=high)}}, max_monthly_usd=usd)
        for high, usd in ((2, old_limit), (count, limit))
    )
    plans = {"plan_before": before, "plan_after": after}
    assert bool(rule_messages("over_budget", RESOURCES, RESOURCES, **plans)) == is_danger


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


def test_moved_stage_is_compared_without_region_and_account() -> None:
    def stack(region: str, account: str, *actions: str) -> dict[str, Any]:
        queue = f"arn:aws:sqs:{region}:{account}:work"
        return role({"Action": list(actions), "Resource": queue})

    moved_stage = plan_of(region="eu-west-1", account="222222222222")
    before = stack(PROD.region, str(PROD.account), "sqs:SendMessage")
    same_access = stack(moved_stage.region, str(moved_stage.account), "sqs:SendMessage")
    more_access = stack(
        moved_stage.region, str(moved_stage.account), "sqs:SendMessage", "sqs:PurgeQueue"
    )
    rules = [
        rule
        for rule, _ in review_dangers(before, same_access, stack="prod-new", plan_after=moved_stage)
    ]
    assert rules == ["new_environment"]
    rules = [
        rule
        for rule, _ in review_dangers(before, more_access, stack="prod-new", plan_after=moved_stage)
    ]
    assert rules == ["new_environment", "widened_access"]
    assert not rule_messages("replaced_resources", {**before, "B": RESOURCES["Log"]}, same_access,
                  stack="prod-new", plan_after=moved_stage)  # fmt: skip
