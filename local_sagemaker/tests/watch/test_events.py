from local_sagemaker.happenings import Happening, HappeningKind
from local_sagemaker.watch.events import MOST, MOST_MESSAGE, Events

MODEL = "m-0123456789ab.tar.gz"


def tell(events: Events, message: str = "it", **more: float) -> None:
    events.tell(Happening(HappeningKind.ALARM, message, "text", **more))  # type: ignore[arg-type]


def test_an_event_has_a_number_a_time_and_what_happened_to_what() -> None:
    events = Events(clock=lambda: 7.0)
    events.tell(
        Happening(HappeningKind.MODEL_LOADED, "m was loaded.", "text", "only", "i-0", MODEL)
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


def test_what_was_learnt_late_has_the_time_at_which_it_happened() -> None:
    events = Events(clock=lambda: 7.0)
    tell(events, time=5.0)
    assert [each["time"] for each in events.after(0)] == [5.0]


def test_later_ones_are_asked_for_by_number() -> None:
    events = Events()
    for message in "abc":
        tell(events, message)
    assert [each["message"] for each in events.after(1)] == ["b", "c"]
    assert events.after(3) == []


def test_the_latest_are_kept_and_long_messages_cut() -> None:
    events = Events()
    for _ in range(MOST + 1):
        tell(events, "x" * (MOST_MESSAGE + 1))
    kept = events.after(0)
    assert (len(kept), kept[0]["sequence"]) == (MOST, 2)
    assert kept[0]["message"] == "x" * (MOST_MESSAGE - 1) + "…"
