"""Evaluates the alarms that ministack keeps, on the metrics that it keeps.

ministack evaluates an alarm when data comes, on all data of a name whatever its dimensions, without
periods, and never where none comes. These are private names of the pinned version: its stores of
alarms and metrics, its statistics, and what it does when an alarm's state is set.
"""

import asyncio
import json
import logging
import math
import time
from datetime import UTC, datetime
from functools import partial
from typing import Any

from local_sagemaker.cloudwatch.data import statistic_by_period, statistic_of
from local_sagemaker.cloudwatch.evaluation import Condition
from local_sagemaker.cloudwatch.expressions import Expression

EVERY_SECONDS = 10
"""Alarms of 10, 20 and 30 seconds are "evaluated every 10 seconds", others "every minute" (user
guide, "Alarm evaluation"); to look at those too more often changes nothing, unless they have been
changed."""
MINUTE = 60
SHORTEST_PAUSE = 0.05
"""Seconds between two evaluations at any speed."""

Record = dict[str, Any]

_log = logging.getLogger(__name__)


class Evaluator:
    """The alarms of ministack's module `cloudwatch`, whose own evaluator is switched off.

    At a `speed` other than 1 a period of 60 seconds lasts 60 / speed of them. Data has the time at
    which it was published, so that whoever asks for it by time gets what was then.
    """

    def __init__(self, cloudwatch: Any, *, speed: float) -> None:
        self._cloudwatch, self._speed = cloudwatch, speed
        self._known: dict[str, tuple[Record, float]] = {}
        cloudwatch._evaluate_alarm = lambda _: None

    async def run(self) -> None:
        """Evaluate for ever."""
        while True:
            await asyncio.sleep(max(EVERY_SECONDS / self._speed, SHORTEST_PAUSE))
            self.evaluate(time.time())

    def evaluate(self, now: float) -> None:
        """Give every alarm the state that its data has at a time.

        One that was changed keeps its state for a minute: "When you update an existing alarm, its
        state is left unchanged" (API reference, PutMetricAlarm) until it is evaluated.
        """
        known = {}
        for alarm in list(self._cloudwatch._alarms.values()):
            name = alarm["AlarmName"]
            before, kept_until = self._known.get(name, (alarm, now))
            if before is not alarm:
                kept_until = now + MINUTE / self._speed
            known[name] = alarm, kept_until
            if now >= kept_until and (alarm.get("MetricName") or alarm.get("Metrics")):
                try:
                    self._evaluate(alarm, now)
                except Exception:  # one that cannot be evaluated is none of the others' business
                    _log.exception("alarm %s", name)
        self._known = known

    def _evaluate(self, alarm: Record, now: float) -> None:
        condition = condition_of(alarm)
        expression = Expression.of(alarm["Metrics"]) if "Metrics" in alarm else None
        period_seconds = expression.period if expression else alarm["Period"]
        width = period_seconds / self._speed
        last = math.floor(now / width) - 1  # the current one is not complete
        first = last - condition.range + 1
        data = partial(statistic_by_period, self._cloudwatch, width=width, first=first, last=last)
        counts: dict[int, float] = {}
        if expression:
            metrics = expression.metrics.items()
            by_name = {name: data(metric) for name, metric in metrics}
            by_period = expression.values(by_name, range(first, last + 1))
        else:
            by_period, counts = data(alarm), data(alarm, statistic="SampleCount")
        state = condition.state([by_period.get(period) for period in range(first, last + 1)])
        if state is None:
            return
        newest_first = sorted(by_period, reverse=True)[: condition.periods]
        evaluated = [
            _without_none(
                timestamp=_iso(period * width),
                sampleCount=counts.get(period),
                value=by_period.get(period),
            )
            for period in newest_first or range(last, last - condition.periods, -1)
        ]
        reason_data = _without_none(
            version="1.0",
            queryDate=_iso(now),
            startDate=evaluated[-1]["timestamp"] if newest_first else None,
            unit=alarm.get("Unit"),
            statistic=None if expression else statistic_of(alarm),
            period=period_seconds,
            recentDatapoints=[by_period[period] for period in reversed(newest_first)],
            threshold=condition.threshold,
            evaluatedDatapoints=evaluated,
        )
        if state == alarm["StateValue"]:
            alarm["StateReasonData"] = json.dumps(reason_data)  # Application Auto Scaling reads it
            return
        shown = [(_short(period * width), by_period[period]) for period in newest_first]
        change = {
            "AlarmName": alarm["AlarmName"],
            "StateValue": state,
            "StateReason": condition.reason(state, shown),
            "StateReasonData": json.dumps(reason_data),
        }
        self._cloudwatch._set_alarm_state({}, change, is_cbor=False, is_json=True)


def _without_none(**members: Any) -> Record:
    return {name: value for name, value in members.items() if value is not None}


def condition_of(alarm: Record) -> Condition:
    """Return an alarm's condition; all data points, unless it has a number of them."""
    periods = alarm["EvaluationPeriods"]
    return Condition(
        comparison=alarm["ComparisonOperator"],
        threshold=alarm["Threshold"],
        periods=periods,
        datapoints=alarm.get("DatapointsToAlarm") or periods,
        missing=alarm.get("TreatMissingData") or "missing",
    )


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}+0000"


def _short(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d/%m/%y %H:%M:%S}"
