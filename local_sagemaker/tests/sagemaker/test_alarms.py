from typing import Any

from local_sagemaker.sagemaker.alarms import alarm_states


class FakeCloudWatch:
    def describe_alarms(self, **request: Any) -> dict[str, Any]:
        # Without AlarmTypes, CloudWatch returns only metric alarms.
        assert request["AlarmTypes"] == ["MetricAlarm", "CompositeAlarm"]
        assert request["AlarmNames"] == ["errors", "any", "none"]
        return {
            "MetricAlarms": [{"AlarmName": "errors", "StateValue": "OK"}],
            "CompositeAlarms": [{"AlarmName": "any", "StateValue": "ALARM"}],
        }


def test_states_of_metric_and_composite_alarms() -> None:
    states = alarm_states(FakeCloudWatch(), ("errors", "any", "none"))
    assert states == {"errors": "OK", "any": "ALARM"}
