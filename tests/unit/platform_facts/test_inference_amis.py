import pytest

from platform_facts import UnknownFact, inference_ami, inference_amis
from tests.unit.platform_facts.conftest import Accepted


def test_the_table_has_exactly_the_gpu_amis_of_sagemakers_api(accepted: Accepted) -> None:
    offered = accepted("ProductionVariantInferenceAmiVersion")
    assert {row.name for row in inference_amis()} == {
        each for each in offered if "neuron" not in each
    }


def test_a_newer_ami_carries_a_newer_cuda() -> None:
    assert [row.cuda for row in inference_amis()] == ["12.2", "12.2", "12.4", "13.0"]


def test_an_unknown_ami_is_refused_with_the_closest_names() -> None:
    with pytest.raises(UnknownFact, match=r"did you mean al2-ami-sagemaker-inference-gpu-3-1 or "):
        inference_ami("al2-ami-sagemaker-inference-gpu-3")
