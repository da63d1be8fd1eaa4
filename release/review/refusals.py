"""Updates of an endpoint that are refused before they begin."""

from release.review.endpoints import DeclaredEndpoint
from release.stack_endpoints import COMPONENTS


def refusal(before: DeclaredEndpoint, after: DeclaredEndpoint) -> str | None:
    """Return why the guard refuses a change however it is deployed, None where it does not.

    The rules, with their sources, are those of `_refusals` in
    constructs/triton_sagemaker/update_handler/index.py, as far as templates show them.
    """
    if before.variants.keys() != after.variants.keys():
        return "SageMaker updates no endpoint to variants of other names"
    modes = [{variant.mode for variant in side.variants.values()} for side in (before, after)]
    if not modes[0] & modes[1]:
        return "clients that name a TargetModel, a component, or neither, would be refused at once"
    if COMPONENTS in modes[0] and _types(before) != _types(after):
        # Source: aws-samples/sample-auto-extract-ai-ocr-app#66.
        return "SageMaker gives an endpoint of inference components no other instance type"
    other = sorted(before.models.keys() - after.models.keys())
    if other and "SingleModel" in modes[1]:
        served = ", ".join(sorted(after.models))
        return f"clients are sent there for {', '.join(other)}, and {served} would answer them"
    return None


def _types(endpoint: DeclaredEndpoint) -> list[tuple[str, ...]]:
    return [variant.instance_types for _, variant in sorted(endpoint.variants.items())]
