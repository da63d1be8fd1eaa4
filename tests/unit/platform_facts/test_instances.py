import pytest

from platform_facts import Support, UnknownFact, gpus, instance_type, instance_types
from platform_facts._instances import GIB_PER_VCPU
from tests.unit.platform_facts.conftest import Accepted

WITH_GPU = [row for row in instance_types() if row.gpu]


@pytest.fixture
def offered(accepted: Accepted) -> set[str]:
    return accepted("ProductionVariantInstanceType")


def test_every_name_is_one_that_sagemakers_api_accepts(offered: set[str]) -> None:
    assert {row.name for row in instance_types()} - offered == set()


def test_every_size_of_the_gpu_families_we_know_is_there(offered: set[str]) -> None:
    families = {row.family for row in WITH_GPU} - {"p2"}  # p2: only .xlarge
    assert {name for name in offered if name.split(".")[1] in families} == {
        row.name for row in instance_types() if row.family in families
    }


def test_every_gpu_instance_has_a_known_gpu() -> None:
    assert [row.name for row in WITH_GPU if row.gpu not in gpus()] == []
    assert [row.name for row in WITH_GPU if row.gpu_count not in {1, 4, 8}] == []


def test_a_cpu_instance_has_no_gpu_and_hosts_many_models() -> None:
    without = [row for row in instance_types() if not row.gpu]
    assert without
    assert [row.name for row in without if row.gpu_count] == []
    assert [row.name for row in without if row.multi_model is not Support.YES] == []


def test_the_memory_of_each_cpu_family_is_known() -> None:
    families = {row.family for row in instance_types() if not row.gpu}
    unknown = {family for family in families if family[0] not in GIB_PER_VCPU}
    assert not unknown, (
        "platform_facts/_instances.py: add their memory for each vCPU to GIB_PER_VCPU"
    )


def test_gpu_multi_model_hosting_is_for_single_gpu_types_only() -> None:
    wrong = [row for row in WITH_GPU if (row.multi_model is Support.NO) != (row.gpu_count > 1)]
    assert [row.name for row in wrong] == []


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
    sizes = ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")
    confirmed = {row.name for row in WITH_GPU if row.multi_model is Support.YES}
    assert confirmed == {"ml.p2.xlarge", "ml.p3.2xlarge"} | {
        f"ml.{family}.{size}" for family in ("g4dn", "g5") for size in sizes
    }


def test_g6_is_undocumented_for_multi_model_hosting_and_not_refused() -> None:
    assert instance_type("ml.g6.xlarge").multi_model is Support.UNDOCUMENTED


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


@pytest.mark.parametrize(
    ("name", "vcpus"),
    [("ml.m5.large", 2), ("ml.g5.xlarge", 4), ("ml.c5.4xlarge", 16), ("ml.p5.48xlarge", 192)],
)
def test_vcpus_follow_from_the_size(name: str, vcpus: int) -> None:
    assert instance_type(name).vcpus == vcpus
