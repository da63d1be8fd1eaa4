import pytest

from platform_facts import UnknownFact, inference_ami, inference_amis
from tests.unit.platform_facts.conftest import Accepted


def test_table_has_the_gpu_amis_of_the_sagemaker_api(accepted: Accepted) -> None:
    offered = accepted("ProductionVariantInferenceAmiVersion")
    assert {row.name for row in inference_amis()} == {ami for ami in offered if "neuron" not in ami}


def test_unknown_ami_error_suggests_names() -> None:
    with pytest.raises(UnknownFact, match=r"did you mean al2-ami-sagemaker-inference-gpu-3-1 or "):
        inference_ami("al2-ami-sagemaker-inference-gpu-3")
