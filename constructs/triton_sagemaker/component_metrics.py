"""Metrics of an inference component."""

from dataclasses import dataclass

from aws_cdk.aws_cloudwatch import Metric

from platform_facts.rules.monitoring import COPIES
from triton_sagemaker.endpoint_metrics import EndpointMetrics


@dataclass(frozen=True, kw_only=True)
class ComponentMetrics(EndpointMetrics):
    """Metrics of one inference component, whose name is their only dimension.

    `model` is the model that the component serves.
    """

    kind = "component"

    component_name: str
    model: str

    @property
    def display_name(self) -> str:
        """The name in titles and construct ids."""
        return self.model

    @property
    def dimensions(self) -> dict[str, str]:
        """The dimension of every metric."""
        return {"InferenceComponentName": self.component_name}

    @property
    def traffic(self) -> list[Metric]:
        """The metrics of the first chart of a dashboard."""
        return [
            self.metric("Invocations", "Sum"),
            self.metric("InvocationsPerCopy", "Sum"),
            self.metric("ConcurrentRequestsPerCopy", "Maximum"),
            self.rejected_requests,
        ]

    @property
    def rejected_requests(self) -> Metric:
        """Number of requests that were rejected because no copy was running."""
        return self.metric("NoCapacityInvocationFailures", "Sum")

    def utilization(self, name: str, statistic: str = "Average") -> Metric:
        """Return a metric of the copies, in percent of what they reserve."""
        return self.metric(f"{name}Normalized", statistic, namespace=COPIES)
