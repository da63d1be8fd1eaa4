"""Alarm thresholds and notification targets."""

from typing import Annotated, Literal, Self

from pydantic import FiniteFloat, model_validator

from platform_facts.rules import observed
from stages.schema.part import Part, WrittenAs, refuse

Email = Annotated[
    str,
    WrittenAs(
        r"[^@\s]+@[^@\s]+\.[^@\s.]+",
        "is not an e-mail address: write for example team@company.com",
    ),
]
TopicArn = Annotated[
    str,
    WrittenAs(
        r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
        "is not the ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME, as shown "
        "on the topic's page in the AWS console",
    ),
]
Thresholds = dict[Literal["warning", "critical"], FiniteFloat]


class AlarmsConfig(Part):
    """Thresholds of a production endpoint's alarms; omitted alarms have default thresholds.

    `{}` disables an alarm. `triton_sagemaker.AlarmThresholds` describes the metrics.
    """

    server_error_rate: Thresholds | None = None
    client_error_rate: Thresholds | None = None
    model_error_rate: Thresholds | None = None
    model_latency_p50_ms: Thresholds | None = None
    model_latency_p99_ms: Thresholds | None = None
    gpu_memory_percent: Thresholds | None = None
    disk_percent: Thresholds | None = None
    cache_hit_rate_below: Thresholds | None = None
    loading_wait_max_ms: Thresholds | None = None
    unloads_per_minute: Thresholds | None = None
    loaded_models_below: Thresholds | None = None

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        refuse(observed.thresholds({name: levels for name, levels in self if levels}), depth=1)
        return self


class NotifyConfig(Part):
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
