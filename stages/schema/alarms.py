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
        "is not the ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME, as the topic's "
        "page in the console has it",
    ),
]
Thresholds = dict[Literal["warning", "critical"], FiniteFloat]


class AlarmsConfig(Part):
    """Thresholds of a production endpoint's alarms; what is left out keeps its default.

    An empty mapping leaves an alarm out. What each measures: `triton_sagemaker.AlarmThresholds`.
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
    """The targets that the alarms of a production stage notify.

    Addresses of web hooks are no choice: they hold the key to the service behind them, and this
    file is no place for it. Such a service subscribes to a topic.
    """

    email: list[Email] = []
    """E-mail addresses. SNS sends each a link first, and nothing more until it was followed."""
    topics: list[TopicArn] = []
    """ARNs of SNS topics that you have already, in the stage's region. Their policies, and those of
    their keys, must let cloudwatch.amazonaws.com publish."""
