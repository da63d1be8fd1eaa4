"""Reading and setting a target's capacity: a variant's instances or a component's copies."""

from typing import TYPE_CHECKING, NamedTuple

from local_sagemaker.autoscaling.targets import TargetKey
from local_sagemaker.errors import invalid

if TYPE_CHECKING:
    from local_sagemaker.sagemaker.component_operations import ComponentOperations


class ScaledCapacity(NamedTuple):
    """The desired capacity of a target, and its endpoint's or component's status and failure."""

    desired: int
    status: str
    problem: str


def scaled_capacity(hosting: "ComponentOperations", key: TargetKey) -> ScaledCapacity:
    """Return the capacity of a target. Raise `ApiError` if it does not exist."""
    if key.component:
        described = hosting.describe_inference_component(key.names)
        desired = described["RuntimeConfig"]["DesiredCopyCount"]
        status = described["InferenceComponentStatus"]
    else:
        described = hosting.describe_endpoint({"EndpointName": key.endpoint})
        variants = {
            variant["VariantName"]: variant for variant in described.get("ProductionVariants", [])
        }
        if key.variant not in variants:
            raise invalid(f"SageMaker variant not found: {key.resource}")
        desired = variants[key.variant]["DesiredInstanceCount"]
        status = described["EndpointStatus"]
    return ScaledCapacity(int(desired), status, described.get("FailureReason", ""))


def set_capacity(hosting: "ComponentOperations", key: TargetKey, desired: int) -> None:
    """Set a capacity. Raise `ApiError`."""
    if key.component:
        change = {"DesiredRuntimeConfig": {"CopyCount": desired}}
        hosting.update_inference_component_runtime_config({**key.names, **change})
        return
    changes = [{"VariantName": key.variant, "DesiredInstanceCount": desired}]
    hosting.update_endpoint_weights_and_capacities(
        {"EndpointName": key.endpoint, "DesiredWeightsAndCapacities": changes}
    )
