"""The capacity of a scalable target: a variant's instances or a component's copies."""

from typing import TYPE_CHECKING, NamedTuple

from local_sagemaker.autoscaling.targets import TargetKey
from local_sagemaker.errors import invalid

if TYPE_CHECKING:
    from local_sagemaker.sagemaker.component_operations import HostingOperations


class ScaledCapacity(NamedTuple):
    """The desired capacity of a target, and the status of its endpoint or component."""

    desired: int
    status: str
    failure_reason: str


def read_capacity(hosting: "HostingOperations", key: TargetKey) -> ScaledCapacity:
    """Return the capacity of a target. Raise `ApiError` if it does not exist."""
    if key.component:
        description = hosting.describe_inference_component(key.resource_names)
        desired = description["RuntimeConfig"]["DesiredCopyCount"]
        status = description["InferenceComponentStatus"]
    else:
        description = hosting.describe_endpoint({"EndpointName": key.endpoint})
        variants = {
            variant["VariantName"]: variant for variant in description.get("ProductionVariants", [])
        }
        if key.variant not in variants:
            raise invalid(f"SageMaker variant not found: {key.resource}")
        desired = variants[key.variant]["DesiredInstanceCount"]
        status = description["EndpointStatus"]
    return ScaledCapacity(int(desired), status, description.get("FailureReason", ""))


def set_capacity(hosting: "HostingOperations", key: TargetKey, desired: int) -> None:
    """Set the desired capacity of a target. Raise `ApiError`."""
    if key.component:
        change = {"DesiredRuntimeConfig": {"CopyCount": desired}}
        hosting.update_inference_component_runtime_config({**key.resource_names, **change})
        return
    changes = [{"VariantName": key.variant, "DesiredInstanceCount": desired}]
    hosting.update_endpoint_weights_and_capacities(
        {"EndpointName": key.endpoint, "DesiredWeightsAndCapacities": changes}
    )
