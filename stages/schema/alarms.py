"""When alarms go off, and who hears them."""

import re
from math import inf
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, FiniteFloat, model_validator

from stages.schema.part import Found, Part, refuse

MAX_ALARM_ACTIONS = 5
"""CloudWatch user guide, cloudwatch_limits: actions of an alarm; the quota cannot be changed."""


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
    def _can_be_meant(self) -> Self:
        refuse([it for name, limits in self if limits for it in _senseless(name, limits)])
        return self


def _senseless(measure: str, limits: Thresholds) -> Found:
    """Yield what no value of a measure reaches, and a warning that comes after the alarm."""
    low_is_bad = measure.endswith("_below")
    most = _most(measure.removesuffix("_below"))
    for severity, limit in limits.items():
        if not 0 <= limit <= most:
            wanted = "0 or more" if most == inf else f"0 to {most:g}"
            yield (measure, severity), f"{limit:g} is out of range: write {wanted}"
    warning, critical = limits.get("warning"), limits.get("critical")
    if warning is None or critical is None:
        return
    if warning < critical if low_is_bad else warning > critical:
        side = "less" if low_is_bad else "more"
        yield (
            (measure, "warning"),
            f"{warning:g} is {side} than critical, {critical:g}, and would come after it: exchange "
            "them",
        )


def _most(measure: str) -> float:
    """Return what a measure is at its most, by the unit that ends its name."""
    if measure.endswith("_rate"):
        return 1
    return 100 if measure.endswith("_percent") else inf


class NotifyConfig(Part):
    """Who hears the alarms of a production stage.

    Addresses of web hooks are no choice: they hold the key to the service behind them, and this
    file is no place for it. Such a service subscribes to a topic.
    """

    email: list[Annotated[str, AfterValidator(_address)]] = []
    """E-mail addresses. SNS sends each a link first, and nothing more until it was followed."""
    topics: list[Annotated[str, AfterValidator(_topic_arn)]] = []
    """ARNs of SNS topics that you have already, in the stage's region. Their policies, and those of
    their keys, must let cloudwatch.amazonaws.com publish."""
