from platform_facts import Support, gpus, instance_type, instance_types
from platform_facts._instances import GIB_PER_VCPU
from tests.unit.platform_facts.conftest import enum_values

WITH_GPU = [row for row in instance_types() if row.gpu]


def api_names() -> set[str]:
    return enum_values("ProductionVariantInstanceType")


def test_every_name_is_valid_in_the_sagemaker_api() -> None:
    assert {row.name for row in instance_types()} - api_names() == set()


def test_gpu_families_have_every_size() -> None:
    families = {row.family for row in WITH_GPU}
    assert {name for name in api_names() if name.split(".")[1] in families} == {
        row.name for row in instance_types() if row.family in families
    }


def test_gpu_instances_have_known_gpus() -> None:
    assert [row.name for row in WITH_GPU if row.gpu not in gpus()] == []
    assert [row.name for row in WITH_GPU if row.gpu_count not in {1, 2, 4, 8}] == []


def test_cpu_instances_support_multi_model_hosting() -> None:
    cpu_types = [row for row in instance_types() if not row.gpu]
    assert cpu_types
    assert [row.name for row in cpu_types if row.gpu_count] == []
    assert [row.name for row in cpu_types if row.multi_model is not Support.YES] == []


def test_memory_of_cpu_families_is_known() -> None:
    families = {row.family for row in instance_types() if not row.gpu}
    unknown = {family for family in families if family[0] not in GIB_PER_VCPU}
    assert not unknown, (
        "platform_facts/_instances.py: add their memory for each vCPU to GIB_PER_VCPU"
    )


def test_multi_model_hosting_needs_a_single_gpu() -> None:
    mismatches = [row for row in WITH_GPU if (row.multi_model is Support.NO) != (row.gpu_count > 1)]
    assert [row.name for row in mismatches] == []


def test_multi_model_hosting_on_g6_is_undocumented() -> None:
    assert instance_type("ml.g6.xlarge").multi_model is Support.UNDOCUMENTED
