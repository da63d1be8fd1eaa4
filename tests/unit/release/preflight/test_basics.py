"""Identity and images: right and refused."""

import pytest

from release.preflight import checks, images
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
    ("answer", "verdict", "text"),
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
    make: MakeAccount, aws: Aws, answer: dict[str, object] | Exception, verdict: Verdict, text: str
) -> None:
    aws.answers["ecr.BatchGetImage"] = answer
    (row,) = images.check(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict
    assert text in row.message


def test_an_image_of_another_region_is_refused_and_one_of_no_registry_unknown(
    make: MakeAccount,
) -> None:
    elsewhere = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"
    (row,) = images.check(make(prod_text=endpoint_stack(image=elsewhere)))
    assert row.verdict is REFUSED
    (row,) = images.check(make(prod_text=endpoint_stack(image="triton")))
    assert row.verdict is UNKNOWN
