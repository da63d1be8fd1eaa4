"""Policies from templates, with references replaced by ARNs."""

from typing import Any

from account_test.policies import policies_of
from tests.unit.release.preflight.conftest import template

KNOWN = {
    "AWS::AccountId": "111122223333",
    "AWS::Region": "us-east-1",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}


def policy(*actions: str, resource: Any = "*") -> dict[str, Any]:
    return {"Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": resource}]}


BUCKET = {"Fn::GetAtt": ["Bucket", "Arn"]}
TRUST = {
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "a"}, "Action": "sts:AssumeRole"}]
}
STACK: dict[str, Any] = {
    "Bucket": ("AWS::S3::Bucket", {}),
    "Role": (
        "AWS::IAM::Role",
        {
            "AssumeRolePolicyDocument": TRUST,
            "Policies": [{"PolicyName": "Inline", "PolicyDocument": policy("s3:PutObject")}],
        },
    ),
    "Policy": (
        "AWS::IAM::Policy",
        {
            "PolicyDocument": policy(
                "s3:GetObject",
                resource=[
                    {"Fn::Join": ["", [BUCKET, "/*"]]},
                    {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Bucket}"},
                    {"Fn::ImportValue": "prod-models:ExportsOutputFnGetAttModelsKeyC15Arn48"},
                    {"Ref": "Topic"},
                ],
            )
        },
    ),
    "Topic": ("AWS::SNS::Topic", {}),
    "BucketPolicy": ("AWS::S3::BucketPolicy", {"PolicyDocument": policy("s3:*", resource=BUCKET)}),
}


def test_references_are_replaced_by_arns() -> None:
    result = {
        policy.logical_id: policy for policy in policies_of("prod-text", template(STACK), KNOWN)
    }
    assert list(result) == ["Role", "Role/Inline", "Policy", "BucketPolicy"]
    assert result["Policy"].document["Statement"][0]["Resource"] == [
        "arn:aws:s3:::bucket/*",
        "arn:aws:s3:::bucket",
        "arn:aws:kms:us-east-1:111122223333:key/exportsoutputfngetattmodelskeyc15arn48",
        "arn:aws:sns:us-east-1:111122223333:topic",
    ]
    assert [policy.guards for policy in result.values()] == [
        "AWS::IAM::AssumeRolePolicyDocument",
        None,
        None,
        "AWS::S3::Bucket",
    ]
