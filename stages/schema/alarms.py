"""Thresholds of alarms, and whom they notify."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, FiniteFloat, model_validator

from platform_facts.rules import observed
from stages.schema.part import Part, refuse


def _address(email: str) -> str:
    """Return an e-mail address, as far as a look can tell."""
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s.]+", email):
        raise ValueError(f"{email!r} is not an e-mail address: write for example team@company.com")
    return email


def _topic_arn(arn: str) -> str:
    """Return the ARN of an SNS topic."""
    if not re.fullmatch(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}", arn):
        raise ValueError(
            f"{arn!r} is not the ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME, as "
            "the topic's page in the console has it"
        )
    return arn


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

    email: list[Annotated[str, AfterValidator(_address)]] = []
    """E-mail addresses. SNS sends each a link first, and nothing more until it was followed."""
    topics: list[Annotated[str, AfterValidator(_topic_arn)]] = []
    """ARNs of SNS topics that you have already, in the stage's region. Their policies, and those of
    their keys, must let cloudwatch.amazonaws.com publish."""
