from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.watch.events import MAX_EVENTS, MAX_MESSAGE_LENGTH, Events

MODEL = "m-0123456789ab.tar.gz"


def add(events: Events, message: str = "message", **fields: float) -> None:
    events.add(DashboardEvent(EventKind.ALARM, message, "text", **fields))  # type: ignore[arg-type]


def test_event_fields() -> None:
    events = Events(clock=lambda: 7.0)
    events.add(
        DashboardEvent(EventKind.MODEL_LOADED, "m was loaded.", "text", "only", "i-0", MODEL)
    )
    assert events.after(0) == [
        {
            "sequence": 1,
            "time": 7.0,
            "kind": "model loaded",
            "endpoint": "text",
            "variant": "only",
            "instance": "i-0",
            "model": "m-0123456789ab.tar.gz",
            "name": "m",
            "message": "m was loaded.",
        }
    ]


def test_late_event_keeps_its_time() -> None:
    events = Events(clock=lambda: 7.0)
    add(events, time=5.0)
    assert [event["time"] for event in events.after(0)] == [5.0]


def test_events_after_a_sequence_number() -> None:
    events = Events()
    for message in "abc":
        add(events, message)
    assert [event["message"] for event in events.after(1)] == ["b", "c"]
    assert events.after(3) == []


def test_number_of_events_and_message_length_are_limited() -> None:
    events = Events()
    for _ in range(MAX_EVENTS + 1):
        add(events, "x" * (MAX_MESSAGE_LENGTH + 1))
    latest = events.after(0)
    assert (len(latest), latest[0]["sequence"]) == (MAX_EVENTS, 2)
    assert latest[0]["message"] == "x" * (MAX_MESSAGE_LENGTH - 1) + "…"
