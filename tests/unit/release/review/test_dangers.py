"""Each danger, on templates of a few lines."""

import copy
from datetime import date
from pathlib import Path

import pytest

import checked_yaml
from release.review.acknowledged import Acknowledgements, read
from release.review.dangers import dangers
from release.review.dangers.danger import Danger
from tests.unit.release.review.edits import PROD, Edit, add, compared, drop, put
from tests.unit.release.review.resources import RESOURCES

STATEMENTS = ("BucketPolicy", "PolicyDocument", "Statement")
STATEMENT = ("Policy", "PolicyDocument", "Statement", 0)
VARIANT = ("Config", "ProductionVariants", 0)
TRUST = ("Role", "AssumeRolePolicyDocument", "Statement", 0, "Principal")
ENCRYPTED = ("Bucket", "BucketEncryption", "ServerSideEncryptionConfiguration", 0)
PREFIX = "if s3:prefix StringLike text/*"
INSECURE = "if aws:SecureTransport Bool false"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
ANOTHER = "arn:aws:iam::999999999999:root"
INVOCATION = {"Action": "lambda:InvokeFunction", "FunctionName": "f", "Principal": "*"}
LOSES, TEXT = "loses the encryption with its key", '{"Fn::GetAtt": ["Key", "Arn"]}'
DEFAULT = "BucketEncryption.ServerSideEncryptionConfiguration.ServerSideEncryptionByDefault"
RENAMED = (
    "the endpoint prod-text becomes prod-texts: a new one is created, the old one is "
    "deleted, and clients that invoke it by that name fail"
)


def deletion_policy(value: str) -> Edit:
    return lambda resources: resources["Kept"].update(DeletionPolicy=value)


CASES: dict[str, tuple[Edit, list[str]]] = {
    "nothing": (put("Role", "Description", "a role"), []),
    "an additional action": (
        put(*STATEMENT, "Action", ["s3:GetObject", "s3:ListBucket", "s3:PutObject"]),
        [f"Role may now s3:PutObject on Bucket {PREFIX}"],
    ),
    "a removed action": (put(*STATEMENT, "Action", ["s3:GetObject"]), []),
    "a role without a policy becomes an administrator": (
        put("Unused", "ManagedPolicyArns", [ADMINISTRATOR]),
        [f"Unused may now act on everything that {ADMINISTRATOR} allows"],
    ),
    "another account may assume the role": (
        put(*TRUST, {"AWS": ANOTHER}),
        [
            f"{ANOTHER} may now sts:AssumeRole on Role",
            "sagemaker.amazonaws.com may no longer sts:AssumeRole on Role",
        ],
    ),
    "anyone may read under a condition": (
        put(*STATEMENTS, 0, "Effect", "Allow"),
        [
            f"anyone is no longer forbidden to s3:* on Bucket {INSECURE}",
            f"anyone may s3:* on Bucket {INSECURE}",
        ],
    ),
    "a Deny statement is removed": (
        put(*STATEMENTS, []),
        [f"anyone is no longer forbidden to s3:* on Bucket {INSECURE}"],
    ),
    "anyone may invoke a function": (
        add(Permission={"Type": "AWS::Lambda::Permission", "Properties": INVOCATION}),
        ["anyone may lambda:InvokeFunction on f"],
    ),
    "SSE-KMS is replaced by SSE-S3": (
        put(*ENCRYPTED, "ServerSideEncryptionByDefault", {"SSEAlgorithm": "AES256"}),
        [f"AWS::S3::Bucket prod-text/Bucket: {LOSES}: {DEFAULT}.KMSMasterKeyID: {TEXT} -> none"],
    ),
    "DeletionPolicy changes to Delete": (
        deletion_policy("Delete"),
        ["AWS::S3::Bucket prod-text/Kept: no longer outlives its stack: "
         "DeletionPolicy: Retain -> Delete"],
    ),
    "ingress from the VPC CIDR": (
        put("Group", "SecurityGroupIngress", {
            "Fn::If": ["A", {"CidrIp": {"Fn::GetAtt": ["Vpc", "CidrBlock"]}}, []]}),
        [],
    ),
    "another resource": (
        put(*STATEMENT, "Resource", "*"),
        [f"Role may now s3:GetObject, s3:ListBucket on * {PREFIX}"],
    ),
    "anyone may assume the role": (put(*TRUST, "*"), ["anyone may sts:AssumeRole on Role"]),
    "the encryption of a bucket is removed": (
        drop("Bucket", "BucketEncryption"),
        [f"AWS::S3::Bucket prod-text/Bucket: {LOSES}: {DEFAULT}.KMSMasterKeyID: {TEXT} -> none"],
    ),
    "the key of a topic is removed": (
        drop("Topic", "KmsMasterKeyId"),
        [f"AWS::SNS::Topic prod-text/Topic: {LOSES}: KmsMasterKeyId: {TEXT} -> none"],
    ),
    "a bucket may be public": (
        put("Bucket", "PublicAccessBlockConfiguration", "BlockPublicPolicy", False),
        ["AWS::S3::Bucket prod-text/Bucket: no longer blocks public access: "
         "PublicAccessBlockConfiguration.BlockPublicPolicy: true -> false"],
    ),
    "ingress from the internet": (
        put("Group", "SecurityGroupIngress", [{"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp"}]),
        ["AWS::EC2::SecurityGroup prod-text/Group: the security group lets the whole internet in"],
    ),
    "out of the private network": (
        drop("Model", "VpcConfig"),
        ["AWS::SageMaker::Model prod-text/Model: the instances leave the private network: "
         "VpcConfig.Subnets: a -> none"],
    ),
    "no rollback": (
        drop("Endpoint", "DeploymentConfig"),
        ["prod-text: updates are no longer rolled back by errors: 0 of 1 alarms are left"],
    ),
    "an alarm is removed": (
        drop("AllTrafficErrors"),
        ["AWS::CloudWatch::Alarm prod-text/Alarm-AllTraffic: the alarm is deleted"],
    ),
    "an alarm of no variant is removed": (
        drop("Quota"),
        ["AWS::CloudWatch::Alarm prod-text/Quota: the alarm is deleted"],
    ),
    "one instance": (
        put(*VARIANT, "InitialInstanceCount", 1),
        ["prod-text may run on 1 instance: when it fails, nothing answers"],
    ),
    "another name": (put("Endpoint", "EndpointName", "prod-texts"), [RENAMED]),
    "a model dropped": (
        drop("Entry"),
        ["prod-text no longer has minilm in its catalog: clients that invoke it fail (its "
         "archives stay)"],
    ),
    "a log deleted": (drop("Log"), ["AWS::Logs::LogGroup Log is deleted"]),
    "a bucket renamed": (
        put("Bucket", "BucketName", "models"),
        ["AWS::S3::Bucket Bucket is replaced (BucketName changes) (and 1 more)"],
    ),
    "a model replaced, which is normal": (put(*VARIANT, "InstanceType", "ml.g5.2xlarge"), []),
}  # fmt: skip


def _dangers(edit: Edit, *, production: bool = True) -> list[Danger]:
    after = copy.deepcopy(RESOURCES)
    edit(after)
    file = PROD.model_copy(update={"production": production})
    return dangers(compared(RESOURCES, after, was=file, will_be=file))


@pytest.mark.parametrize("case", CASES)
def test_danger_messages(case: str) -> None:
    edit, expected = CASES[case]
    assert [danger.message for danger in _dangers(edit)] == expected


def test_one_instance_is_enough_outside_production() -> None:
    assert _dangers(put(*VARIANT, "InitialInstanceCount", 1), production=False) == []


ACKNOWLEDGED = """\
acknowledged:
  - danger: KEY
    who: Ada
    why: the alarm is flaky, see #7
    until: 2026-12-01
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of release/acknowledged.yaml below tmp_path."""
    (tmp_path / "release").mkdir()
    return tmp_path / "release" / "acknowledged.yaml"


@pytest.mark.parametrize(("today", "by"), [((2026, 12, 1), "Ada"), ((2026, 12, 2), None)])
def test_a_danger_is_acknowledged_until_a_day(
    tmp_path: Path, file: Path, today: tuple[int, int, int], by: str | None
) -> None:
    (danger,) = _dangers(drop("Endpoint", "DeploymentConfig"))
    file.write_text(ACKNOWLEDGED.replace("KEY", danger.key))
    acknowledgement = read(tmp_path).of(danger.key, date(*today))
    assert (acknowledgement.who if acknowledgement else None) == by


def test_an_acknowledgement_is_of_one_danger(tmp_path: Path, file: Path) -> None:
    (other,) = _dangers(drop("Endpoint", "DeploymentConfig"))
    file.write_text(ACKNOWLEDGED.replace("KEY", other.key))
    (danger,) = _dangers(drop("Quota"))
    assert read(tmp_path).of(danger.key, date(2026, 12, 1)) is None


def test_without_a_file_nothing_is_acknowledged(tmp_path: Path) -> None:
    assert read(tmp_path) == Acknowledgements()


def test_an_acknowledgement_says_who_why_and_until_when(tmp_path: Path, file: Path) -> None:
    file.write_text("acknowledged:\n  - danger: prod/lost_rollback/prod-text\n    who: Ada\n")
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        read(tmp_path)
    assert [problem.key for problem in raised.value.problems] == [
        "acknowledged.0.why",
        "acknowledged.0.until",
    ]
