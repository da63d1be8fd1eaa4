"""Alarms and a dashboard of an endpoint."""

from collections.abc import Iterator, Sequence

from aws_cdk import Duration, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from platform_facts.rules import monitoring, stage
from triton_sagemaker.alarm_thresholds import AlarmThresholds, Severity
from triton_sagemaker.alarm_topic import AlarmTopic
from triton_sagemaker.chart import AlarmedMetric, Chart
from triton_sagemaker.charts import client_charts
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.problems import Problem, check

VariantOrComponent = EndpointVariant | EndpointComponent
THREE_HOURS = Duration.hours(3)
COLORS = {
    Severity.WARNING: cloudwatch.Color.ORANGE,
    Severity.CRITICAL: cloudwatch.Color.RED,
}


class EndpointMonitoring(Construct):
    """Alarms of all variants and inference components, and a dashboard that shows the thresholds.

    Alarms notify `topics`. By default, a topic without subscriptions is created.
    `client_metrics` is the CloudWatch namespace in which applications publish metrics with
    `endpoint_client.metrics`: the dashboard then has a row for them.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants_and_components: Sequence[VariantOrComponent],
        thresholds: AlarmThresholds,
        topics: Sequence[sns.ITopic] = (),
        client_metrics: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topics = tuple(topics) or (AlarmTopic(self, "Topic").topic,)
        self._endpoint_name = endpoint_name
        self._actions = [actions.SnsAction(topic) for topic in self.topics]
        monitored = [(item, list(item.charts(thresholds))) for item in variants_and_components]
        rows = [(item.display_name, charts) for item, charts in monitored]
        if client_metrics:
            rows.append(("Clients", list(client_charts(client_metrics, endpoint_name))))
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=endpoint_name,
            default_interval=THREE_HOURS,
            widgets=[widgets for title, charts in rows for widgets in _widget_rows(title, charts)],
        )
        for item, charts in monitored:
            for chart in charts:
                for metric in chart.alarmed_metrics:
                    self._add_alarms(item, metric)

    def _add_alarms(self, item: VariantOrComponent, metric: AlarmedMetric) -> None:
        subject = f"{metric.title} of {self._endpoint_name}, {item.label}"
        for severity, threshold in metric.thresholds.items():
            alarm = cloudwatch.Alarm(
                self,
                f"{item.display_name}-{metric.name}-{severity}",
                alarm_description=f"{severity}: {subject}",
                datapoints_to_alarm=monitoring.EVALUATION.datapoints,
                evaluation_periods=monitoring.EVALUATION.periods,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
                **metric.condition(threshold),
            )
            alarm.add_alarm_action(*self._actions)


def monitoring_problems(
    thresholds: AlarmThresholds, topics: Sequence[sns.ITopic], region: str
) -> Iterator[Problem]:
    """Yield topics that CloudWatch would reject, and thresholds outside of a metric's range."""
    yield from check(monitoring.check_topic_count, len(topics))
    for topic in topics:
        if not Token.is_unresolved(arn := topic.topic_arn):
            yield from check(stage.check_topic_region, arn, region, argument="topics")
    yield from check(monitoring.check_thresholds, vars(thresholds))


def _widget_rows(title: str, charts: Sequence[Chart]) -> Iterator[list[cloudwatch.IWidget]]:
    yield [cloudwatch.TextWidget(markdown=f"# {title}", width=24, height=1)]
    for start in range(0, len(charts), 3):
        yield [_widget(chart) for chart in charts[start : start + 3]]


def _widget(chart: Chart) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=chart.title,
        left=[*(alarmed.metric for alarmed in chart.alarmed_metrics), *chart.other_metrics],
        left_annotations=[
            cloudwatch.HorizontalAnnotation(
                color=COLORS[severity],
                label=f"{severity}: {alarmed.title}",
                value=threshold * alarmed.scale,
            )
            for alarmed in chart.alarmed_metrics
            for severity, threshold in alarmed.thresholds.items()
        ],
        width=8,
        height=6,
    )
