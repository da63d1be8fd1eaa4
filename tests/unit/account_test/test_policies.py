"""IAM policies from templates, with references resolved."""

from account_test.policies import iam_policies
from tests.unit.release.preflight.conftest import template

PARAMETERS = {
    "AWS::AccountId": "111122223333",
    "AWS::Region": "us-east-1",
    "AWS::Partition": "aws",
}


def test_references_are_resolved() -> None:
    bucket = {"Fn::ImportValue": "prod-models:ExportsOutputFnGetAttModelsBucketC15Arn48"}
    key = {"Fn::ImportValue": "prod-models:ExportsOutputFnGetAttModelsKeyC15Arn48"}
    resources = [
        {"Fn::Join": ["", [bucket, "/*"]]},
        key,
        {"Fn::Sub": "arn:${AWS::Partition}:s3:::other"},
    ]
    statement = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": resources}
    (document,) = iam_policies(
        template({"Policy": ("AWS::IAM::Policy", {"PolicyDocument": {"Statement": [statement]}})}),
        PARAMETERS,
    )
    assert document["Statement"][0] == {
        **statement,
        "Resource": [
            "arn:aws:s3:::example/*",
            "arn:aws:kms:us-east-1:111122223333:key/example",
            "arn:aws:s3:::other",
        ],
    }
