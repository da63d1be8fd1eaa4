"""Evaluation of ministack's alarms.

ministack itself evaluates an alarm only when data arrives, without periods, and uses the data of
all metrics with the name, whatever their dimensions. This module uses private names of the pinned
version: the stores of alarms and metrics, the statistics, and the setter of an alarm's state.
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
"""Minimum pause between two evaluations, in real seconds."""

Record = dict[str, Any]

_log = logging.getLogger(__name__)


class Evaluator:
    """The evaluator of alarms, which replaces that of ministack's module `cloudwatch`.

    A period of 60 seconds lasts 60 / `speed` real seconds. Data points have real timestamps.
    """

    def __init__(self, cloudwatch: Any, *, speed: float) -> None:
        self._cloudwatch, self._speed = cloudwatch, speed
        self._alarms: dict[str, tuple[Record, float]] = {}
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
        alarms = {}
        for alarm in list(self._cloudwatch._alarms.values()):
            name = alarm["AlarmName"]
            old_alarm, evaluate_after = self._alarms.get(name, (alarm, now))
            if old_alarm is not alarm:
                evaluate_after = now + MINUTE / self._speed
            alarms[name] = alarm, evaluate_after
            if now >= evaluate_after and (alarm.get("MetricName") or alarm.get("Metrics")):
                try:
                    self._evaluate(alarm, now)
                except Exception:  # an invalid alarm must not stop the evaluation of the others
                    _log.exception("alarm %s", name)
        self._alarms = alarms

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
            data_by_metric = {name: data(metric) for name, metric in metrics}
            values = expression.values(data_by_metric, range(first, last + 1))
        else:
            values, counts = data(alarm), data(alarm, statistic="SampleCount")
        state = condition.state([values.get(period) for period in range(first, last + 1)])
        if state is None:
            return
        newest_first = sorted(values, reverse=True)[: condition.periods]
        evaluated = [
            _without_none(
                timestamp=_iso(period * width),
                sampleCount=counts.get(period),
                value=values.get(period),
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
            recentDatapoints=[values[period] for period in reversed(newest_first)],
            threshold=condition.threshold,
            evaluatedDatapoints=evaluated,
        )
        if state == alarm["StateValue"]:
            alarm["StateReasonData"] = json.dumps(reason_data)  # Application Auto Scaling reads it
            return
        points = [(_short(period * width), values[period]) for period in newest_first]
        change = {
            "AlarmName": alarm["AlarmName"],
            "StateValue": state,
            "StateReason": condition.reason(state, points),
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
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "+0000"


def _short(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d/%m/%y %H:%M:%S}"
