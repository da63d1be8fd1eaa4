"""Metrics of an inference component."""

from dataclasses import dataclass

from aws_cdk.aws_cloudwatch import Metric

from triton_sagemaker.endpoint_metrics import INVOCATIONS_NAMESPACE, EndpointMetrics

COMPONENTS_NAMESPACE = "/aws/sagemaker/InferenceComponents"


@dataclass(frozen=True, kw_only=True)
class ComponentMetrics(EndpointMetrics):
    """Metrics of one inference component, whose name is their only dimension.

    `model` is the model that the component serves. Utilization is in percent of the resources that
    its copies reserve. Source: developer guide, monitoring-cloudwatch, "inference component
    metrics".
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
            self.metric_invocations(),
            self.metric_invocations_per_copy(),
            self.metric_concurrent_requests_per_copy(),
            self.metric_no_capacity(),
        ]

    def metric_invocations_per_copy(self) -> Metric:
        """Number of requests for each copy."""
        return self.metric(INVOCATIONS_NAMESPACE, "InvocationsPerCopy", "Sum")

    def metric_concurrent_requests_per_copy(self) -> Metric:
        """Number of requests in progress in each copy."""
        return self.metric(INVOCATIONS_NAMESPACE, "ConcurrentRequestsPerCopy", "Maximum")

    def metric_no_capacity(self) -> Metric:
        """Number of requests that were rejected because no copy was running."""
        return self.metric(INVOCATIONS_NAMESPACE, "NoCapacityInvocationFailures", "Sum")

    def metric_cpu_utilization(self) -> Metric:
        """Percent of the vCPUs of the copies, 0 to 100."""
        return self.metric(COMPONENTS_NAMESPACE, "CPUUtilizationNormalized", "Average")

    def metric_memory_utilization(self) -> Metric:
        """Percent of the memory of the copies, 0 to 100."""
        return self.metric(COMPONENTS_NAMESPACE, "MemoryUtilizationNormalized", "Average")

    def metric_gpu_utilization(self) -> Metric:
        """Percent of the GPUs of the copies, 0 to 100."""
        return self.metric(COMPONENTS_NAMESPACE, "GPUUtilizationNormalized", "Average")

    def metric_gpu_memory_utilization(self) -> Metric:
        """Percent of the GPU memory of the copies, 0 to 100."""
        return self.metric(COMPONENTS_NAMESPACE, "GPUMemoryUtilizationNormalized", "Average")
