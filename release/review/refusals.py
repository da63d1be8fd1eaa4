"""Updates of an endpoint that are refused before they begin."""

from release.review.endpoints import DeclaredEndpoint


def refusal(before: DeclaredEndpoint, after: DeclaredEndpoint) -> str | None:
    """Return why the guard refuses a change however it is deployed, None where it does not.

    The rules, with their sources, are those of `_refusals` in
    constructs/triton_sagemaker/update_handler/index.py, as far as templates show them.
    """
    if before.variants.keys() != after.variants.keys():
        return "SageMaker updates no endpoint to variants of other names"
    modes = [{variant.mode for variant in side.variants.values()} for side in (before, after)]
    if not modes[0] & modes[1]:
        return "clients that name a TargetModel, or none, would be refused at once"
    other = sorted(before.models.keys() - after.models.keys())
    if other and "SingleModel" in modes[1]:
        served = ", ".join(sorted(after.models))
        return f"clients are sent there for {', '.join(other)}, and {served} would answer them"
    return None


def scaled_variants_that_change(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    """Return the variants that SageMaker gives no other instances, since they are scaled.

    Source: SageMaker developer guide, "Update endpoints that use auto scaling". With several types,
    before or after, scaling stays (AWS machine learning blog, "Capacity-aware inference").
    """
    if refusal(before, after):
        return []
    return [
        name
        for name, old in sorted(before.variants.items())
        if old.scaled
        and len(old.instance_types) == len(after.variants[name].instance_types) == 1
        and after.variants[name].instance_types != old.instance_types
    ]
