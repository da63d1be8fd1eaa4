"""Each danger, on templates of a few lines."""

import copy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import checked_yaml
from release.review.acknowledged import Acknowledgements, read
from release.review.comparison import Comparison
from release.review.dangers import dangers
from release.review.dangers.danger import Danger
from release.stage_file import StageFile
from tests.unit.release.review.resources import RESOURCES

Path_ = tuple[Any, ...]


def _changed(path: Path_, value: Any) -> dict[str, Any]:
    """The resources with one value set, or taken away where it is None."""
    resources = copy.deepcopy(RESOURCES)
    here = resources
    for step in path[:-1]:
        here = here[step]
    if value is None:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return resources


BUCKET_STATEMENT = ("BucketPolicy", "Properties", "PolicyDocument", "Statement", 0)
STATEMENT = ("Policy", "Properties", "PolicyDocument", "Statement", 0)
VARIANT = ("Config", "Properties", "ProductionVariants", 0)
TRUST = ("Role", "Properties", "AssumeRolePolicyDocument", "Statement", 0, "Principal")
PREFIX = "if s3:prefix StringLike text/*"
INSECURE = "if aws:SecureTransport Bool false"

CASES: list[tuple[str, Path_, Any, list[str]]] = [
    ("nothing", ("Role", "Properties", "Description"), "a role", []),
    (
        "an action more",
        (*STATEMENT, "Action"),
        ["s3:GetObject", "s3:ListBucket", "s3:PutObject"],
        [f"Role may now s3:PutObject on Bucket {PREFIX}"],
    ),
    ("an action less", (*STATEMENT, "Action"), ["s3:GetObject"], []),
    (
        "a condition more",
        (*STATEMENT, "Condition", "Bool"),
        {"aws:SecureTransport": "true"},
        [],
    ),
    (
        "everything but one action",
        STATEMENT,
        {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"},
        ["Role may now everything but iam:* on *"],
    ),
    (
        "everything but one resource",
        STATEMENT,
        {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::secret"},
        ["Role may now s3:GetObject on everything but arn:aws:s3:::secret"],
    ),
    (
        "a role without a policy becomes an administrator",
        ("Unused", "Properties", "ManagedPolicyArns"),
        ["arn:aws:iam::aws:policy/AdministratorAccess"],
        [
            "Unused may now act on everything that "
            "arn:aws:iam::aws:policy/AdministratorAccess allows"
        ],
    ),
    (
        "another account may take the role on",
        TRUST,
        {"AWS": "arn:aws:iam::999999999999:root"},
        ["arn:aws:iam::999999999999:root may now sts:AssumeRole on Role"],
    ),
    (
        "anyone may read under a condition",
        (*BUCKET_STATEMENT, "Effect"),
        "Allow",
        [
            f"anyone is no longer forbidden to s3:* on Bucket {INSECURE}",
            f"anyone may s3:* on Bucket {INSECURE}",
        ],
    ),
    (
        "what was forbidden is not any more",
        ("BucketPolicy", "Properties", "PolicyDocument", "Statement"),
        [],
        [
            f"anyone is no longer forbidden to s3:* on Bucket {INSECURE}",
        ],
    ),
    (
        "anyone may invoke a function",
        ("Permission",),
        {
            "Type": "AWS::Lambda::Permission",
            "Properties": {
                "Action": "lambda:InvokeFunction",
                "FunctionName": "f",
                "Principal": "*",
            },
        },
        ["anyone may lambda:InvokeFunction on f"],
    ),
    (
        "another key's place is taken by S3's own",
        (
            *("Bucket", "Properties", "BucketEncryption", "ServerSideEncryptionConfiguration", 0),
            "ServerSideEncryptionByDefault",
        ),
        {"SSEAlgorithm": "AES256"},
        ["AWS::S3::Bucket prod-text/Bucket: loses the key that encrypts it"],
    ),
    (
        "a bucket goes with its stack",
        ("Kept", "DeletionPolicy"),
        "Delete",
        ["AWS::S3::Bucket prod-text/Kept: no longer outlives its stack"],
    ),
    (
        "a network of the VPC is let in",
        ("Group", "Properties", "SecurityGroupIngress"),
        {"Fn::If": ["A", {"CidrIp": {"Fn::GetAtt": ["Vpc", "CidrBlock"]}}, []]},
        [],
    ),
    (
        "another resource",
        (*STATEMENT, "Resource"),
        "*",
        [f"Role may now s3:GetObject, s3:ListBucket on * {PREFIX}"],
    ),
    (
        "a condition less",
        (*STATEMENT, "Condition"),
        None,
        [
            "Role may now s3:GetObject, s3:ListBucket on Bucket: the condition s3:prefix "
            "StringLike text/* is removed"
        ],
    ),
    (
        "anyone may take the role on",
        TRUST,
        "*",
        ["anyone may sts:AssumeRole on Role"],
    ),
    (
        "encryption of a bucket goes",
        ("Bucket", "Properties", "BucketEncryption"),
        None,
        [
            "AWS::S3::Bucket prod-text/Bucket: loses the key that encrypts it",
        ],
    ),
    (
        "the key of a topic goes",
        ("Topic", "Properties", "KmsMasterKeyId"),
        None,
        ["AWS::SNS::Topic prod-text/Topic: loses its encryption with KmsMasterKeyId"],
    ),
    (
        "a bucket may be public",
        ("Bucket", "Properties", "PublicAccessBlockConfiguration", "BlockPublicPolicy"),
        False,
        ["AWS::S3::Bucket prod-text/Bucket: no longer blocks public access: BlockPublicPolicy"],
    ),
    (
        "the internet is let in",
        ("Group", "Properties", "SecurityGroupIngress"),
        [{"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp"}],
        ["AWS::EC2::SecurityGroup prod-text/Group: the security group lets the whole internet in"],
    ),
    (
        "out of the private network",
        ("Model", "Properties", "VpcConfig"),
        None,
        ["AWS::SageMaker::Model prod-text/Model: the instances leave the private network"],
    ),
    (
        "no rollback",
        ("Endpoint", "Properties", "DeploymentConfig"),
        None,
        ["prod-text: updates are rolled back by 0 alarms, before by 1"],
    ),
    (
        "an alarm goes",
        ("AllTrafficErrors",),
        None,
        ["prod-text loses the alarm Alarm-AllTraffic"],
    ),
    (
        "an alarm of no variant goes",
        ("Quota",),
        None,
        ["prod-text loses the alarm Quota"],
    ),
    (
        "one instance",
        (*VARIANT, "InitialInstanceCount"),
        1,
        ["prod-text may run on 1 instance: when it fails, nothing answers"],
    ),
    (
        "another name",
        ("Endpoint", "Properties", "EndpointName"),
        "prod-texts",
        [
            "the endpoint prod-text becomes prod-texts: a new one is created, the old one is "
            "deleted, and clients that invoke it by that name fail"
        ],
    ),
    (
        "a model dropped",
        ("Entry",),
        None,
        [
            "prod-text no longer has minilm in its catalog: clients that ask for it fail (its "
            "archives stay)"
        ],
    ),
    ("a log deleted", ("Log",), None, ["AWS::Logs::LogGroup Log is deleted"]),
    (
        "a bucket renamed",
        ("Bucket", "Properties", "BucketName"),
        "models",
        [
            "AWS::S3::Bucket Bucket is replaced (BucketName changes)",
        ],
    ),
    ("a model replaced, which is normal", (*VARIANT, "InstanceType"), "ml.g5.2xlarge", []),
]


def _dangers(resources: dict[str, Any], *, production: bool = True) -> list[Danger]:
    after = {"prod-text": {"Resources": resources}}
    before = {"prod-text": {"Resources": RESOURCES}}
    file = StageFile(region="us-east-1", production=production)
    return dangers(Comparison("prod", before, after, was=file, will_be=file))


@pytest.mark.parametrize(
    ("path", "value", "expected"), [it[1:] for it in CASES], ids=[it[0] for it in CASES]
)
def test_a_danger_is_told_in_words(path: Path_, value: Any, expected: list[str]) -> None:
    assert [danger.message for danger in _dangers(_changed(path, value))] == expected


def test_one_instance_is_enough_outside_production() -> None:
    changed = _changed((*VARIANT, "InitialInstanceCount"), 1)
    assert _dangers(changed, production=False) == []


TODAY = date(2026, 11, 1)
ACKNOWLEDGED = """\
acknowledged:
  - danger: KEY
    who: Ada
    why: the alarm is flaky, see #7
    until: 2026-12-01
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a tree, `tmp_path`, has its acknowledgements."""
    (tmp_path / "release").mkdir()
    return tmp_path / "release" / "acknowledged.yaml"


@pytest.mark.parametrize(("today", "by"), [((2026, 12, 1), "Ada"), ((2026, 12, 2), None)])
def test_a_danger_is_acknowledged_until_a_day(
    tmp_path: Path, file: Path, today: tuple[int, int, int], by: str | None
) -> None:
    (danger,) = _dangers(_changed(("Endpoint", "Properties", "DeploymentConfig"), None))
    file.write_text(ACKNOWLEDGED.replace("KEY", danger.key))
    found = read(tmp_path, TODAY).of(danger.key, date(*today))
    assert (found.who if found else None) == by


def test_an_acknowledgement_is_of_one_danger(tmp_path: Path, file: Path) -> None:
    (other,) = _dangers(_changed(("Endpoint", "Properties", "DeploymentConfig"), None))
    file.write_text(ACKNOWLEDGED.replace("KEY", other.key))
    (danger,) = _dangers(_changed(("Quota",), None))
    assert read(tmp_path, TODAY).of(danger.key, date(2026, 12, 1)) is None


def test_nothing_is_acknowledged_for_longer_than_a_year(tmp_path: Path, file: Path) -> None:
    file.write_text(ACKNOWLEDGED.replace("KEY", "a/b/c").replace("2026-12-01", "2099-01-01"))
    with pytest.raises(checked_yaml.InvalidFile, match="write 2027-11-02 or earlier") as raised:
        read(tmp_path, TODAY)
    (problem,) = raised.value.problems
    assert (problem.line, problem.key) == (5, "acknowledged.0.until")


def test_without_a_file_nothing_is_acknowledged(tmp_path: Path) -> None:
    assert read(tmp_path, TODAY) == Acknowledgements()


def test_an_acknowledgement_says_who_why_and_until_when(tmp_path: Path, file: Path) -> None:
    file.write_text("acknowledged:\n  - danger: prod/lost_rollback/prod-text\n    who: Ada\n")
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        read(tmp_path, TODAY)
    assert [problem.key for problem in raised.value.problems] == [
        "acknowledged.0.why",
        "acknowledged.0.until",
    ]
