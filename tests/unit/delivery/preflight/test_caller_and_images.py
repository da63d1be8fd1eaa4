"""Tests of the checks of the caller and of images."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from delivery.preflight import checks
from delivery.preflight.account import Verdict
from tests.unit.delivery.preflight.conftest import ACCOUNT, Aws, denied, endpoint_stack, error

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("account", "verdicts"), [("", [OK]), (f'"{ACCOUNT}"', [OK]), ('"999988887777"', [REFUSED, OK])]
)
def test_caller_is_compared_with_the_stage_account(
    aws: Aws, account: str, verdicts: list[Verdict]
) -> None:
    stage = "region: us-east-1\n" + (f"account: {account}\n" if account else "")
    findings = list(checks.check_caller(aws.account(stage=stage)))
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
    aws: Aws, answer: dict[str, object] | Exception, verdict: Verdict, text: str
) -> None:
    aws.answers["ecr.BatchGetImage"] = answer
    (finding,) = checks.check_images(aws.account(prod_text=endpoint_stack()))
    assert finding.verdict is verdict
    assert text in finding.message


def test_image_of_another_region_or_registry(aws: Aws) -> None:
    other_region = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/sagemaker-tritonserver:25.09-py3"
    (finding,) = checks.check_images(aws.account(prod_text=endpoint_stack(image=other_region)))
    assert finding.verdict is REFUSED
    (finding,) = checks.check_images(aws.account(prod_text=endpoint_stack(image="triton")))
    assert finding.verdict is UNKNOWN


OWN = f"444455556666.dkr.ecr.us-east-1.amazonaws.com/teams/triton@sha256:{'0a' * 32}"
CONFIGURATION = f"sha256:{'0c' * 32}"
MANY_MODELS = {"com.amazonaws.sagemaker.capabilities.multi-models": "true"}


def own_image(
    aws: Aws, *, media_type: str = checks.DOCKER_MANIFEST, configuration: str = "", **fields: Any
) -> None:
    """Add an image of one's own with a configuration, at a URL that needs no network."""
    manifest = json.dumps({"config": {"digest": CONFIGURATION}})
    image = {"imageManifest": manifest, "imageManifestMediaType": media_type}
    aws.answers["ecr.BatchGetImage"] = {"images": [image], "failures": []}
    text = configuration or json.dumps({"os": "linux", "architecture": "amd64", **fields})
    url = f"data:application/json,{quote(text)}"
    aws.answers["ecr.GetDownloadUrlForLayer"] = {"downloadUrl": url}


def stack(mode: str = "SingleModel") -> dict[str, Any]:
    return {"Model": ("AWS::SageMaker::Model", {"PrimaryContainer": {"Image": OWN, "Mode": mode}})}


def test_configuration_of_an_own_image_is_read_by_its_digest(aws: Aws) -> None:
    own_image(aws, config={"Labels": MANY_MODELS})
    (finding,) = checks.check_images(aws.account(prod_text=stack("MultiModel")))
    assert (finding.verdict, finding.message) == (OK, "exists and can be pulled, for linux/amd64")
    (request,) = aws.requests("ecr.BatchGetImage")
    assert request["imageIds"] == [{"imageDigest": f"sha256:{'0a' * 32}"}]
    assert aws.requests("ecr.GetDownloadUrlForLayer") == [
        {
            "registryId": "444455556666",
            "repositoryName": "teams/triton",
            "layerDigest": CONFIGURATION,
        }
    ]


@pytest.mark.parametrize(
    ("fields", "mode", "verdict", "text"),
    [
        ({"architecture": "arm64"}, "SingleModel", REFUSED, "is for linux/arm64, the instances"),
        ({}, "SingleModel", OK, "can be pulled"),
        ({}, "MultiModel", REFUSED, "its label does not say that it serves many models"),
        ({"config": {"Labels": None}}, "MultiModel", REFUSED, "its label"),
        ({"configuration": "<html>"}, "SingleModel", UNKNOWN, "its configuration was not read"),
        ({"media_type": "application/vnd.oci.image.index.v1+json"}, "SingleModel", UNKNOWN,
         "CreateModel refused images of application/vnd.oci.image.index.v1+json in 2025"),
    ],
)  # fmt: skip
def test_own_image_that_sagemaker_would_not_run(
    aws: Aws, fields: dict[str, Any], mode: str, verdict: Verdict, text: str
) -> None:
    own_image(aws, **fields)
    (finding,) = checks.check_images(aws.account(prod_text=stack(mode)))
    assert finding.verdict is verdict
    assert text in finding.message


def test_other_account_must_share_its_image(aws: Aws) -> None:
    message = "not authorized because no resource-based policy allows the ecr:BatchGetImage action"
    aws.answers["ecr.BatchGetImage"] = error("AccessDeniedException", message)
    (finding,) = checks.check_images(aws.account(prod_text=stack()))
    assert (finding.verdict, finding.fix) == (
        REFUSED,
        f"allow account {ACCOUNT} to pull, in the repository's policy",
    )
    own_image(aws)
    aws.answers["ecr.GetDownloadUrlForLayer"] = denied("ecr:GetDownloadUrlForLayer")
    (finding,) = checks.check_images(aws.account(prod_text=stack()))
    assert finding.verdict is UNKNOWN
    assert "no permission (ecr:GetDownloadUrlForLayer)" in finding.message
