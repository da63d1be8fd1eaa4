"""Alarms and a dashboard for whoever is on call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from triton_sagemaker.alarm_thresholds import AlarmThresholds, Severity, Thresholds
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.variant import Variant

MINUTES = 5
"""An alarm looks at this many minutes, and needs `DATAPOINTS` bad ones of them."""
DATAPOINTS = 3
MICROSECONDS = 1_000
"""Microseconds in a millisecond: thresholds are in milliseconds, metrics in microseconds."""

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True)
class _Measure:
    """One line of a graph, with the thresholds at which it alarms."""

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    comparison: cloudwatch.ComparisonOperator = ABOVE
    scale: float = 1


@dataclass(frozen=True)
class _Graph:
    """A widget: what alarms in it, and what is drawn beside it."""

    title: str
    measures: Sequence[_Measure] = ()
    beside: Sequence[cloudwatch.Metric] = ()


class EndpointMonitoring(Construct):
    """Alarms of every variant, told to `topic`, and one dashboard with the thresholds drawn in it.

    The topic is encrypted with a key that CloudWatch may use; subscribe to `topic`. `alarms` lists
    what was made.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        thresholds: AlarmThresholds | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = self._topic(endpoint_name)
        self.alarms: list[cloudwatch.Alarm] = []
        self.dashboard = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=endpoint_name, default_interval=Duration.hours(3)
        )
        for variant in variants:
            graphs = list(_graphs(endpoint_name, variant, thresholds or AlarmThresholds()))
            for graph in graphs:
                for measure in graph.measures:
                    self._add_alarms(endpoint_name, variant.name, measure)
            self._add_widgets(variant.name, graphs)

    def _topic(self, endpoint_name: str) -> sns.Topic:
        key = kms.Key(
            self,
            "TopicKey",
            description=f"Encrypts the alarms of {endpoint_name}",
            enable_key_rotation=True,
        )
        # The key of AWS's own for SNS is of no use: CloudWatch may not use it.
        key.grant_encrypt_decrypt(iam.ServicePrincipal("cloudwatch.amazonaws.com"))
        return sns.Topic(self, "Topic", enforce_ssl=True, master_key=key)

    def _add_alarms(self, endpoint_name: str, variant_name: str, measure: _Measure) -> None:
        for severity, threshold in measure.thresholds.items():
            alarm = cloudwatch.Alarm(
                self,
                f"{variant_name}-{measure.name}-{severity}",
                alarm_description=(
                    f"{severity}: {measure.title} of {endpoint_name}, variant {variant_name}"
                ),
                comparison_operator=measure.comparison,
                datapoints_to_alarm=DATAPOINTS,
                evaluation_periods=MINUTES,
                metric=measure.metric,
                threshold=threshold * measure.scale,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            alarm.add_alarm_action(actions.SnsAction(self.topic))
            self.alarms.append(alarm)

    def _add_widgets(self, variant_name: str, graphs: Sequence[_Graph]) -> None:
        self.dashboard.add_widgets(
            cloudwatch.TextWidget(markdown=f"# {variant_name}", width=24, height=1)
        )
        for start in range(0, len(graphs), 3):
            self.dashboard.add_widgets(*map(_widget, graphs[start : start + 3]))


def _widget(graph: _Graph) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=graph.title,
        left=[*(measure.metric for measure in graph.measures), *graph.beside],
        left_annotations=[
            cloudwatch.HorizontalAnnotation(
                color=cloudwatch.Color.RED
                if severity is Severity.CRITICAL
                else cloudwatch.Color.ORANGE,
                label=f"{severity}: {measure.title}",
                value=threshold * measure.scale,
            )
            for measure in graph.measures
            for severity, threshold in measure.thresholds.items()
        ],
        width=8,
        height=6,
    )


def _graphs(endpoint_name: str, variant: Variant, limits: AlarmThresholds) -> Iterator[_Graph]:
    metrics = EndpointMetrics(endpoint_name, variant.name)
    yield _Graph(
        "Traffic (a minute)", beside=[metrics.invocations(), metrics.invocations_per_instance()]
    )
    yield _Graph(
        "Errors (share of requests)",
        [
            _Measure("ServerErrors", "share of 5xx answers", metrics.server_error_rate(),
                     limits.server_error_rate),
            _Measure("ClientErrors", "share of 4xx answers", metrics.client_error_rate(),
                     limits.client_error_rate),
        ],
    )  # fmt: skip
    yield _Graph(
        "Latency (microseconds)",
        [
            _Measure("LatencyP50", "median model latency", metrics.model_latency("p50"),
                     limits.model_latency_p50_ms, scale=MICROSECONDS),
            _Measure("LatencyP99", "p99 model latency", metrics.model_latency("p99"),
                     limits.model_latency_p99_ms, scale=MICROSECONDS),
        ],
        [metrics.overhead_latency()],
    )  # fmt: skip
    if variant.hosting.multi_model:
        yield from _model_cache(metrics, limits)
    yield from _machines(metrics, variant, limits)


def _model_cache(metrics: EndpointMetrics, limits: AlarmThresholds) -> Iterator[_Graph]:
    yield _Graph(
        "Model cache hits (share of requests)",
        [
            _Measure("CacheHits", "low share of requests whose model is loaded",
                     metrics.model_cache_hit_rate(), limits.cache_hit_rate_below, BELOW),
        ],
    )  # fmt: skip
    yield _Graph(
        "Waiting for models (microseconds)",
        [
            _Measure("LoadingWait", "p99 wait for a model", metrics.model_loading_wait(),
                     limits.loading_wait_p99_ms, scale=MICROSECONDS),
        ],
        [metrics.model_downloading_time(), metrics.model_loading_time()],
    )  # fmt: skip
    yield _Graph(
        "Models in memory",
        [
            _Measure("Unloads", "models that left memory a minute", metrics.model_unloads(),
                     limits.unloads_per_minute),
            _Measure("LoadedModels", "too few models in memory", metrics.loaded_models(),
                     limits.loaded_models_below, BELOW),
        ],
    )  # fmt: skip


def _machines(
    metrics: EndpointMetrics, variant: Variant, limits: AlarmThresholds
) -> Iterator[_Graph]:
    gpus = variant.instances.instance_type.gpu_count
    if gpus:
        yield _Graph(
            f"GPU (percent, {gpus} a machine)",
            [
                _Measure("GpuMemory", "GPU memory in use", metrics.gpu_memory_utilization(),
                         limits.gpu_memory_percent, scale=gpus),
            ],
            [metrics.gpu_utilization()],
        )  # fmt: skip
    yield _Graph(
        "Storage (percent)",
        [_Measure("Disk", "storage in use", metrics.disk_utilization(), limits.disk_percent)],
    )
    yield _Graph(
        "CPU and memory (percent)",
        beside=[metrics.cpu_utilization(), metrics.memory_utilization()],
    )
