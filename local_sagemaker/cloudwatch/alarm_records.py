"""Members of DescribeAlarms and DescribeAlarmHistory that differ in ministack.

AWS omits optional members that were not set, returns StateTransitionedTimestamp, has the old
state's reason and the new state's data in the history, and no history item for a new alarm. Source:
localstack/localstack, tests/aws/services/cloudwatch/test_cloudwatch.snapshot.json. This module
patches private names of the pinned version.
"""

import json
from typing import Any

Record = dict[str, Any]

OPTIONAL = ("AlarmDescription", "ExtendedStatistic", "Statistic", "TreatMissingData", "Unit")


def install(cloudwatch: Any) -> None:
    """Patch ministack's module `cloudwatch`."""
    put, set_state = cloudwatch._put_metric_alarm, cloudwatch._set_alarm_state

    def put_alarm(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        name = body.get("AlarmName") or cloudwatch._p(params, "AlarmName")
        before = cloudwatch._alarms.get(name)
        answer = put(params, body, is_cbor, is_json)
        alarm = cloudwatch._alarms.get(name)
        if alarm is None or alarm is before:  # rejected
            return answer
        for member in OPTIONAL:
            if not (body.get(member) or cloudwatch._p(params, member)):
                alarm.pop(member, None)
        if before is None:
            cloudwatch._history_entries().pop()
        for member, value in (before or {}).items():
            if member in ("StateReasonData", "StateTransitionedTimestamp"):
                alarm[member] = value
        alarm.setdefault("StateTransitionedTimestamp", alarm["StateUpdatedTimestamp"])
        return answer

    def set_alarm_state(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        alarm = cloudwatch._alarms.get(body.get("AlarmName") or cloudwatch._p(params, "AlarmName"))
        if alarm is None:
            return set_state(params, body, is_cbor, is_json)
        old = {"stateValue": alarm["StateValue"], "stateReason": alarm["StateReason"]}
        alarm.pop("StateReasonData", None)
        answer = set_state(params, body, is_cbor, is_json)
        if alarm["StateValue"] != old["stateValue"]:
            alarm["StateTransitionedTimestamp"] = alarm["StateUpdatedTimestamp"]
            _complete(cloudwatch._history_entries(), alarm, old)
        return answer

    cloudwatch._put_metric_alarm, cloudwatch._set_alarm_state = put_alarm, set_alarm_state


def _complete(history: list[Record], alarm: Record, old: Record) -> None:
    """Add the old state and the new state's data to the latest history item of an alarm."""
    item = next(item for item in reversed(history) if item["AlarmName"] == alarm["AlarmName"])
    data = json.loads(item["HistoryData"])
    data["oldState"] = old
    if "StateReasonData" in alarm:
        data["newState"]["stateReasonData"] = json.loads(alarm["StateReasonData"])
    item["HistoryData"] = json.dumps(data)
