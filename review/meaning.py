"""Values that are written in other words, and mean the same."""

import re
from typing import Any

from aws_croniter import AwsCroniter
from aws_croniter.exceptions import AwsCroniterExpressionError

UNORDERED = {
    "Actions", "AlarmActions", "Alarms", "DependsOn", "Dimensions", "InsufficientDataActions",
    "ManagedPolicyArns", "OKActions", "ScheduledActions", "SecurityGroupEgress",
    "SecurityGroupIngress", "Tags",
}  # fmt: skip
"""Names of lists whose order has no effect, and replaces no resource. The order of subnets, for
example, replaces a model (template reference, AWS::SageMaker::Model, VpcConfig)."""
UTC_NAMES = {"UTC", "GMT", "Etc/UTC", "Etc/GMT"}
"""Names of one time zone (time zone database, etcetera and backward)."""
SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "D": 86400, "H": 3600, "M": 60, "S": 1}
RATE = re.compile(r"rate\((\d+) (day|hour|minute)s?\)")
ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
"""A duration of ISO 8601, without months and years."""


def in_the_same_words(before: Any, after: Any, name: str = "") -> Any:
    """Return `after` with the words of `before` in every part that means the same.

    `name` is the key that has the values.
    """
    match before, after:
        case dict(), dict():
            return {
                key: in_the_same_words(before[key], value, str(key)) if key in before else value
                for key, value in after.items()
            }
        case list(), list() if name in UNORDERED and _sorted(before) == _sorted(after):
            return before
        case list(), list() if len(before) == len(after):
            pairs = zip(before, after, strict=True)
            return [in_the_same_words(old, new, name) for old, new in pairs]
        case str(), str() if before != after and _meaning(before, name) == _meaning(after, name):
            return before
    return after


def _sorted(values: list[Any]) -> list[str]:
    return sorted(map(repr, values))


def _meaning(text: str, name: str) -> object:
    """Return what a text means: equal for all texts that mean the same."""
    if rate := RATE.fullmatch(text):
        return "every", int(rate[1]) * SECONDS[rate[2]]
    if text.startswith("cron(") and text.endswith(")"):
        try:
            calendar = vars(AwsCroniter(text[5:-1].upper()))
        except (AwsCroniterExpressionError, ValueError):
            return text
        return {key: value for key, value in calendar.items() if key not in ("cron", "rules")}
    duration = ISO_DURATION.fullmatch(text)
    if duration and any(duration.groups()):
        amounts = zip(duration.groups(), "DHMS", strict=True)
        return "for", sum(int(amount or 0) * SECONDS[unit] for amount, unit in amounts)
    if name == "Expression" and not {*text} & {"'", '"'}:  # metric math
        return "".join(text.split())
    if name in ("Timezone", "timezone") and text in UTC_NAMES:
        return "UTC"
    return text
