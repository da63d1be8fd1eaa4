"""Evaluation of ministack's alarms on ministack's metrics.

ministack itself evaluates an alarm only when data arrives, without periods, and on all data of the
metric's name, with any dimensions. This module uses private names of the pinned version: the stores
of alarms and metrics, the statistics, and the setter of an alarm's state.
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

INTERVAL_SECONDS = 10
"""Evaluation interval. Alarms with periods of 10, 20 and 30 seconds are "evaluated every 10
seconds", others "every minute" (user guide, "Alarm evaluation"), for which a shorter interval makes
no difference."""
MINUTE = 60
SHORTEST_PAUSE = 0.05
"""Minimum of real seconds between two evaluations."""

Record = dict[str, Any]

_log = logging.getLogger(__name__)


class Evaluator:
    """Evaluates the alarms of ministack's module `cloudwatch` and disables its own evaluator.

    A period of 60 seconds lasts 60 / `speed` real seconds. Data points have real timestamps.
    """

    def __init__(self, cloudwatch: Any, *, speed: float) -> None:
        self._cloudwatch, self._speed = cloudwatch, speed
        self._known: dict[str, tuple[Record, float]] = {}
        cloudwatch._evaluate_alarm = lambda _: None

    async def run(self) -> None:
        """Evaluate the alarms until the task is cancelled."""
        while True:
            await asyncio.sleep(max(INTERVAL_SECONDS / self._speed, SHORTEST_PAUSE))
            self.evaluate(time.time())

    def evaluate(self, now: float) -> None:
        """Set the state of every alarm for the data at the time `now`.

        A changed alarm keeps its state for a minute: "When you update an existing alarm, its state
        is left unchanged" (API reference, PutMetricAlarm) until it is evaluated.
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
                except Exception:  # one invalid alarm must not prevent the evaluation of the others
                    _log.exception("alarm %s", name)
        self._known = known

    def _evaluate(self, alarm: Record, now: float) -> None:
        condition = condition_of(alarm)
        expression = Expression.parse(alarm["Metrics"]) if "Metrics" in alarm else None
        period_seconds = expression.period if expression else alarm["Period"]
        width = period_seconds / self._speed
        last = math.floor(now / width) - 1  # the last complete period
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
    """Return an alarm's condition; DatapointsToAlarm defaults to EvaluationPeriods."""
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
