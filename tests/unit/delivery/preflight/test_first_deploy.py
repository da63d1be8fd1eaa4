"""Test of what a fresh account lacks: the role of scaling."""

from delivery.preflight.account import Verdict
from delivery.preflight.checks import (
    SCALING_ROLE,
    SCALING_SERVICE,
    check_scaling_role,
)
from tests.unit.delivery.preflight.conftest import Aws, MakeAccount, endpoint_stack


def test_scaling_role_is_needed_only_by_stages_that_scale(
    make_account: MakeAccount, aws: Aws
) -> None:
    assert list(check_scaling_role(make_account(prod_text=endpoint_stack()))) == []
    account = make_account(prod_text=endpoint_stack(scales=True))
    aws.answers["iam.ListRoles"] = {"Roles": []}
    (missing,) = check_scaling_role(account)
    assert (missing.subject, missing.verdict) == (SCALING_ROLE, Verdict.REFUSED)
    assert missing.fix.endswith(
        "--aws-service-name sagemaker.application-autoscaling.amazonaws.com"
    )
    role = {
        "Path": f"/aws-service-role/{SCALING_SERVICE}/",
        "RoleName": SCALING_ROLE,
        "RoleId": "AROAEXAMPLEEXAMPLE",
        "Arn": f"arn:aws:iam::111122223333:role/{SCALING_ROLE}",
        "CreateDate": "2026-01-01",
    }
    aws.answers["iam.ListRoles"] = {"Roles": [role]}
    (existing,) = check_scaling_role(account)
    assert existing.verdict is Verdict.OK
