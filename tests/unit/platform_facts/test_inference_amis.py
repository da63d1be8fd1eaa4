import pytest
from botocore.loaders import Loader

from platform_facts import UnknownFact, inference_ami, inference_amis


def test_the_table_has_exactly_the_gpu_amis_of_sagemakers_api() -> None:
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    accepted = set(shapes["ProductionVariantInferenceAmiVersion"]["enum"])
    assert {row.name for row in inference_amis()} == {
        name for name in accepted if "neuron" not in name
    }


def test_a_newer_ami_carries_a_newer_cuda() -> None:
    assert [row.cuda for row in inference_amis()] == ["12.2", "12.2", "12.4", "13.0"]


def test_an_unknown_ami_is_refused_with_the_closest_names() -> None:
    with pytest.raises(UnknownFact, match=r"did you mean al2-ami-sagemaker-inference-gpu-3-1 or "):
        inference_ami("al2-ami-sagemaker-inference-gpu-3")
