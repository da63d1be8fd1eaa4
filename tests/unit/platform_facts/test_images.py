import pytest

from platform_facts import (
    ImageReference,
    Processor,
    UnsupportedCombination,
    image_uri,
    region,
    release,
)


@pytest.mark.parametrize(
    ("release_name", "region_name", "processor", "uri"),
    [
        ("26.05", "eu-south-1", Processor.CPU,
         "692866216735.dkr.ecr.eu-south-1.amazonaws.com/sagemaker-tritonserver:26.05-py3-cpu"),
        ("23.10", "us-east-1", Processor.GPU,
         "785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:23.10-py3"),
        ("23.02", "cn-northwest-1", Processor.GPU,
         "474822919863.dkr.ecr.cn-northwest-1.amazonaws.com.cn/sagemaker-tritonserver:23.02-py3"),
        ("26.03", "us-east-1", Processor.GPU,  # no document lists its regions
         "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:26.03-py3"),
    ],
)  # fmt: skip
def test_image_uri(release_name: str, region_name: str, processor: Processor, uri: str) -> None:
    result = image_uri(
        release=release(release_name), region=region(region_name), processor=processor
    )
    assert result == uri


@pytest.mark.parametrize(
    ("release_name", "region_name", "newest"),
    [("26.05", "cn-north-1", "25.04"), ("23.10", "ap-east-2", "26.05")],
)
def test_release_unavailable_in_region_is_an_error(
    release_name: str, region_name: str, newest: str
) -> None:
    with pytest.raises(
        UnsupportedCombination, match=f"{region_name} .* {release_name}: .* {newest}"
    ):
        image_uri(
            release=release(release_name), region=region(region_name), processor=Processor.GPU
        )


DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:25.09-py3",
         ("763104351884", "us-east-1", "sagemaker-tritonserver", "25.09-py3", "")),
        (f"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/teams/triton@{DIGEST}",
         ("111122223333", "cn-north-1", "teams/triton", "", DIGEST)),
    ],
)  # fmt: skip
def test_parts_of_an_image(uri: str, parts: tuple[str, ...]) -> None:
    image = ImageReference.parse(uri)
    assert (image.account, image.region, image.repository, image.tag, image.digest) == parts
    arn = f"arn:aws:ecr:{image.region}:{image.account}:repository/{image.repository}"
    assert image.repository_arn("aws") == arn


@pytest.mark.parametrize("uri", ["triton", "nvcr.io/nvidia/tritonserver:25.09-py3", DIGEST])
def test_image_outside_of_ecr_is_an_error(uri: str) -> None:
    with pytest.raises(ValueError, match="is not an image of an ECR repository"):
        ImageReference.parse(uri)
