"""CloudWatch metrics of the variants of an endpoint."""

from dataclasses import dataclass
from typing import ClassVar

from aws_cdk import Duration
from aws_cdk.aws_cloudwatch import Metric

from platform_facts.rules.monitoring import INSTANCES, INVOCATIONS, MEASURES

GPU_UTILIZATION = "GPUUtilization"
CPU_UTILIZATION = "CPUUtilization"
MINUTE = Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class EndpointMetrics:
    """Metrics of one variant.

    SageMaker publishes them once a minute, unless MetricsConfig of the configuration has another
    frequency, with the dimensions EndpointName and VariantName; multi-model endpoints have no
    metrics for single models. The metrics have no unit, because an alarm with a wrong unit never
    receives data ("We recommend omitting Unit": API reference, PutMetricAlarm). Source: the
    developer guide's pages on CloudWatch metrics of endpoints and of multi-model endpoints.

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

    @property
    def traffic(self) -> list[Metric]:
        """The metrics of the first chart of a dashboard."""
        return [self.metric(name, "Sum") for name in ("Invocations", "InvocationsPerInstance")]

    def metric(
        self, name: str, statistic: str = "Average", *, namespace: str = INVOCATIONS
    ) -> Metric:
        """Return a metric by its name, by default of requests, with a period of one minute."""
        return Metric(
            dimensions_map=self.dimensions,
            metric_name=name,
            namespace=namespace,
            period=MINUTE,
            statistic=statistic,
        )

    def utilization(self, name: str, statistic: str = "Average") -> Metric:
        """Return a metric of the instances.

        CPU and GPU are in percent of one core or GPU: 0 to 100 times their number.
        """
        return self.metric(name, statistic, namespace=INSTANCES)

    def alarmed_metric(self, threshold: str) -> Metric:
        """Return the metric of a threshold, such as `model_latency_p99_ms`."""
        measure = MEASURES[threshold]
        metric = self.utilization if measure.namespace == INSTANCES else self.metric
        return metric(measure.metric, measure.statistic)
