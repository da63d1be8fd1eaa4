"""Metrics of an endpoint's variants, each with the namespace and dimensions it really has."""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import Metric

INVOCATIONS = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
GPU_UTILIZATION = "GPUUtilization"
CPU_UTILIZATION = "CPUUtilization"
MINUTE = Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class EndpointMetrics:
    """Metrics of one variant.

    Everything is published once a minute, unless the configuration's MetricsConfig has another
    frequency, with the dimensions EndpointName and VariantName; multi-model endpoints have no
    metrics by model. None has a unit: only alarms read it, and one with a wrong unit never sees
    data ("We recommend omitting Unit": API reference, PutMetricAlarm). Of times, percentiles are
    among the "valid statistics" of ModelLatency alone. Source: the developer guide's pages on
    CloudWatch metrics of endpoints and of multi-model endpoints.

    With `endpoint_config_name`, metrics of invocations are those of the instances that an update
    to that configuration brings: "CloudWatch publishes the metrics with the dimension
    EndpointConfigName:{New-Ep-Config} after the new fleet starts receiving traffic" (developer
    guide, deployment-guardrails-configuration). With `instance_type`, metrics are those of the
    instances of one type of a pool (realtime-endpoints-heterogeneous).
    """

    endpoint_name: str
    variant_name: str
    endpoint_config_name: str | None = None
    instance_type: str | None = None

    @property
    def part(self) -> str:
        """The part of an endpoint that has the metrics."""
        return f"variant {self.variant_name}"

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
        """Return a metric by its name; its method `with_` changes label, period and the rest."""
        return Metric(
            dimensions_map=self.dimensions,
            metric_name=name,
            namespace=namespace,
            period=MINUTE,
            statistic=statistic,
        )

    @property
    def traffic(self) -> list[Metric]:
        """The metrics of a dashboard's first chart."""
        return [self.metric_invocations(), self.metric_invocations_per_instance()]

    def metric_invocations(self) -> Metric:
        """Requests, a count."""
        return self.metric(INVOCATIONS, "Invocations", "Sum")

    def metric_invocations_per_instance(self) -> Metric:
        """Requests that each instance got, a count."""
        return self.metric(INVOCATIONS, "InvocationsPerInstance", "Sum")

    def metric_server_error_rate(self) -> Metric:
        """Share of requests that were answered with 5xx, 0 to 1: each counts as 0 or 1."""
        return self.metric(INVOCATIONS, "Invocation5XXErrors", "Average")

    def metric_client_error_rate(self) -> Metric:
        """Share of requests that were answered with 4xx, 0 to 1: each counts as 0 or 1."""
        return self.metric(INVOCATIONS, "Invocation4XXErrors", "Average")

    def metric_model_error_rate(self) -> Metric:
        """Share of requests that the container did not answer with 2xx, 0 to 1.

        "This includes 4XX/5XX status codes, low-level socket errors, malformed HTTP responses, and
        request timeouts" (developer guide, monitoring-cloudwatch). It alone sees how Triton fails:
        a failed inference or load is a 400, like a caller's mistake, and memory that is too small a
        507 (triton-inference-server/server, src/sagemaker_server.cc).
        """
        return self.metric(INVOCATIONS, "InvocationModelErrors", "Average")

    def metric_model_latency(self) -> Metric:
        """Time that the container took, in microseconds."""
        return self.metric(INVOCATIONS, "ModelLatency", "p99")

    def metric_overhead_latency(self) -> Metric:
        """Time that SageMaker added, in microseconds."""
        return self.metric(INVOCATIONS, "OverheadLatency", "Average")

    def metric_model_cache_hit_rate(self) -> Metric:
        """Share of requests whose model was loaded already, 0 to 1. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelCacheHit", "Average")

    def metric_model_loading_wait(self) -> Metric:
        """Time that requests waited for their model, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelLoadingWaitTime", "Maximum")

    def metric_model_downloading_time(self) -> Metric:
        """Time that archives took from S3, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelDownloadingTime", "Maximum")

    def metric_model_loading_time(self) -> Metric:
        """Time that the container took to load models, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelLoadingTime", "Maximum")

    def metric_model_unloads(self) -> Metric:
        """Models that had to leave memory, a count: many of them mean churn. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelUnloadingTime", "SampleCount")

    def metric_loaded_models(self) -> Metric:
        """Models in the containers' memory, a count over all instances. Multi-model only."""
        return self.metric(INSTANCES, "LoadedModelCount", "Sum")

    def metric_cpu_utilization(self) -> Metric:
        """Percent of one core: 0 to 100 times the number of cores."""
        return self.metric(INSTANCES, CPU_UTILIZATION, "Average")

    def metric_memory_utilization(self) -> Metric:
        """Percent of the instances' memory, 0 to 100."""
        return self.metric(INSTANCES, "MemoryUtilization", "Average")

    def metric_gpu_utilization(self) -> Metric:
        """Percent of one GPU: 0 to 100 times the number of GPUs."""
        return self.metric(INSTANCES, GPU_UTILIZATION, "Average")

    def metric_gpu_memory_utilization(self) -> Metric:
        """Percent of one GPU's memory: 0 to 100 times the number of GPUs."""
        return self.metric(INSTANCES, "GPUMemoryUtilization", "Average")

    def metric_disk_utilization(self) -> Metric:
        """Percent of the storage for models, 0 to 100."""
        return self.metric(INSTANCES, "DiskUtilization", "Average")
