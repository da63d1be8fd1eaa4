"""CloudWatch metrics of an endpoint's variants."""

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
    """CloudWatch metrics of one variant, with the dimensions EndpointName and VariantName.

    SageMaker publishes every metric once a minute, unless MetricsConfig of the EndpointConfig has
    another frequency. Multi-model endpoints have no metrics per model. The metrics here have no
    unit: an alarm with a wrong unit gets no data ("We recommend omitting Unit": API reference,
    PutMetricAlarm). Of the metrics in microseconds, only ModelLatency supports percentiles. Source:
    SageMaker developer guide, CloudWatch metrics of endpoints and of multi-model endpoints.

    `endpoint_config_name` selects the instances that an update to this configuration adds:
    "CloudWatch publishes the metrics with the dimension EndpointConfigName:{New-Ep-Config} after
    the new fleet starts receiving traffic" (developer guide, deployment-guardrails-configuration).
    `instance_type` selects the instances of one type of a pool (developer guide,
    realtime-endpoints-heterogeneous).
    """

    endpoint_name: str
    variant_name: str
    endpoint_config_name: str | None = None
    instance_type: str | None = None

    @property
    def part(self) -> str:
        """The variant (or component) as messages name it."""
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
        """Return a metric with a period of one minute; `Metric.with_` changes label, period etc."""
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
        """Requests per instance, a count."""
        return self.metric(INVOCATIONS, "InvocationsPerInstance", "Sum")

    def metric_server_error_rate(self) -> Metric:
        """Share of requests with a 5xx response, 0 to 1."""
        return self.metric(INVOCATIONS, "Invocation5XXErrors", "Average")

    def metric_client_error_rate(self) -> Metric:
        """Share of requests with a 4xx response, 0 to 1."""
        return self.metric(INVOCATIONS, "Invocation4XXErrors", "Average")

    def metric_model_error_rate(self) -> Metric:
        """Share of requests without a 2xx response of the container, 0 to 1.

        "This includes 4XX/5XX status codes, low-level socket errors, malformed HTTP responses, and
        request timeouts" (developer guide, monitoring-cloudwatch). Only this metric shows failures
        of Triton: it returns 400 for a failed inference or load, as for a client error, and 507 if
        memory is too small (triton-inference-server/server, src/sagemaker_server.cc).
        """
        return self.metric(INVOCATIONS, "InvocationModelErrors", "Average")

    def metric_model_latency(self) -> Metric:
        """Time in the container, in microseconds (p99)."""
        return self.metric(INVOCATIONS, "ModelLatency", "p99")

    def metric_overhead_latency(self) -> Metric:
        """Time added by SageMaker, in microseconds (average)."""
        return self.metric(INVOCATIONS, "OverheadLatency", "Average")

    def metric_model_cache_hit_rate(self) -> Metric:
        """Share of requests whose model was in memory, 0 to 1. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelCacheHit", "Average")

    def metric_model_loading_wait(self) -> Metric:
        """Longest wait of a request for its model, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelLoadingWaitTime", "Maximum")

    def metric_model_downloading_time(self) -> Metric:
        """Longest download of an archive from S3, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelDownloadingTime", "Maximum")

    def metric_model_loading_time(self) -> Metric:
        """Longest load of a model in the container, in microseconds. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelLoadingTime", "Maximum")

    def metric_model_unloads(self) -> Metric:
        """Models unloaded from memory, a count. Multi-model only."""
        return self.metric(INVOCATIONS, "ModelUnloadingTime", "SampleCount")

    def metric_loaded_models(self) -> Metric:
        """Models in memory, a count over all instances. Multi-model only."""
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
        """Percent of the disk space for models, 0 to 100."""
        return self.metric(INSTANCES, "DiskUtilization", "Average")
