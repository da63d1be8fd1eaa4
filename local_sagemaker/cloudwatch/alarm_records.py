"""Corrections of ministack's DescribeAlarms, DescribeAlarmHistory and ListTagsForResource.

Unlike ministack, AWS returns no tags for an alarm that does not exist, omits optional members that
were not set, and returns StateTransitionedTimestamp. AWS's history has the reason of the old state
and the data of the new state, and no item for the creation of an alarm. Source:
localstack/localstack, tests/aws/services/cloudwatch/test_cloudwatch.snapshot.json. This module
patches private names of the pinned version.
"""

import json
from typing import Any

Record = dict[str, Any]

OPTIONAL_MEMBERS = (
    "AlarmDescription",
    "ExtendedStatistic",
    "Statistic",
    "TreatMissingData",
    "Unit",
)


def patch(cloudwatch: Any) -> None:
    """Patch ministack's module `cloudwatch`."""
    put, set_state = cloudwatch._put_metric_alarm, cloudwatch._set_alarm_state
    list_existing_tags = cloudwatch._list_tags_for_resource

    def put_alarm(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        name = body.get("AlarmName") or cloudwatch._p(params, "AlarmName")
        old_alarm = cloudwatch._alarms.get(name)
        response = put(params, body, is_cbor, is_json)
        alarm = cloudwatch._alarms.get(name)
        if alarm is None or alarm is old_alarm:  # rejected
            return response
        for member in OPTIONAL_MEMBERS:
            if not (body.get(member) or cloudwatch._p(params, member)):
                alarm.pop(member, None)
        if old_alarm is None:
            cloudwatch._history_entries().pop()
        for member, value in (old_alarm or {}).items():
            if member in ("StateReasonData", "StateTransitionedTimestamp"):
                alarm[member] = value
        alarm.setdefault("StateTransitionedTimestamp", alarm["StateUpdatedTimestamp"])
        return response

    def set_alarm_state(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        alarm = cloudwatch._alarms.get(body.get("AlarmName") or cloudwatch._p(params, "AlarmName"))
        if alarm is None:
            return set_state(params, body, is_cbor, is_json)
        old_state = {"stateValue": alarm["StateValue"], "stateReason": alarm["StateReason"]}
        alarm.pop("StateReasonData", None)
        response = set_state(params, body, is_cbor, is_json)
        if alarm["StateValue"] != old_state["stateValue"]:
            alarm["StateTransitionedTimestamp"] = alarm["StateUpdatedTimestamp"]
            _complete_history(cloudwatch._history_entries(), alarm, old_state)
        return response

    def list_tags(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        response = list_existing_tags(params, body, is_cbor, is_json)
        if response[0] != 404:
            return response
        if is_cbor or is_json:
            return (cloudwatch._cbor_ok if is_cbor else cloudwatch._json_ok)({"Tags": []})
        result = "<ListTagsForResourceResult><Tags/></ListTagsForResourceResult>"
        return cloudwatch._xml(200, "ListTagsForResourceResponse", result)

    cloudwatch._put_metric_alarm, cloudwatch._set_alarm_state = put_alarm, set_alarm_state
    cloudwatch._list_tags_for_resource = list_tags


def _complete_history(history: list[Record], alarm: Record, old_state: Record) -> None:
    """Add the old state and the new state's data to the latest history item of an alarm."""
    item = next(item for item in reversed(history) if item["AlarmName"] == alarm["AlarmName"])
    data = json.loads(item["HistoryData"])
    data["oldState"] = old_state
    if "StateReasonData" in alarm:
        data["newState"]["stateReasonData"] = json.loads(alarm["StateReasonData"])
    item["HistoryData"] = json.dumps(data)
