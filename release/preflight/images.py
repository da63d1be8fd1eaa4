"""Whether the images of the stage's endpoints exist, and may be pulled."""

import re
from collections.abc import Iterator

from botocore.exceptions import ClientError

from release.preflight.account import Account
from release.preflight.answers import DENIED, why
from release.preflight.findings import CheckFinding, ok, refused, unknown

NO_POLICY = "no resource-based policy allows"
"""What ECR adds where the repository lets nobody of this account in, as of a region that does not
have the image (aws/sagemaker-python-sdk#4064)."""
FIX = "write another release into the stage's file: docs.aws.amazon.com lists those of a region"

MEDIA_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)

_URI = re.compile(r"(\d{12})\.dkr\.ecr\.([\w-]+)\.[^/]+/([^:@]+):(.+)")


def check(account: Account) -> Iterator[CheckFinding]:
    """Ask each image's registry for it, as a pull does.

    BatchGetImage is what AWS's registries grant to whoever may use their images, together with the
    two calls for layers (aws/deep-learning-containers#5657 quotes all three); DescribeImages is
    not among them.
    """
    models = account.resources("AWS::SageMaker::Model")
    for image in sorted({str(model["PrimaryContainer"]["Image"]) for _, _, model in models}):
        match = _URI.fullmatch(image)
        if match is None:
            yield unknown(image, "not an image of an ECR repository")
        elif match[2] != account.region:
            yield refused(image, f"it is in {match[2]}, the endpoint in {account.region}", FIX)
        else:
            yield _ask(account, image, registry=match[1], name=match[3], tag=match[4])


def _ask(account: Account, image: str, *, registry: str, name: str, tag: str) -> CheckFinding:
    try:
        answer = account.client("ecr").batch_get_image(
            registryId=registry,
            repositoryName=name,
            imageIds=[{"imageTag": tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code == "RepositoryNotFoundException":
            return refused(image, f"registry {registry} has no {name} here", FIX)
        if code in DENIED and NO_POLICY in message:
            lets_nobody = f"registry {registry} lets no account have {name} in {account.region}"
            return refused(image, lets_nobody, FIX)
        return unknown(image, why(error))
    if answer["images"]:
        return ok(image, "exists, and may be pulled")
    return refused(image, f"{name} of registry {registry} has no tag {tag}", FIX)
