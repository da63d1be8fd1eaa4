"""AWS's ECR registry with the Triton images, which ministack lacks."""

from typing import Any

from local_sagemaker.api import JsonService
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

Record = dict[str, Any]

REGISTRIES = {
    "763104351884": ("26.05", "25.09", "25.04", "24.09"),
    "785573368785": ("23.10", "23.09", "23.08", "23.07", "23.06", "23.05", "23.03", "23.02"),
}
"""Registry account -> releases in the local region. Source: aws/sagemaker-python-sdk,
image_uri_config/sagemaker-tritonserver.json; 24.09 is added for the local stages. Other releases
exist, but without a source for this region."""
REPOSITORY = "sagemaker-tritonserver"


def registries() -> JsonService:
    """Return BatchGetImage of AWS's registries; ministack answers for the account's own."""
    return JsonService("ecr", Registries, forwards=_is_own)


def _is_own(operation: str, request: Record) -> bool:
    return operation != "BatchGetImage" or request.get("registryId", ACCOUNT) == ACCOUNT


class Registries:
    """AWS's registries."""

    @staticmethod
    def batch_get_image(request: Record) -> Record:
        """BatchGetImage."""
        registry, name = request["registryId"], request["repositoryName"]
        if name != REPOSITORY or registry not in REGISTRIES:
            # Source of the message: aws/sagemaker-python-sdk#4064.
            raise ApiError(
                "AccessDeniedException",
                f"User: arn:aws:iam::{ACCOUNT}:root is not authorized to perform: "
                f"ecr:BatchGetImage on resource: arn:aws:ecr:{REGION}:{registry}:repository/{name} "
                "because no resource-based policy allows the ecr:BatchGetImage action",
            )
        tags = {f"{release}-py3{cpu}" for release in REGISTRIES[registry] for cpu in ("", "-cpu")}
        members = {"registryId": registry, "repositoryName": REPOSITORY, "imageManifest": "{}"}
        failure = {"failureCode": "ImageNotFound", "failureReason": "Requested image not images"}
        images = [image for image in request["imageIds"] if image.get("imageTag") in tags]
        missing = [image for image in request["imageIds"] if image not in images]
        return {
            "images": [{**members, "imageId": image} for image in images],
            "failures": [{"imageId": image, **failure} for image in missing],
        }
