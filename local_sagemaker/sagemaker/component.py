"""An inference component, with the fleet of its copies."""

import threading
from typing import Any

from local_sagemaker.dashboard_events import OnEvent
from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.registry import HostingPlan
from local_sagemaker.sagemaker.resources import COMPONENT, Record

NO_CAPACITY = (
    "Inference Component has no capacity to process this request. ApplicationAutoScaling may be "
    "in-progress (if configured) or try to increase the capacity by invoking "
    "UpdateInferenceComponentRuntimeConfig API."
)
"""Source: AWS machine learning blog, "Unlock cost savings with the new scale down to zero feature
in SageMaker Inference"."""

_STATUSES = {"RollingBack": "Updating", "UpdateRollbackFailed": "Failed"}
"""EndpointStatus -> InferenceComponentStatus, where they differ; no source."""


class Component(Endpoint):
    """An inference component, implemented as an endpoint of one variant whose instances are copies.

    `operation` is the name of the operation in progress, for DeleteInferenceComponent's error.
    """

    kind = COMPONENT

    def __init__(
        self, description: Record, plan: HostingPlan, lock: threading.RLock, report: OnEvent
    ) -> None:
        super().__init__(description, plan, lock, report)
        self.operation = "CREATE_IN_PROGRESS"

    @property
    def resource_name(self) -> str:
        """The component's name; `name` is the name of its endpoint."""
        return str(self.description["InferenceComponentName"])

    @property
    def variant(self) -> str:
        """The endpoint's variant that hosts the component."""
        return str(self.description["VariantName"])

    @property
    def copy_count(self) -> int:
        """The number of running and starting copies."""
        return sum(sum(fleet.counts.values()) for fleet in (self.fleet, self.new_fleet) if fleet)

    def set_members(self, **changes: Any) -> None:
        """Change members of the description, but never remove the FailureReason.

        The FailureReason remains after a successful update (aws-controllers-k8s/
        sagemaker-controller, test/e2e/tests/test_inference_component.py: "consistently in
        testing").
        """
        if changes.get("FailureReason", "") is None:
            del changes["FailureReason"]
        super().set_members(**changes)

    def describe(self) -> Record:
        """Return the response of DescribeInferenceComponent."""
        with self.lock:
            members = (
                "InferenceComponentName", "InferenceComponentArn", "EndpointName", "EndpointArn",
                "VariantName", "CreationTime", "LastModifiedTime", "FailureReason",
                "LastDeploymentConfig",
            )  # fmt: skip
            (variant,) = self.variants
            return {
                **{name: self.description[name] for name in members if name in self.description},
                "InferenceComponentStatus": _STATUSES.get(self.status, self.status),
                "Specification": self.plan.config["Specification"],
                "RuntimeConfig": {
                    "DesiredCopyCount": variant["DesiredInstanceCount"],
                    "CurrentCopyCount": self.copy_count,
                },
            }

    def no_instance_error(self) -> ApiError:
        """Return the error for an invocation while the component has no copy."""
        return ApiError("ValidationError", NO_CAPACITY)

    def _status_message(self) -> str:
        (variant,) = self.variants
        detail = f"desired copies {variant['DesiredInstanceCount']}"
        if self.status == "Failed":
            detail = self.description.get("FailureReason") or detail
        return f"{self.resource_name} is {self.status}: {detail}"


def component_plan(
    name: str, instance_type: str, specification: Record, model: Record
) -> HostingPlan:
    """Return the plan of a component's copies, in which the component is a variant."""
    variant: dict[str, Any] = {
        "VariantName": name,
        "ModelName": specification["ModelName"],
        "InstanceType": instance_type,
        "InitialInstanceCount": 0,
        "ComputeResourceRequirements": specification["ComputeResourceRequirements"],
        **specification.get("StartupParameters", {}),
    }
    config = {
        "EndpointConfigName": name,
        "ProductionVariants": [variant],
        "Specification": specification,
    }
    return HostingPlan(config, {specification["ModelName"]: model})
