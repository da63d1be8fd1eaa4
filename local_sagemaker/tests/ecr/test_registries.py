"""Image registries of AWS and of the account."""

from typing import Any

import pytest

import platform_facts
from local_sagemaker.ecr.registries import MEDIA_TYPE, REPOSITORY, registries
from local_sagemaker.errors import ApiError
from platform_facts import Processor, Support

REGION = platform_facts.region("us-east-1")


class OwnRegistry:
    def batch_get_image(self, **request: Any) -> dict[str, Any]:
        return {"images": [request], "failures": [], "ResponseMetadata": {}}


def batch_get_image(
    registry: str, tag: str, name: str = "sagemaker-tritonserver"
) -> dict[str, Any]:
    return registries(OwnRegistry()).call(
        "BatchGetImage",
        {"registryId": registry, "repositoryName": name, "imageIds": [{"imageTag": tag}]},
    )


@pytest.mark.parametrize("release", platform_facts.releases(), ids=lambda value: str(value.name))
@pytest.mark.parametrize("processor", Processor)
def test_releases_available_in_the_region(
    release: platform_facts.Release, processor: Processor
) -> None:
    uri = platform_facts.image_uri(release=release, region=REGION, processor=processor)
    answer = batch_get_image(uri[:12], uri.rpartition(":")[2])
    served_locally = release.name == "24.09"
    sourced = REGION.availability(release) is Support.YES or served_locally
    assert bool(answer["images"]) is sourced
    assert bool(answer["failures"]) is not sourced


@pytest.mark.parametrize(
    ("registry", "name"),
    [("763104351884", "pytorch-inference"), ("111122223333", "sagemaker-tritonserver")],
)
def test_other_repository_is_denied(registry: str, name: str) -> None:
    with pytest.raises(ApiError, match="no resource-based policy allows") as exc_info:
        batch_get_image(registry, "24.09-py3", name)
    assert exc_info.value.code == "AccessDeniedException"


def test_account_registry_is_answered_by_ministack() -> None:
    (image,) = batch_get_image("000000000000", "1", "own")["images"]
    assert image["repositoryName"] == "own"


def test_other_operations_are_answered_by_ministack() -> None:
    service = registries(OwnRegistry())
    assert service.handles("BatchGetImage")
    assert not service.handles("CreateRepository")


@pytest.mark.parametrize(
    ("image", "members", "is_returned"),
    [
        ({"imageTag": "24.09-py3"}, {"acceptedMediaTypes": [MEDIA_TYPE]}, True),
        ({"imageTag": "24.09-py3", "imageDigest": f"sha256:{'0' * 64}"}, {}, False),
    ],
)
def test_aws_image_is_identified_by_tag(
    image: dict[str, str], members: dict[str, Any], is_returned: bool
) -> None:
    request = {"registryId": "763104351884", "repositoryName": REPOSITORY, "imageIds": [image]}
    answer = registries(OwnRegistry()).call("BatchGetImage", {**request, **members})
    assert (len(answer["images"]), len(answer["failures"])) == (is_returned, not is_returned)


def test_unsupported_manifest_type_is_refused() -> None:
    request = {
        "registryId": "763104351884",
        "repositoryName": REPOSITORY,
        "imageIds": [{"imageTag": "24.09-py3"}],
        "acceptedMediaTypes": ["application/vnd.oci.image.manifest.v1+json"],
    }
    with pytest.raises(ApiError, match="add this type to acceptedMediaTypes") as exc_info:
        registries(OwnRegistry()).call("BatchGetImage", request)
    assert exc_info.value.code == "InvalidParameterException"
