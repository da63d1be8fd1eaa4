from typing import Any

from local_sagemaker.sagemaker.variants import changed


def config(**instances: str) -> dict[str, Any]:
    variants = [{"VariantName": name, "InstanceType": it} for name, it in instances.items()]
    return {"ProductionVariants": variants}


def test_variants_that_are_removed_or_on_other_instances_have_changed() -> None:
    old = config(a="ml.g5.xlarge", b="ml.g5.xlarge", c="ml.g5.xlarge")
    assert changed(old, config(a="ml.g5.xlarge", b="ml.g5.2xlarge", d="ml.g5.xlarge")) == ["b", "c"]
    assert changed(old, old) == []
