from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_sagemaker.sagemaker.roles import is_assumable

ALLOW = {
    "Effect": "Allow",
    "Action": "sts:AssumeRole",
    "Principal": {"Service": "sagemaker.amazonaws.com"},
}


class FakeIam:
    """A fake IAM client with the role `execution`, whose trust policy has one statement."""

    def __init__(self, statement: Any) -> None:
        self._statement = statement

    def get_role(self, *, RoleName: str) -> dict[str, Any]:  # noqa: N803
        if RoleName != "execution":
            raise ClientError({"Error": {"Code": "NoSuchEntity"}}, "GetRole")
        return {"Role": {"AssumeRolePolicyDocument": {"Statement": self._statement}}}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ([ALLOW], True),
        ({**ALLOW, "Action": ["sts:TagSession", "sts:AssumeRole"]}, True),
        ({**ALLOW, "Effect": "Deny"}, False),
        ({**ALLOW, "Action": "sts:TagSession"}, False),
        ({**ALLOW, "Principal": {"Service": ["lambda.amazonaws.com"]}}, False),
        ({**ALLOW, "Principal": "*"}, False),
    ],
)
def test_trust_policy_decides_if_a_role_is_assumable(statement: Any, expected: bool) -> None:
    assert is_assumable(FakeIam(statement), "arn:aws:iam::1:role/path/execution") is expected


def test_missing_role_is_not_assumable() -> None:
    assert not is_assumable(FakeIam(ALLOW), "arn:aws:iam::1:role/none")
