"""Alarm thresholds and notification targets."""

from typing import Annotated, Literal, Self

from pydantic import FiniteFloat, model_validator

from platform_facts.rules import monitoring
from stages.schema.section import Section, TextPattern, raise_problems

Email = Annotated[
    str,
    TextPattern(
        r"[^@\s]+@[^@\s]+\.[^@\s.]+",
        "is not an e-mail address: write for example team@company.com",
    ),
]
TopicArn = Annotated[
    str,
    TextPattern(
        r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
        "is not the ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME, as shown "
        "on the topic's page in the AWS console",
    ),
]
Thresholds = dict[Literal["warning", "critical"], FiniteFloat]


class AlarmsConfig(Section):
    """Thresholds of a production endpoint's alarms; omitted alarms have default thresholds.

    `{}` disables an alarm. `triton_sagemaker.AlarmThresholds` describes the metrics.
    """

    server_error_rate: Thresholds | None = None
    client_error_rate: Thresholds | None = None
    model_error_rate: Thresholds | None = None
    model_latency_p50_ms: Thresholds | None = None
    model_latency_p99_ms: Thresholds | None = None
    gpu_memory_percent: Thresholds | None = None
    memory_percent: Thresholds | None = None
    disk_percent: Thresholds | None = None
    cache_hit_rate_below: Thresholds | None = None
    loading_wait_max_ms: Thresholds | None = None
    unloads_per_minute: Thresholds | None = None
    loaded_models_below: Thresholds | None = None

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        thresholds = {name: levels for name, levels in self if levels}
        raise_problems(monitoring.check_thresholds(thresholds), depth=1)
        return self


class NotifyConfig(Section):
    """Notification targets for the alarms of a production stage.

    Webhook URLs are not supported because they contain credentials. Subscribe the service to an SNS
    topic instead.
    """

    email: list[Email] = []
    """E-mail addresses. SNS sends a confirmation link first; alarms arrive only after
    confirmation."""
    topics: list[TopicArn] = []
    """ARNs of existing SNS topics in the stage's region. The policies of the topics and of their
    KMS keys must allow cloudwatch.amazonaws.com to publish."""
