"""Identity, images and permissions: right and refused."""

from collections.abc import Callable
from typing import Any

import pytest

from release.preflight import checks, images, permissions
from release.preflight.account import Caller
from release.preflight.findings import Verdict
from tests.unit.release.preflight.conftest import (
    ACCOUNT,
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    error,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("account", "verdicts"),
    [("", [OK]), (f'"{ACCOUNT}"', [OK]), ('"999988887777"', [REFUSED, OK])],
)
def test_the_caller_is_of_the_stage_s_account(
    make: MakeAccount, account: str, verdicts: list[Verdict]
) -> None:
    stage = "region: us-east-1\n" + (f"account: {account}\n" if account else "")
    findings = list(checks.identity(make(stage=stage)))
    assert [finding.verdict for finding in findings] == verdicts
    assert ACCOUNT in findings[0].message


def test_an_image_that_is_there_is_right(make: MakeAccount, aws: Aws) -> None:
    aws.answers["ecr.BatchGetImage"] = {"images": [{"imageManifest": "{}"}], "failures": []}
    (row,) = images.check(
        make(prod_text=endpoint_stack(), prod_vision=endpoint_stack("prod-vision"))
    )
    assert row.verdict is OK
    (request,) = aws.requests("ecr.BatchGetImage")
    assert request["registryId"] == "763104351884"
    assert request["repositoryName"] == "sagemaker-tritonserver"
    assert request["imageIds"] == [{"imageTag": "25.09-py3"}]


@pytest.mark.parametrize(
    ("answer", "verdict", "said"),
    [
        (
            {"images": [], "failures": [{"failureCode": "ImageNotFound"}]},
            REFUSED,
            "has no tag 25.09-py3",
        ),
        (error("RepositoryNotFoundException"), REFUSED, "has no sagemaker-tritonserver here"),
        (
            error(
                "AccessDeniedException",
                "not authorized to perform: ecr:BatchGetImage on resource: x because no "
                "resource-based policy allows the ecr:BatchGetImage action",
            ),
            REFUSED,
            "lets no account have sagemaker-tritonserver in us-east-1",
        ),
        (denied("ecr:BatchGetImage"), UNKNOWN, "not allowed to ask (ecr:BatchGetImage)"),
    ],
)
def test_an_image_that_cannot_be_pulled_is_refused(
    make: MakeAccount, aws: Aws, answer: dict[str, object] | Exception, verdict: Verdict, said: str
) -> None:
    aws.answers["ecr.BatchGetImage"] = answer
    (row,) = images.check(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict
    assert said in row.message


def test_an_image_of_another_region_is_refused_and_one_of_no_registry_unknown(
    make: MakeAccount,
) -> None:
    elsewhere = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"
    (row,) = images.check(make(prod_text=endpoint_stack(image=elsewhere)))
    assert row.verdict is REFUSED
    (row,) = images.check(make(prod_text=endpoint_stack(image="triton")))
    assert row.verdict is UNKNOWN


ROLES = f"arn:aws:iam::{ACCOUNT}:role/cdk-hnb659fds-{{}}-role-{ACCOUNT}-us-east-1"
DEPLOY, LOOKUP = ROLES.format("deploy"), ROLES.format("lookup")
PUBLISH = ROLES.format("file-publishing")
ARCHIVES = "arn:aws:s3:::prod-models-modelsbucket*/*"
DELIVERED = f"arn:aws:ssm:us-east-1:{ACCOUNT}:parameter/triton/prod/delivered"


def deciding(
    denied: tuple[str, str] | None = None,
    *,
    missing: list[str] | None = None,
    organizations: dict[str, bool] | None = None,
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Answer as IAM: a template of the resource's ARN on top, and one decision a resource."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"EvaluationResults": [decided(it, request) for it in request["ActionNames"]]}

    def decided(action: str, request: dict[str, Any]) -> dict[str, Any]:
        resources = [
            {
                "EvalResourceName": it,
                "EvalResourceDecision": "implicitDeny" if (action, it) == denied else "allowed",
                "MissingContextValues": missing or [],
            }
            for it in request["ResourceArns"]
        ]
        denies = any(it["EvalResourceDecision"] != "allowed" for it in resources)
        return {
            "EvalActionName": action,
            "EvalResourceName": "arn:${Partition}:service:${Region}:${Account}:kind/${Name}",
            "EvalDecision": "implicitDeny" if denies else "allowed",
            "MissingContextValues": missing or [],
            "ResourceSpecificResults": resources,
            **({"OrganizationsDecisionDetail": organizations} if organizations else {}),
        }

    return answer


def test_all_that_a_delivery_needs_is_simulated(make: MakeAccount, aws: Aws) -> None:
    aws.answers["iam.SimulatePrincipalPolicy"] = deciding()
    (row,) = permissions.check(make())
    assert row.verdict is OK
    requests = aws.requests("iam.SimulatePrincipalPolicy")
    assert {it["PolicySourceArn"] for it in requests} == {f"arn:aws:iam::{ACCOUNT}:user/ann"}
    asked = {
        (action, resource): it["ContextEntries"]
        for it in requests
        for action in it["ActionNames"]
        for resource in it["ResourceArns"]
    }
    assert asked["sts:AssumeRole", LOOKUP] == []
    assert asked["s3:GetObject", ARCHIVES] == []
    assert asked["kms:Decrypt", f"arn:aws:kms:us-east-1:{ACCOUNT}:key/*"] == [
        {
            "ContextKeyName": "kms:ViaService",
            "ContextKeyValues": ["s3.us-east-1.amazonaws.com"],
            "ContextKeyType": "string",
        }
    ]
    assert ("s3:PutObject", ARCHIVES) not in asked  # nothing is promoted
    # The preflight alone asks these, and does without.
    assert not {it[0] for it in asked} & {"sns:ListTopics", "ecr:BatchGetImage"}


@pytest.mark.parametrize(
    ("action", "resource", "verdict"),
    [
        ("sts:AssumeRole", DEPLOY, REFUSED),
        ("sts:AssumeRole", PUBLISH, REFUSED),
        ("sts:AssumeRole", LOOKUP, UNKNOWN),
        ("s3:GetObject", ARCHIVES, UNKNOWN),
        ("ssm:PutParameter", DELIVERED, UNKNOWN),
    ],
)
def test_what_iam_denies_is_told_with_the_step_that_needs_it(
    make: MakeAccount, aws: Aws, action: str, resource: str, verdict: Verdict
) -> None:
    aws.answers["iam.SimulatePrincipalPolicy"] = deciding((action, resource))
    (row,) = permissions.check(make())
    assert (row.verdict, row.subject) == (verdict, f"{action} on {resource}")
    assert row.message.startswith("IAM does not allow it: ")


@pytest.mark.parametrize(
    ("unsure", "said"),
    [
        (
            {"missing": ["aws:MultiFactorAuthPresent"]},
            "IAM does not allow it, without knowing aws:MultiFactorAuthPresent: ",
        ),
        (
            {"organizations": {"AllowedByOrganizations": False}},
            "IAM does not allow it, by a policy of the organization",
        ),
    ],
)
def test_a_denial_that_may_not_hold_in_a_deploy_is_unknown(
    make: MakeAccount, aws: Aws, unsure: dict[str, Any], said: str
) -> None:
    answer = deciding(("sts:AssumeRole", DEPLOY), **unsure)
    aws.answers["iam.SimulatePrincipalPolicy"] = answer
    (row,) = permissions.check(make())
    assert row.verdict is UNKNOWN
    assert row.message.startswith(said)


def test_a_result_without_decisions_by_resource_is_read_itself(make: MakeAccount, aws: Aws) -> None:
    only = {
        "EvalActionName": "sts:AssumeRole",
        "EvalResourceName": "*",
        "EvalDecision": "implicitDeny",
    }
    aws.answers["iam.SimulatePrincipalPolicy"] = {"EvaluationResults": [only]}
    row, *_ = permissions.check(make())
    assert (row.verdict, row.subject) == (UNKNOWN, "sts:AssumeRole on *")


def test_a_session_is_simulated_as_its_role(make: MakeAccount, aws: Aws) -> None:
    session = Caller(ACCOUNT, f"arn:aws:sts::{ACCOUNT}:assumed-role/Deploy/session-1")
    role = {
        "Path": "/ci/",
        "RoleName": "Deploy",
        "RoleId": "AROA1234567890123456",
        "Arn": f"arn:aws:iam::{ACCOUNT}:role/ci/Deploy",
        "CreateDate": "2026-01-01",
    }
    aws.answers["iam.GetRole"] = {"Role": role}
    aws.answers["iam.SimulatePrincipalPolicy"] = deciding()
    list(permissions.check(make(caller=session)))
    assert aws.requests("iam.GetRole") == [{"RoleName": "Deploy"}]
    request, *_ = aws.requests("iam.SimulatePrincipalPolicy")
    assert request["PolicySourceArn"] == role["Arn"]


def test_the_root_user_is_not_simulated(make: MakeAccount) -> None:
    root = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root")
    (row,) = permissions.check(make(caller=root))
    assert row.verdict is OK
