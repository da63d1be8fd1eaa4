"""Updates of an endpoint that are rejected, as far as two plans show it.

The guard in constructs/triton_sagemaker/update_handler, which also sees the account, rejects them
when they are deployed, and has the sources.
"""

from plan.document import PlannedEndpoint


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


def scaled_variants_that_change(before: PlannedEndpoint, after: PlannedEndpoint) -> list[str]:
    """Return the names of scaled variants whose instance type changes.

    SageMaker rejects such an update while the variants are registered for scaling (developer guide,
    "Update endpoints that use auto scaling"). A variant with several instance types, before or
    after, may stay registered (AWS machine learning blog, "Capacity-aware inference"). The result
    is empty for an update that is rejected in any case.
    """
    if rejection_reason(before, after):
        return []
    new = after.settings.variants
    return sorted(
        name
        for name, old in before.settings.variants.items()
        if old.is_scaled
        and len(old.instance_types) == len(new[name].instance_types) == 1
        and new[name].instance_types != old.instance_types
    )
