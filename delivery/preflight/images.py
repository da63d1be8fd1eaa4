"""Check that the images of the stage's endpoints exist and may be pulled."""

import re
from collections.abc import Iterator

from botocore.exceptions import ClientError

from delivery.preflight.account import Account
from delivery.preflight.failure_reasons import DENIED, failure_reason
from delivery.preflight.findings import CheckFinding, ok, refused, unknown

NO_POLICY = "no resource-based policy allows"
"""Part of ECR's error if the repository's policy does not allow this account, as in a region
without the image (aws/sagemaker-python-sdk#4064)."""
FIX = "write another release into the stage's file: docs.aws.amazon.com lists a region's releases"

MEDIA_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)

_URI = re.compile(r"(\d{12})\.dkr\.ecr\.([\w-]+)\.[^/]+/([^:@]+):(.+)")


def check(account: Account) -> Iterator[CheckFinding]:
    """Request the manifest of each image, as a pull does.

    AWS's registries grant BatchGetImage and the two calls for layers, not DescribeImages
    (aws/deep-learning-containers#5657 quotes all three).
    """
    models = account.resources("AWS::SageMaker::Model")
    for image in sorted({str(model["PrimaryContainer"]["Image"]) for _, _, model in models}):
        match = _URI.fullmatch(image)
        if match is None:
            yield unknown(image, "not an image of an ECR repository")
        elif match[2] != account.region:
            yield refused(
                image, f"the image is in {match[2]}, the endpoint in {account.region}", FIX
            )
        else:
            yield _check_image(account, image, registry=match[1], name=match[3], tag=match[4])


def _check_image(
    account: Account, image: str, *, registry: str, name: str, tag: str
) -> CheckFinding:
    try:
        response = account.client("ecr").batch_get_image(
            registryId=registry,
            repositoryName=name,
            imageIds=[{"imageTag": tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code == "RepositoryNotFoundException":
            return refused(image, f"registry {registry} has no repository {name}", FIX)
        if code in DENIED and NO_POLICY in message:
            message = f"registry {registry} does not share {name} in {account.region}"
            return refused(image, message, FIX)
        return unknown(image, failure_reason(error))
    if response["images"]:
        return ok(image, "exists and can be pulled")
    return refused(image, f"repository {name} of registry {registry} has no tag {tag}", FIX)
