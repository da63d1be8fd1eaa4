"""Alarms and a dashboard for whoever is on call."""

from collections.abc import Iterator, Sequence

from aws_cdk import Duration, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from platform_facts.rules import observed, stage
from triton_sagemaker.alarm_thresholds import AlarmThresholds, Severity
from triton_sagemaker.alarm_topic import AlarmTopic
from triton_sagemaker.charts import MICROSECONDS_PER_MS, Chart, Measure
from triton_sagemaker.endpoint_metrics import EndpointMetrics, VariantMetrics, published
from triton_sagemaker.problems import Problem, of_rules
from triton_sagemaker.variant import Variant

MINUTES = 5
"""An alarm looks at this many minutes, and needs `DATAPOINTS` bad ones of them."""
DATAPOINTS = 3
COLORS = {
    Severity.WARNING: cloudwatch.Color.ORANGE,
    Severity.CRITICAL: cloudwatch.Color.RED,
}


TRITON = {
    "Triton: requests by model": ("nv_inference_request_success", "nv_inference_request_failure"),
    "Triton: microseconds by model": (
        "nv_inference_queue_duration_us",
        "nv_inference_compute_infer_duration_us",
    ),
}
"""Charts of Triton's own metrics (triton-inference-server/server, docs/user_guide/metrics.md)."""


class EndpointMonitoring(Construct):
    """Alarms of every variant, which notify `topics`, and a dashboard with the thresholds drawn in.

    Without `topics` one is made: subscribe to it. `alarms` lists what was made.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        thresholds: AlarmThresholds | None = None,
        topics: Sequence[sns.ITopic] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.topics = tuple(topics) or (AlarmTopic(self, "Topic").topic,)
        self._actions = [actions.SnsAction(topic) for topic in self.topics]
        charts = {
            variant.name: list(_charts(endpoint_name, variant, thresholds or AlarmThresholds()))
            for variant in variants
        }
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=endpoint_name,
            default_interval=Duration.hours(3),
            widgets=[row for name, shown in charts.items() for row in _rows(name, shown)],
        )
        self.alarms = [
            alarm
            for name, shown in charts.items()
            for chart in shown
            for measure in chart.measures
            for alarm in self._alarms(endpoint_name, name, measure)
        ]

    def _alarms(
        self, endpoint_name: str, variant_name: str, measure: Measure
    ) -> Iterator[cloudwatch.Alarm]:
        for severity, threshold in measure.thresholds.items():
            alarm = cloudwatch.Alarm(
                self,
                f"{variant_name}-{measure.name}-{severity}",
                alarm_description=(
                    f"{severity}: {measure.title} of {endpoint_name}, variant {variant_name}"
                ),
                datapoints_to_alarm=DATAPOINTS,
                evaluation_periods=MINUTES,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
                **measure.condition(threshold),
            )
            alarm.add_alarm_action(*self._actions)
            yield alarm


def topic_problems(topics: Sequence[sns.ITopic], region: str) -> Iterator[Problem]:
    """Yield what CloudWatch would refuse of an alarm's topics."""
    yield from of_rules(observed.number_of_topics(len(topics)))
    for topic in topics:
        arn = topic.topic_arn
        if not Token.is_unresolved(arn):
            yield from of_rules(stage.topic_of_the_region(arn, region), where="topics")


def threshold_problems(thresholds: AlarmThresholds) -> Iterator[Problem]:
    """Yield thresholds that no value reaches, and warnings that come after their alarm."""
    measures = vars(thresholds)
    values = [level for levels in measures.values() for level in levels.values()]
    yield from of_rules(observed.thresholds(measures), *values)


def _rows(variant_name: str, charts: Sequence[Chart]) -> Iterator[list[cloudwatch.IWidget]]:
    yield [cloudwatch.TextWidget(markdown=f"# {variant_name}", width=24, height=1)]
    for start in range(0, len(charts), 3):
        yield [_widget(chart) for chart in charts[start : start + 3]]


def _widget(chart: Chart) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=chart.title,
        left=[*(measure.metric for measure in chart.measures), *chart.beside],
        left_annotations=[
            cloudwatch.HorizontalAnnotation(
                color=COLORS[severity],
                label=f"{severity}: {measure.title}",
                value=threshold * measure.scale,
            )
            for measure in chart.measures
            for severity, threshold in measure.thresholds.items()
        ],
        width=8,
        height=6,
    )


def _charts(endpoint_name: str, variant: Variant, limits: AlarmThresholds) -> Iterator[Chart]:
    metrics = VariantMetrics(endpoint_name, variant.name)
    yield Chart(
        "Traffic (a minute)",
        beside=[metrics.metric_invocations(), metrics.metric_invocations_per_instance()],
    )
    yield Chart(
        "Errors (share of requests)",
        [
            Measure("ServerErrors", "share of 5xx answers", metrics.metric_server_error_rate(),
                    limits.server_error_rate),
            Measure("ClientErrors", "share of 4xx answers", metrics.metric_client_error_rate(),
                    limits.client_error_rate),
            Measure("ModelErrors", "share of requests that the container failed",
                    metrics.metric_model_error_rate(), limits.model_error_rate),
        ],
    )  # fmt: skip
    yield Chart(
        "Latency (microseconds)",
        [
            Measure("LatencyP50", "median model latency",
                    metrics.metric_model_latency(statistic="p50"), limits.model_latency_p50_ms,
                    scale=MICROSECONDS_PER_MS),
            Measure("LatencyP99", "p99 model latency",
                    metrics.metric_model_latency(statistic="p99"), limits.model_latency_p99_ms,
                    scale=MICROSECONDS_PER_MS),
        ],
        [metrics.metric_overhead_latency()],
    )  # fmt: skip
    yield from variant.hosting.charts(metrics, limits)
    yield from _inside(variant)
    yield from _machines(metrics, variant, limits)


def _inside(variant: Variant) -> Iterator[Chart]:
    """What Triton says of itself, where its metrics are published: of all variants together."""
    if publish := variant.container.options.publish_metrics:
        for title, names in TRITON.items():
            yield Chart(title, beside=[published(publish.namespace, it, "Sum") for it in names])


def _machines(
    metrics: EndpointMetrics, variant: Variant, limits: AlarmThresholds
) -> Iterator[Chart]:
    gpus = variant.instances.instance_type.gpu_count
    if gpus:
        yield Chart(
            f"GPU (percent, {gpus} a machine)",
            [
                Measure("GpuMemory", "GPU memory in use", metrics.metric_gpu_memory_utilization(),
                        limits.gpu_memory_percent, scale=gpus),
            ],
            [metrics.metric_gpu_utilization()],
        )  # fmt: skip
    yield Chart(
        "Storage (percent)",
        [Measure("Disk", "storage in use", metrics.metric_disk_utilization(), limits.disk_percent)],
    )
    yield Chart(
        "CPU and memory (percent)",
        beside=[metrics.metric_cpu_utilization(), metrics.metric_memory_utilization()],
    )
