"""Policies of templates, and what Access Analyzer says of them."""

import json
from typing import Any

import pytest

from release.preflight import access
from release.preflight.policies import policies_of
from release.preflight.rows import Verdict
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    template,
)

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


def test_references_become_arns_that_an_analyzer_reads() -> None:
    found = {it.logical_id: it for it in policies_of("prod-text", template(STACK), KNOWN)}
    assert list(found) == ["Role", "Role/Inline", "Policy", "BucketPolicy"]
    assert found["Policy"].document["Statement"][0]["Resource"] == [
        "arn:aws:s3:::bucket/*",
        "arn:aws:s3:::bucket",
        "arn:aws:kms:us-east-1:111122223333:key/exportsoutputfngetattmodelskeyc15arn48",
        "arn:aws:sns:us-east-1:111122223333:topic",
    ]
    assert [it.guards for it in found.values()] == [
        "AWS::IAM::AssumeRolePolicyDocument",
        None,
        None,
        "AWS::S3::Bucket",
    ]


def answers(aws: Aws, *findings: dict[str, Any], public: str = "PASS") -> None:
    def validated(request: dict[str, Any]) -> dict[str, Any]:
        json.loads(request["policyDocument"])
        wanted = request["policyType"] == "IDENTITY_POLICY" and "Inline" not in str(request)
        return {"findings": list(findings) if wanted else []}

    aws.answers["accessanalyzer.ValidatePolicy"] = validated
    aws.answers["accessanalyzer.CheckNoPublicAccess"] = {"result": public, "message": "it is open"}


def finding(kind: str) -> dict[str, Any]:
    return {
        "findingType": kind,
        "issueCode": "INVALID_ACTION",
        "findingDetails": "no such action",
        "learnMoreLink": "https://docs.aws.amazon.com/x",
        "locations": [],
    }


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("ERROR", Verdict.REFUSED),
        ("SECURITY_WARNING", Verdict.REFUSED),
        ("WARNING", Verdict.OK),
        ("SUGGESTION", Verdict.OK),
    ],
)
def test_findings_are_rows_by_their_type(
    make: MakeAccount, aws: Aws, kind: str, verdict: Verdict
) -> None:
    answers(aws, finding(kind))
    rows = list(access.ask(make(prod_text={"Policy": STACK["Policy"]})))
    assert [(it.subject, it.verdict) for it in rows] == [("prod-text: Policy", verdict)]
    assert rows[0].said == "INVALID_ACTION: no such action"


def test_clean_policies_are_counted_and_public_ones_refused(make: MakeAccount, aws: Aws) -> None:
    answers(aws)
    (row,) = access.ask(make(prod_text=STACK))
    assert row.said == "nothing to say of 4"
    asked = aws.requests("accessanalyzer.CheckNoPublicAccess")
    assert [it["resourceType"] for it in asked] == [
        "AWS::IAM::AssumeRolePolicyDocument",
        "AWS::S3::Bucket",
    ]
    answers(aws, public="FAIL")
    rows = list(access.ask(make(prod_text=STACK)))
    refused = [it.subject for it in rows if it.verdict is Verdict.REFUSED]
    assert refused == ["prod-text: trust of Role", "prod-text: BucketPolicy"]
