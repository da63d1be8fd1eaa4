import pytest
from botocore.loaders import Loader

from platform_facts import UnknownFact, inference_ami, inference_amis, instance_types


def test_the_table_has_exactly_the_gpu_amis_of_sagemakers_api() -> None:
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    accepted = set(shapes["ProductionVariantInferenceAmiVersion"]["enum"])
    assert {row.name for row in inference_amis()} == {
        name for name in accepted if "neuron" not in name
    }


def test_a_newer_driver_carries_a_newer_cuda() -> None:
    rows = [(int(row.driver), float(row.cuda)) for row in inference_amis()]
    assert rows == sorted(rows)
    assert dict(rows) == {535: 12.2, 550: 12.4, 580: 13.0}


def test_only_the_first_ami_still_mounts_cuda_compat() -> None:
    assert [row.cuda_compat_mounted for row in inference_amis()] == [True, False, False, False]


def test_gpu_4_1_runs_on_every_gpu_family_since_g4dn() -> None:
    families = inference_ami("al2023-ami-sagemaker-inference-gpu-4-1").families
    with_gpu = {row.family for row in instance_types() if row.gpu}
    assert families is not None
    assert set(families) == with_gpu - {"p2", "p3"}


def test_the_families_of_an_older_ami_are_unknown() -> None:
    row = inference_ami("al2-ami-sagemaker-inference-gpu-3-1")
    assert row.families is None
    assert "families" in row.unsourced


def test_an_unknown_ami_is_refused_with_the_closest_names() -> None:
    with pytest.raises(UnknownFact, match=r"did you mean al2-ami-sagemaker-inference-gpu-3-1 or "):
        inference_ami("al2-ami-sagemaker-inference-gpu-3")
