"""Updates of an endpoint that are rejected, as far as two plans show it.

The guard in constructs/triton_sagemaker/update_handler, which also sees the account, rejects them
when they are deployed, and has the sources.
"""

from plan.document import EndpointSettings, PlannedEndpoint


def rejection_reason(before: PlannedEndpoint, after: PlannedEndpoint) -> str | None:
    """Return why the guard rejects the update of an endpoint, None if it does not."""
    old, new = before.settings, after.settings
    if old.variants.keys() != new.variants.keys():
        return "SageMaker does not add, remove or rename variants"
    if old.hosting != new.hosting:
        return "clients of the old hosting mode (TargetModel, component, or neither) would fail"
    types = [{name: variant.instance_types for name, variant in side.variants.items()}
             for side in (old, new)]  # fmt: skip
    if new.hosting == "components" and types[0] != types[1]:
        # Source: aws-samples/sample-auto-extract-ai-ocr-app#66.
        return "SageMaker does not change the instance type of inference components"
    removed_models = sorted(before.models.keys() - after.models.keys())
    if removed_models and new.hosting == "single-model":
        models = ", ".join(sorted(after.models))
        return f"{models} would answer the clients of {', '.join(removed_models)}"
    return None


def scaled_variants_that_change(old: EndpointSettings, new: EndpointSettings) -> list[str]:
    """Return the names of scaled variants whose instance type changes.

    SageMaker rejects such an update while the variants are registered for scaling (developer guide,
    "Update endpoints that use auto scaling"). A variant with several instance types, before or
    after, may stay registered (AWS machine learning blog, "Capacity-aware inference"). The result
    is empty for an update to other variants or another hosting mode, which is rejected in any case.
    """
    if old.variants.keys() != new.variants.keys() or old.hosting != new.hosting:
        return []
    return sorted(
        name
        for name, variant in old.variants.items()
        if variant.is_scaled
        and len(variant.instance_types) == len(new.variants[name].instance_types) == 1
        and new.variants[name].instance_types != variant.instance_types
    )
