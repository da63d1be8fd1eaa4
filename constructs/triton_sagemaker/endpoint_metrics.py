"""What can be measured of an endpoint, each with the namespace and dimensions it really has."""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

INVOCATIONS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
GPU_UTILIZATION = "GPUUtilization"
CPU_UTILIZATION = "CPUUtilization"
MINUTE = Duration.minutes(1)

Metric = cloudwatch.Metric


def published(namespace: str, name: str, statistic: str) -> cloudwatch.MathExpression:
    """Return a metric of Triton's own, `nv_*`, with whatever dimensions the image's agent gave it.

    No source says which those are: a search finds all of a name (CloudWatch user guide,
    search-expression-syntax). It can be drawn, and no alarm can rest on it.
    """
    found = f'Namespace="{namespace}" MetricName="{name}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{found}', '{statistic}', 60)", label=name, period=MINUTE
    )


@dataclass(frozen=True)
class EndpointMetrics:
    """Metrics of one variant.

    Everything is published once a minute, with the dimensions EndpointName and VariantName;
    multi-model endpoints have no metrics by model. Source: the developer guide's pages on
    CloudWatch metrics of endpoints and of multi-model endpoints.

    With `endpoint_config_name`, metrics of invocations are those of the instances that an update
    to that configuration brings: "CloudWatch publishes the metrics with the dimension
    EndpointConfigName:{New-Ep-Config} after the new fleet starts receiving traffic" (developer
    guide, deployment-guardrails-configuration).
    """

    endpoint_name: str
    variant_name: str
    endpoint_config_name: str | None = None

    def invocations(self) -> Metric:
        """Requests, a count."""
        return self._metric(INVOCATIONS, "Invocations", "Sum", cloudwatch.Unit.NONE)

    def invocations_per_instance(self) -> Metric:
        """Requests that each instance got, a count."""
        return self._metric(INVOCATIONS, "InvocationsPerInstance", "Sum", cloudwatch.Unit.NONE)

    def server_error_rate(self) -> Metric:
        """Share of requests that were answered with 5xx, 0 to 1: each counts as 0 or 1."""
        return self._metric(INVOCATIONS, "Invocation5XXErrors", "Average", cloudwatch.Unit.NONE)

    def client_error_rate(self) -> Metric:
        """Share of requests that were answered with 4xx, 0 to 1: each counts as 0 or 1."""
        return self._metric(INVOCATIONS, "Invocation4XXErrors", "Average", cloudwatch.Unit.NONE)

    def model_error_rate(self) -> Metric:
        """Share of requests that the container did not answer with 2xx, 0 to 1.

        "This includes 4XX/5XX status codes, low-level socket errors, malformed HTTP responses, and
        request timeouts" (developer guide, monitoring-cloudwatch). It alone sees how Triton fails:
        a failed inference or load is a 400, like a caller's mistake, and memory that is too small a
        507 (triton-inference-server/server, src/sagemaker_server.cc).
        """
        return self._metric(INVOCATIONS, "InvocationModelErrors", "Average", cloudwatch.Unit.NONE)

    def model_latency(self, statistic: str = "p99") -> Metric:
        """Time that the container took, in microseconds."""
        return self._metric(INVOCATIONS, "ModelLatency", statistic, cloudwatch.Unit.MICROSECONDS)

    def overhead_latency(self, statistic: str = "p99") -> Metric:
        """Time that SageMaker added, in microseconds."""
        return self._metric(INVOCATIONS, "OverheadLatency", statistic, cloudwatch.Unit.MICROSECONDS)

    def model_cache_hit_rate(self) -> Metric:
        """Share of requests whose model was loaded already, 0 to 1. Multi-model only."""
        return self._metric(INVOCATIONS, "ModelCacheHit", "Average", cloudwatch.Unit.NONE)

    def model_loading_wait(self, statistic: str = "p99") -> Metric:
        """Time that requests waited for their model, in microseconds. Multi-model only."""
        return self._metric(
            INVOCATIONS, "ModelLoadingWaitTime", statistic, cloudwatch.Unit.MICROSECONDS
        )

    def model_downloading_time(self, statistic: str = "p99") -> Metric:
        """Time that archives took from S3, in microseconds. Multi-model only."""
        return self._metric(
            INVOCATIONS, "ModelDownloadingTime", statistic, cloudwatch.Unit.MICROSECONDS
        )

    def model_loading_time(self, statistic: str = "p99") -> Metric:
        """Time that the container took to load models, in microseconds. Multi-model only."""
        return self._metric(
            INVOCATIONS, "ModelLoadingTime", statistic, cloudwatch.Unit.MICROSECONDS
        )

    def model_unloads(self) -> Metric:
        """Models that had to leave memory, a count: many of them mean churn. Multi-model only."""
        return self._metric(
            INVOCATIONS, "ModelUnloadingTime", "SampleCount", cloudwatch.Unit.MICROSECONDS
        )

    def loaded_models(self) -> Metric:
        """Models in the containers' memory, a count over all instances. Multi-model only."""
        return self._metric(INSTANCES, "LoadedModelCount", "Sum", cloudwatch.Unit.NONE)

    def cpu_utilization(self, statistic: str = "Average") -> Metric:
        """Percent of one core: 0 to 100 times the number of cores."""
        return self._metric(INSTANCES, CPU_UTILIZATION, statistic, cloudwatch.Unit.PERCENT)

    def memory_utilization(self, statistic: str = "Average") -> Metric:
        """Percent of the instances' memory, 0 to 100."""
        return self._metric(INSTANCES, "MemoryUtilization", statistic, cloudwatch.Unit.PERCENT)

    def gpu_utilization(self, statistic: str = "Average") -> Metric:
        """Percent of one GPU: 0 to 100 times the number of GPUs."""
        return self._metric(INSTANCES, GPU_UTILIZATION, statistic, cloudwatch.Unit.PERCENT)

    def gpu_memory_utilization(self, statistic: str = "Average") -> Metric:
        """Percent of one GPU's memory: 0 to 100 times the number of GPUs."""
        return self._metric(INSTANCES, "GPUMemoryUtilization", statistic, cloudwatch.Unit.PERCENT)

    def disk_utilization(self, statistic: str = "Average") -> Metric:
        """Percent of the storage for models, 0 to 100."""
        return self._metric(INSTANCES, "DiskUtilization", statistic, cloudwatch.Unit.PERCENT)

    def _metric(
        self, namespace: str, name: str, statistic: str, unit: cloudwatch.Unit
    ) -> cloudwatch.Metric:
        dimensions = {"EndpointName": self.endpoint_name, "VariantName": self.variant_name}
        if self.endpoint_config_name is not None:
            dimensions["EndpointConfigName"] = self.endpoint_config_name
        return cloudwatch.Metric(
            dimensions_map=dimensions,
            metric_name=name,
            namespace=namespace,
            period=MINUTE,
            statistic=statistic,
            unit=unit,
        )
