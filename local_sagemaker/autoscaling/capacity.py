"""The capacity that is scaled, in SageMaker: a variant's instances or a component's copies."""

from typing import NamedTuple, Protocol

from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.errors import invalid


class Hosting(Protocol):
    """The part of SageMaker's control plane that scales."""

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint."""

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities."""

    def describe_inference_component(self, request: Record) -> Record:
        """DescribeInferenceComponent."""

    def update_inference_component_runtime_config(self, request: Record) -> Record:
        """UpdateInferenceComponentRuntimeConfig."""


class Capacity(NamedTuple):
    """What is desired of a target, the status of its endpoint or component, and what failed."""

    desired: int
    status: str
    problem: str


def capacity(hosting: Hosting, key: TargetKey) -> Capacity:
    """Return the capacity of a target. Raise `ApiError` if it is not there."""
    if key.component:
        described = hosting.describe_inference_component(key.names)
        desired = described["RuntimeConfig"]["DesiredCopyCount"]
        status = described["InferenceComponentStatus"]
    else:
        described = hosting.describe_endpoint({"EndpointName": key.endpoint})
        variants = {it["VariantName"]: it for it in described.get("ProductionVariants", [])}
        if key.variant not in variants:
            raise invalid(f"SageMaker variant not found: {key.resource}")
        desired = variants[key.variant]["DesiredInstanceCount"]
        status = described["EndpointStatus"]
    return Capacity(int(desired), status, described.get("FailureReason", ""))


def set_capacity(hosting: Hosting, key: TargetKey, desired: int) -> None:
    """Ask for a capacity. Raise `ApiError`."""
    if key.component:
        hosting.update_inference_component_runtime_config(
            {**key.names, "DesiredRuntimeConfig": {"CopyCount": desired}}
        )
        return
    change = {"VariantName": key.variant, "DesiredInstanceCount": desired}
    hosting.update_endpoint_weights_and_capacities(
        {"EndpointName": key.endpoint, "DesiredWeightsAndCapacities": [change]}
    )
