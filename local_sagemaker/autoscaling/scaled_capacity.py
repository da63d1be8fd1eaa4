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


def check_scalable(hosting: "HostingOperations", key: TargetKey) -> None:
    """Raise `ApiError` for a variant of burstable instances, such as ml.t2.medium.

    Source: developer guide, endpoint-auto-scaling-prerequisites; the message was recorded in 2026.
    """
    if not (key.endpoint and key.variant):
        return
    for variant in hosting.endpoints_by_name[key.endpoint].plan.config["ProductionVariants"]:
        instance_type = variant.get("InstanceType", "")
        if variant["VariantName"] == key.variant and instance_type.startswith("ml.t2."):
            raise invalid(
                f"You cannot register a variant with {instance_type} instance type as a scalable "
                "target. This is because the burstable performance of these instances can lead to "
                "unpredictable behavior with Auto Scaling."
            )


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
