"""Whether the images of the stage's endpoints are there, and may be pulled."""

import re
from collections.abc import Iterator

from botocore.exceptions import ClientError

from release.preflight.account import Account
from release.preflight.asking import DENIED, why
from release.preflight.rows import Row, Topic

TOPIC = Topic("image")
NOBODY = "no resource-based policy allows"
"""What ECR adds where the repository lets nobody of this account in, as of a region that does not
have the image (aws/sagemaker-python-sdk#4064)."""

MEDIA_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)

_URI = re.compile(r"(\d{12})\.dkr\.ecr\.([\w-]+)\.[^/]+/([^:@]+):(.+)")


def ask(account: Account) -> Iterator[Row]:
    """Ask each image's registry for it, as a pull does.

    BatchGetImage is what AWS's registries grant to whoever may use their images, together with the
    two calls for layers (aws/deep-learning-containers#5657 quotes all three); DescribeImages is
    not among them.
    """
    found = {
        it["PrimaryContainer"]["Image"] for _, _, it in account.resources("AWS::SageMaker::Model")
    }
    for image in sorted(found):
        match = _URI.fullmatch(str(image))
        if match is None:
            yield TOPIC.unknown(str(image), "not an image of an ECR repository")
        else:
            yield _asked(account, str(image), *match.groups())


def _asked(account: Account, image: str, registry: str, region: str, name: str, tag: str) -> Row:
    change = (
        "write another release into the stage's file: docs.aws.amazon.com lists those of a region"
    )
    if region != account.region:
        return TOPIC.refused(image, f"it is in {region}, the endpoint in {account.region}", change)
    try:
        answer = account.client("ecr").batch_get_image(
            registryId=registry,
            repositoryName=name,
            imageIds=[{"imageTag": tag}],
            acceptedMediaTypes=list(MEDIA_TYPES),
        )
    except ClientError as error:
        told = error.response["Error"]
        if told["Code"] == "RepositoryNotFoundException":
            return TOPIC.refused(image, f"registry {registry} has no {name} here", change)
        if told["Code"] in DENIED and NOBODY in told["Message"]:
            return TOPIC.refused(
                image, f"registry {registry} lets no account have {name} in {region}", change
            )
        return TOPIC.unknown(image, why(error))
    if answer["images"]:
        return TOPIC.ok(image, "is there, and may be pulled")
    return TOPIC.refused(image, f"{name} of registry {registry} has no tag {tag}", change)
