"""Endpoint updates that the update guard rejects."""

from release.stack_endpoints import COMPONENTS
from review.endpoints import TemplateEndpoint


def rejection_reason(before: TemplateEndpoint, after: TemplateEndpoint) -> str | None:
    """Return why the update guard rejects a change, None if it does not.

    These are the rules of constructs/triton_sagemaker/update_handler/index.py (with sources) that
    depend only on templates.
    """
    if before.variants.keys() != after.variants.keys():
        return "SageMaker does not add, remove or rename variants"
    modes = [{variant.mode for variant in side.variants.values()} for side in (before, after)]
    if not modes[0] & modes[1]:
        return "clients of the old hosting mode (TargetModel, component, or neither) would fail"
    if COMPONENTS in modes[0] and _instance_types(before) != _instance_types(after):
        # Source: aws-samples/sample-auto-extract-ai-ocr-app#66.
        return "SageMaker does not change the instance type of inference components"
    removed_models = sorted(before.models.keys() - after.models.keys())
    if removed_models and "SingleModel" in modes[1]:
        models = ", ".join(sorted(after.models))
        return f"{models} would answer the clients of {', '.join(removed_models)}"
    return None


def _instance_types(endpoint: TemplateEndpoint) -> list[tuple[str, ...]]:
    return [variant.instance_types for _, variant in sorted(endpoint.variants.items())]
