import pytest
from botocore.loaders import Loader

from platform_facts import (
    InstanceType,
    Support,
    UnknownFact,
    cuda_satisfies,
    gpus,
    instance_type,
    instance_types,
    releases,
)

each_gpu_instance = pytest.mark.parametrize(
    "row", [row for row in instance_types() if row.gpu], ids=lambda row: row.name
)
each_cpu_instance = pytest.mark.parametrize(
    "row", [row for row in instance_types() if not row.gpu], ids=lambda row: row.name
)


def test_every_name_is_one_that_sagemakers_api_accepts() -> None:
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    accepted = set(shapes["ProductionVariantInstanceType"]["enum"])
    assert {row.name for row in instance_types()} <= accepted


def test_every_size_of_the_gpu_families_we_know_is_there() -> None:
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    families = {row.family for row in instance_types() if row.gpu} - {"p2"}  # p2: only .xlarge
    offered = {
        name
        for name in shapes["ProductionVariantInstanceType"]["enum"]
        if name.split(".")[1] in families
    }
    assert offered == {row.name for row in instance_types() if row.family in families}


@each_gpu_instance
def test_every_gpu_instance_has_a_known_gpu_and_memory(row: InstanceType) -> None:
    assert row.gpu in gpus()
    assert row.gpu_count in {1, 4, 8}
    assert row.gpu_memory_gb is not None
    assert 12 <= row.gpu_memory_gb <= 141


@each_cpu_instance
def test_a_cpu_instance_has_nothing_of_a_gpu(row: InstanceType) -> None:
    assert row.gpu_count == 0
    assert (row.gpu_memory_gb, row.default_driver, row.default_cuda) == (None, None, None)
    assert row.multi_model is Support.YES


def test_gpu_multi_model_hosting_is_for_single_gpu_types_only() -> None:
    for row in instance_types():
        if row.gpu:
            assert (row.multi_model is Support.NO) == (row.gpu_count > 1), row.name


@pytest.mark.parametrize(
    ("name", "gpu_count"),
    [
        ("ml.g4dn.16xlarge", 1),
        ("ml.g4dn.12xlarge", 4),
        ("ml.g5.24xlarge", 4),
        ("ml.g5.48xlarge", 8),
    ],
)
def test_a_larger_size_has_not_always_more_gpus(name: str, gpu_count: int) -> None:
    assert instance_type(name).gpu_count == gpu_count


def test_gpu_multi_model_hosting_is_documented_for_p2_p3_g4dn_and_g5() -> None:
    confirmed = {row.name for row in instance_types() if row.gpu and row.multi_model is Support.YES}
    sizes = ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")
    assert confirmed == {"ml.p2.xlarge", "ml.p3.2xlarge"} | {
        f"ml.{family}.{size}" for family in ("g4dn", "g5") for size in sizes
    }


def test_g6_is_undocumented_for_multi_model_hosting_and_not_refused() -> None:
    assert instance_type("ml.g6.xlarge").multi_model is Support.UNDOCUMENTED


@pytest.mark.parametrize(
    "row", [row for row in instance_types() if row.family in {"g4dn", "g5"}], ids=lambda r: r.name
)
def test_the_default_driver_of_g4dn_and_g5_is_too_old_for_cuda_12(row: InstanceType) -> None:
    assert (row.default_driver, row.default_cuda) == ("470", "11.4")
    images_cuda = [image.cuda for image in releases() if image.cuda and image.cuda >= "12"]
    assert len(images_cuda) == 12
    assert not any(cuda_satisfies(offered="11.4", needed=cuda) for cuda in images_cuda)


@each_gpu_instance
def test_no_default_driver_carries_cuda_13(row: InstanceType) -> None:
    if row.default_cuda is not None:
        assert not cuda_satisfies(offered=row.default_cuda, needed="13.0")


@each_gpu_instance
def test_a_driver_branch_always_carries_the_same_cuda(row: InstanceType) -> None:
    carries = {"470": "11.4", "535": "12.2", "550": "12.4", None: None}
    assert row.default_cuda == carries[row.default_driver]


def test_g5_has_its_own_disks_and_m5_has_not() -> None:
    assert instance_type("ml.g5.2xlarge").local_nvme
    assert "local_nvme" not in instance_type("ml.g5.2xlarge").unsourced
    assert not instance_type("ml.m5.xlarge").local_nvme


def test_a_size_adds_its_unsourced_fields_to_those_of_its_family() -> None:
    assert instance_type("ml.g4dn.xlarge").unsourced == ("local_nvme",)
    assert instance_type("ml.g4dn.12xlarge").unsourced == ("local_nvme", "gpu_count")


def test_an_unknown_instance_type_is_refused_with_the_closest_names_only() -> None:
    with pytest.raises(UnknownFact) as refused:
        instance_type("g5.xlarge")
    message = str(refused.value)
    assert message.startswith(
        'no SageMaker hosting instance type "g5.xlarge": did you mean ml.g5.xlarge or '
    )
    assert "Known:" not in message


def test_an_instance_type_like_no_other_is_refused_with_all_names() -> None:
    with pytest.raises(UnknownFact, match=r'type "laptop"\. Known: ml\.p2\.xlarge, .*4xlarge$'):
        instance_type("laptop")
