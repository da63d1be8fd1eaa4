"""AWS's ECR registries with the Triton images."""

import hashlib
import json
from typing import Any

from botocore.exceptions import ClientError

from local_sagemaker.api import JsonService
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError

Record = dict[str, Any]

REPOSITORY = "sagemaker-tritonserver"
IMAGES = {
    "763104351884": ("26.05", "25.09", "25.04", "24.09"),
    "785573368785": (
        *("23.10", "23.09", "23.08", "23.07", "23.06", "23.05", "23.03", "23.02", "23.01"),
        *("22.12", "22.10", "22.09", "22.08", "22.07", "22.05", "21.08"),
    ),
}
"""Registry account -> releases in the local region. Source: aws/sagemaker-python-sdk,
image_uri_config/sagemaker-tritonserver.json; 24.09 is added for the local stages. Other releases
exist, but without a source for this region."""

MEDIA_TYPE = "application/vnd.docker.distribution.manifest.v2+json"


def registries(ministack: Any) -> JsonService:
    """Return ECR's service; `ministack` is a boto3 client for the account's own registry."""

    def batch_get_image(request: Record) -> Record:
        """BatchGetImage for AWS's public Triton images, or for the account's own registry."""
        registry = request.get("registryId", ACCOUNT)
        if registry == ACCOUNT:
            return _ministack_response(ministack, request)
        name = request["repositoryName"]
        if name != REPOSITORY or registry not in IMAGES:
            # Source of the message: aws/sagemaker-python-sdk#4064.
            raise ApiError(
                "AccessDeniedException",
                f"User: arn:aws:iam::{ACCOUNT}:root is not authorized to perform: "
                f"ecr:BatchGetImage on resource: arn:aws:ecr:{REGION}:{registry}:repository/{name} "
                "because no resource-based policy allows the ecr:BatchGetImage action",
            )
        if MEDIA_TYPE not in request.get("acceptedMediaTypes", [MEDIA_TYPE]):
            raise ApiError(
                "InvalidParameterException",
                f"The local SageMaker has AWS's images only as {MEDIA_TYPE}: add this type to "
                "acceptedMediaTypes.",
            )
        tags = {f"{release}-py3{cpu}" for release in IMAGES[registry] for cpu in ("", "-cpu")}
        image_ids = [{"imageTag": tag} for tag in tags]  # images cannot be requested by digest
        failure = {"failureCode": "ImageNotFound", "failureReason": "Requested image not found"}
        return {
            "images": [_image(registry, id_) for id_ in request["imageIds"] if id_ in image_ids],
            "failures": [
                {"imageId": id_, **failure} for id_ in request["imageIds"] if id_ not in image_ids
            ],
        }

    return JsonService("ecr", {"BatchGetImage": batch_get_image}, is_partial=True)


def _ministack_response(ministack: Any, request: Record) -> Record:
    try:
        response = ministack.batch_get_image(**request)
    except ClientError as error:
        details = error.response["Error"]
        raise ApiError(details["Code"], details["Message"]) from None
    return {name: member for name, member in response.items() if name != "ResponseMetadata"}


def _image(registry: str, image_id: Record) -> Record:
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MEDIA_TYPE, **image_id})
    digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
    return {
        "registryId": registry,
        "repositoryName": REPOSITORY,
        "imageId": {**image_id, "imageDigest": digest},
        "imageManifest": manifest,
        "imageManifestMediaType": MEDIA_TYPE,
    }
