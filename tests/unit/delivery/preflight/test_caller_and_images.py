"""Tests of the checks of the caller and of images."""

import pytest

from delivery.preflight import checks
from delivery.preflight.account import Verdict
from tests.unit.delivery.preflight.conftest import (
    ACCOUNT,
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    error,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("account", "verdicts"), [("", [OK]), (f'"{ACCOUNT}"', [OK]), ('"999988887777"', [REFUSED, OK])]
)
def test_caller_is_compared_with_the_stage_account(
    make_account: MakeAccount, account: str, verdicts: list[Verdict]
) -> None:
    stage = "region: us-east-1\n" + (f"account: {account}\n" if account else "")
    findings = list(checks.check_caller(make_account(stage=stage)))
    assert [finding.verdict for finding in findings] == verdicts
    assert ACCOUNT in findings[0].message


@pytest.mark.parametrize(
    ("answer", "verdict", "text"),
    [
        ({"images": [], "failures": [{"failureCode": "ImageNotFound"}]}, REFUSED,
         "has no tag 25.09-py3"),
        (error("RepositoryNotFoundException"), REFUSED, "has no repository sagemaker-tritonserver"),
        (error("AccessDeniedException",
          "not authorized to perform: ecr:BatchGetImage on resource: x because no "
          "resource-based policy allows the ecr:BatchGetImage action"), REFUSED,
         "does not share sagemaker-tritonserver in us-east-1"),
        (denied("ecr:BatchGetImage"), UNKNOWN, "no permission (ecr:BatchGetImage)"),
    ],
)  # fmt: skip
def test_missing_or_denied_image(
    make_account: MakeAccount,
    aws: Aws,
    answer: dict[str, object] | Exception,
    verdict: Verdict,
    text: str,
) -> None:
    aws.answers["ecr.BatchGetImage"] = answer
    (finding,) = checks.check_images(make_account(prod_text=endpoint_stack()))
    assert finding.verdict is verdict
    assert text in finding.message


def test_image_of_another_region_or_registry(make_account: MakeAccount) -> None:
    other_region = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"
    (finding,) = checks.check_images(make_account(prod_text=endpoint_stack(image=other_region)))
    assert finding.verdict is REFUSED
    (finding,) = checks.check_images(make_account(prod_text=endpoint_stack(image="triton")))
    assert finding.verdict is UNKNOWN


OWN = f"444455556666.dkr.ecr.us-east-1.amazonaws.com/teams/triton@sha256:{'0a' * 32}"


def test_other_account_must_share_its_image(make_account: MakeAccount, aws: Aws) -> None:
    stack = {"Model": ("AWS::SageMaker::Model", {"PrimaryContainer": {"Image": OWN}})}
    account = make_account(prod_text=stack)
    message = "not authorized because no resource-based policy allows the ecr:BatchGetImage action"
    aws.answers["ecr.BatchGetImage"] = error("AccessDeniedException", message)
    (finding,) = checks.check_images(account)
    assert (finding.verdict, finding.fix) == (
        REFUSED,
        f"allow account {ACCOUNT} to pull, in the repository's policy",
    )
    aws.answers["ecr.BatchGetImage"] = {"images": [{"imageManifest": "{}"}], "failures": []}
    (finding,) = checks.check_images(account)
    assert finding.verdict is OK
    request = aws.requests("ecr.BatchGetImage")[-1]
    assert request["imageIds"] == [{"imageDigest": f"sha256:{'0a' * 32}"}]
