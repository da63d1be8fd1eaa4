"""An inference component: its description and its copies."""

import threading
from typing import Any

from local_sagemaker.dashboard_events import OnEvent
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.fleet import STARTUP_TIMEOUT
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.registry import Plan
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

    `operation` is the operation in progress, as in DeleteInferenceComponent's error message.
    """

    kind = COMPONENT

    def __init__(
        self, description: Record, plan: Plan, lock: threading.RLock, report: OnEvent
    ) -> None:
        super().__init__(description, plan, lock, report)
        self.operation = "CREATE_IN_PROGRESS"

    @property
    def key(self) -> str:
        """The component's name; `name` is the endpoint's."""
        return str(self.description["InferenceComponentName"])

    @property
    def variant(self) -> str:
        """The endpoint's variant that hosts the component."""
        return str(self.description["VariantName"])

    @property
    def copies(self) -> int:
        """The number of copies."""
        return sum(sum(fleet.counts.values()) for fleet in (self.fleet, self.new) if fleet)

    def set(self, **changes: Any) -> None:
        """Change members of the description, except for removing the FailureReason.

        It remains after a successful update (aws-controllers-k8s/sagemaker-controller,
        test/e2e/tests/test_inference_component.py: "consistently in testing").
        """
        if changes.get("FailureReason", "") is None:
            del changes["FailureReason"]
        super().set(**changes)

    def described(self) -> Record:
        """Return the response of DescribeInferenceComponent."""
        with self.lock:
            named = (
                "InferenceComponentName", "InferenceComponentArn", "EndpointName", "EndpointArn",
                "VariantName", "CreationTime", "LastModifiedTime", "FailureReason",
                "LastDeploymentConfig",
            )  # fmt: skip
            (variant,) = self.variants
            return {
                **{name: self.description[name] for name in named if name in self.description},
                "InferenceComponentStatus": _STATUSES.get(self.status, self.status),
                "Specification": self.plan.config["Specification"],
                "RuntimeConfig": {
                    "DesiredCopyCount": variant["DesiredInstanceCount"],
                    "CurrentCopyCount": self.copies,
                },
            }

    def not_serving_error(self) -> ApiError:
        """Return the error for an invocation while there is no copy: calls are not queued."""
        return ApiError("ValidationError", NO_CAPACITY)

    def _status_message(self) -> str:
        (variant,) = self.variants
        copies = f"desired copies {variant['DesiredInstanceCount']}"
        why = self.description.get("FailureReason") if self.status == "Failed" else None
        return f"{self.key} is {self.status}: {why or copies}"


def component_plan(name: str, instance_type: str, specification: Record, model: Record) -> Plan:
    """Return the plan of a component's copies: a configuration with the component as a variant."""
    variant: dict[str, Any] = {
        "VariantName": name,
        "ModelName": specification["ModelName"],
        "InstanceType": instance_type,
        "InitialInstanceCount": 0,
        "ComputeResourceRequirements": specification["ComputeResourceRequirements"],
    }
    startup = specification.get("StartupParameters", {})
    if STARTUP_TIMEOUT in startup:
        variant[STARTUP_TIMEOUT] = startup[STARTUP_TIMEOUT]
    config = {
        "EndpointConfigName": name,
        "ProductionVariants": [variant],
        "Specification": specification,
    }
    return Plan(config, {specification["ModelName"]: model})
