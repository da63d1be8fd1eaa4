"""Alarms and a dashboard for the engineer on call."""

from collections.abc import Iterator, Sequence

from aws_cdk import Duration, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from platform_facts.rules import observed, stage
from triton_sagemaker.alarm_thresholds import AlarmThresholds, Severity
from triton_sagemaker.alarm_topic import AlarmTopic
from triton_sagemaker.chart import AlarmedMetric, Chart
from triton_sagemaker.charts import client_charts
from triton_sagemaker.endpoint_component import EndpointComponent
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.problems import Problem, as_problems

EndpointPart = EndpointVariant | EndpointComponent
MINUTES = 5
"""Evaluation period of an alarm: it fires when `DATAPOINTS` of these minutes breach."""
DATAPOINTS = 3
THREE_HOURS = Duration.hours(3)
COLORS = {
    Severity.WARNING: cloudwatch.Color.ORANGE,
    Severity.CRITICAL: cloudwatch.Color.RED,
}


class EndpointMonitoring(Construct):
    """Alarms for each variant and inference component, and a dashboard with their thresholds.

    Alarms notify `topics` (at most 5). If there are none, the construct creates an `AlarmTopic`:
    subscribe to `topics[0]`. `client_metrics` is the CloudWatch namespace of the metrics that
    applications publish with `endpoint_client.metrics`; the dashboard then has a row for them.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        parts: Sequence[EndpointPart],
        thresholds: AlarmThresholds,
        topics: Sequence[sns.ITopic] = (),
        client_metrics: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topics = tuple(topics) or (AlarmTopic(self, "Topic").topic,)
        self._endpoint_name = endpoint_name
        self._actions = [actions.SnsAction(topic) for topic in self.topics]
        by_part = {part.part: list(part.charts(thresholds)) for part in parts}
        rows = [(part.partition(" ")[2], charts) for part, charts in by_part.items()]
        if client_metrics:
            rows.append(("Clients", list(client_charts(client_metrics, endpoint_name))))
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=endpoint_name,
            default_interval=THREE_HOURS,
            widgets=[row for name, charts in rows for row in _rows(name, charts)],
        )
        for part, charts in by_part.items():
            for chart in charts:
                for alarmed in chart.alarmed:
                    self._add_alarms(part, alarmed)

    def _add_alarms(self, part: str, alarmed: AlarmedMetric) -> None:
        name = part.partition(" ")[2]
        for severity, threshold in alarmed.thresholds.items():
            alarm = cloudwatch.Alarm(
                self,
                f"{name}-{alarmed.name}-{severity}",
                alarm_description=(f"{severity}: {alarmed.title} of {self._endpoint_name}, {part}"),
                datapoints_to_alarm=DATAPOINTS,
                evaluation_periods=MINUTES,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
                **alarmed.condition(threshold),
            )
            alarm.add_alarm_action(*self._actions)


def monitoring_problems(
    thresholds: AlarmThresholds, topics: Sequence[sns.ITopic], region: str
) -> Iterator[Problem]:
    """Yield topics that CloudWatch would reject, and thresholds that cannot be reached."""
    yield from as_problems(observed.number_of_topics(len(topics)))
    for topic in topics:
        arn = topic.topic_arn
        if not Token.is_unresolved(arn):
            yield from as_problems(stage.topic_of_the_region(arn, region), where="topics")
    measures = vars(thresholds)
    values = [level for levels in measures.values() for level in levels.values()]
    yield from as_problems(observed.thresholds(measures), *values)


def _rows(title: str, charts: Sequence[Chart]) -> Iterator[list[cloudwatch.IWidget]]:
    yield [cloudwatch.TextWidget(markdown=f"# {title}", width=24, height=1)]
    for start in range(0, len(charts), 3):
        yield [_widget(chart) for chart in charts[start : start + 3]]


def _widget(chart: Chart) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=chart.title,
        left=[*(alarmed.metric for alarmed in chart.alarmed), *chart.other_metrics],
        left_annotations=[
            cloudwatch.HorizontalAnnotation(
                color=COLORS[severity],
                label=f"{severity}: {alarmed.title}",
                value=threshold * alarmed.scale,
            )
            for alarmed in chart.alarmed
            for severity, threshold in alarmed.thresholds.items()
        ],
        width=8,
        height=6,
    )
