"""CloudWatch metrics of the variants of an endpoint."""

from dataclasses import dataclass
from typing import ClassVar

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import Metric

INVOCATIONS_NAMESPACE = "AWS/SageMaker"
INSTANCES_NAMESPACE = "/aws/sagemaker/Endpoints"
GPU_UTILIZATION = "GPUUtilization"
CPU_UTILIZATION = "CPUUtilization"
MINUTE = Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class EndpointMetrics:
    """Metrics of one variant.

    SageMaker publishes them once a minute, unless MetricsConfig of the configuration has another
    frequency, with the dimensions EndpointName and VariantName; multi-model endpoints have no
    metrics for single models. The metrics have no unit, because an alarm with a wrong unit never
    receives data ("We recommend omitting Unit": API reference, PutMetricAlarm). ModelLatency is the
    only time for which the guide lists percentiles as valid statistics. Source: the developer
    guide's pages on CloudWatch metrics of endpoints and of multi-model endpoints.

    With `endpoint_config_name`, invocation metrics only cover the instances that are started by an
    update to that configuration: "CloudWatch publishes the metrics with the dimension
    EndpointConfigName:{New-Ep-Config} after the new fleet starts receiving traffic" (developer
    guide, deployment-guardrails-configuration). With `instance_type`, metrics cover the instances
    of one type of a pool (realtime-endpoints-heterogeneous).
    """

    kind: ClassVar[str] = "variant"

    endpoint_name: str
    variant_name: str
    endpoint_config_name: str | None = None
    instance_type: str | None = None

    @property
    def display_name(self) -> str:
        """The name in titles and construct ids."""
        return self.variant_name

    @property
    def label(self) -> str:
        """Kind and name, for descriptions of alarms."""
        return f"{self.kind} {self.display_name}"

    @property
    def dimensions(self) -> dict[str, str]:
        """The dimensions of every metric."""
        names = {"EndpointName": self.endpoint_name, "VariantName": self.variant_name}
        if self.endpoint_config_name is not None:
            names["EndpointConfigName"] = self.endpoint_config_name
        if self.instance_type is not None:
            names["InstanceType"] = self.instance_type
        return names

    def metric(self, namespace: str, name: str, statistic: str) -> Metric:
        """Return a metric by its name, with a period of one minute."""
        return Metric(
            dimensions_map=self.dimensions,
            metric_name=name,
            namespace=namespace,
            period=MINUTE,
            statistic=statistic,
        )

    @property
    def traffic(self) -> list[Metric]:
        """The metrics of the first chart of a dashboard."""
        return [self.metric_invocations(), self.metric_invocations_per_instance()]

    def metric_invocations(self) -> Metric:
        """Number of requests."""
        return self.metric(INVOCATIONS_NAMESPACE, "Invocations", "Sum")

    def metric_invocations_per_instance(self) -> Metric:
        """Number of requests for each instance."""
        return self.metric(INVOCATIONS_NAMESPACE, "InvocationsPerInstance", "Sum")

    def metric_server_error_rate(self) -> Metric:
        """Share of requests with a 5xx response, 0 to 1."""
        return self.metric(INVOCATIONS_NAMESPACE, "Invocation5XXErrors", "Average")

    def metric_client_error_rate(self) -> Metric:
        """Share of requests with a 4xx response, 0 to 1."""
        return self.metric(INVOCATIONS_NAMESPACE, "Invocation4XXErrors", "Average")

    def metric_model_error_rate(self) -> Metric:
        """Share of requests that the container did not answer with 2xx, 0 to 1.

        "This includes 4XX/5XX status codes, low-level socket errors, malformed HTTP responses, and
        request timeouts" (developer guide, monitoring-cloudwatch). Only this metric shows errors of
        Triton, which answers a failed inference or load with 400, like an invalid request, and
        insufficient memory with 507 (triton-inference-server/server, src/sagemaker_server.cc).
        """
        return self.metric(INVOCATIONS_NAMESPACE, "InvocationModelErrors", "Average")

    def metric_model_latency(self) -> Metric:
        """Time in the container, in microseconds."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelLatency", "p99")

    def metric_overhead_latency(self) -> Metric:
        """Time in SageMaker outside of the container, in microseconds."""
        return self.metric(INVOCATIONS_NAMESPACE, "OverheadLatency", "Average")

    def metric_model_cache_hit_rate(self) -> Metric:
        """Share of requests whose model was in memory, 0 to 1. Multi-model only."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelCacheHit", "Average")

    def metric_model_loading_wait(self) -> Metric:
        """Time that requests wait for their model to load, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelLoadingWaitTime", "Maximum")

    def metric_model_downloading_time(self) -> Metric:
        """Time to download an archive from S3, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelDownloadingTime", "Maximum")

    def metric_model_loading_time(self) -> Metric:
        """Time to load a model in the container, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelLoadingTime", "Maximum")

    def metric_model_unloads(self) -> Metric:
        """Number of models unloaded to make room for others. Multi-model only."""
        return self.metric(INVOCATIONS_NAMESPACE, "ModelUnloadingTime", "SampleCount")

    def metric_loaded_models(self) -> Metric:
        """Number of models in memory, over all instances. Multi-model only."""
        return self.metric(INSTANCES_NAMESPACE, "LoadedModelCount", "Sum")

    def metric_cpu_utilization(self) -> Metric:
        """Percent of one core: 0 to 100 times the number of cores."""
        return self.metric(INSTANCES_NAMESPACE, CPU_UTILIZATION, "Average")

    def metric_memory_utilization(self) -> Metric:
        """Percent of an instance's memory that its containers use, 0 to 100.

        Source: SageMaker developer guide, monitoring-cloudwatch.
        """
        return self.metric(INSTANCES_NAMESPACE, "MemoryUtilization", "Average")

    def metric_gpu_utilization(self) -> Metric:
        """Percent of one GPU: 0 to 100 times the number of GPUs."""
        return self.metric(INSTANCES_NAMESPACE, GPU_UTILIZATION, "Average")

    def metric_gpu_memory_utilization(self) -> Metric:
        """Percent of one GPU's memory: 0 to 100 times the number of GPUs."""
        return self.metric(INSTANCES_NAMESPACE, "GPUMemoryUtilization", "Average")

    def metric_disk_utilization(self) -> Metric:
        """Percent of the storage for models, 0 to 100."""
        return self.metric(INSTANCES_NAMESPACE, "DiskUtilization", "Average")
