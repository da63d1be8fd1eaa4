"""Events of a stage: written once, and ignored if they are invalid."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from botocore.exceptions import ClientError

from plan import stage_record
from plan.stage_record import DeliveryOutcome, Event
from tests.unit.model_build.fakes import FakeS3


def event(**fields: Any) -> Event:
    versions = {"text/minilm": "a"}
    return Event(stage="prod", action="deliver", who="ada", versions=versions, **fields)


def test_event_without_an_end_is_read_as_started() -> None:
    s3, start = FakeS3(), event()
    stage_record.write(s3.client, "bucket", start)
    (result,) = stage_record.read(s3.client, "bucket")
    assert (result, result.result, result.ended) == (start, DeliveryOutcome.STARTED, None)


def test_events_are_read_newest_first_with_their_results() -> None:
    s3 = FakeS3()
    wrong, newest = event(begun="2026-11-22T03:00:00.000+00:00"), event()
    stage_record.write(s3.client, "bucket", wrong)
    stage_record.write(s3.client, "bucket", wrong.end("wrong", "Y differs"))
    stage_record.write(s3.client, "bucket", newest)
    events = stage_record.read(s3.client, "bucket")
    assert [(event.result, event.message) for event in events] == [
        ("started", ""),
        ("wrong", "Y differs"),
    ]
    assert list(stage_record.read(s3.client, "bucket", latest=1)) == [newest]


def test_event_is_not_overwritten() -> None:
    s3, start = FakeS3(), event()
    stage_record.write(s3.client, "bucket", start)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        stage_record.write(s3.client, "bucket", start)


def put(s3: FakeS3, key: str, content: object) -> None:
    body = json.dumps(content).encode()
    s3.put_object(Bucket="bucket", Key=f"history/{key}", Body=body, IfNoneMatch="*")


LAST = event(begun="9999-12-31T00:00:00.000+00:00", number="0" * 8)


@pytest.mark.parametrize(
    "content",
    [
        ["no", "event"],
        {"begun": "once"},
        {"begun": "9999-12-31T00:00:00"},
        {"versions": ["a"]},
        {"versions": {"a": 1}},
        {"who": None},
        {"commit": ["a"]},
        {"more": "x"},
        {"number": "1" * 8},
    ],
    ids=str,
)
def test_invalid_object_is_ignored_with_a_warning(
    content: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    s3, valid = FakeS3(), event()
    stage_record.write(s3.client, "bucket", valid)
    if isinstance(content, dict):
        content = {**asdict(LAST), **content}
    put(s3, f"{LAST.name}.json", content)
    assert list(stage_record.read(s3.client, "bucket", latest=1)) == [valid]
    assert capsys.readouterr().err == (
        f"! s3://bucket/history/{LAST.name}.json is not an event of this stage: ignored\n"
    )


def test_end_of_another_event_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise `tritonsm retire` could delete the delivered versions."""
    s3, start = FakeS3(), event()
    stage_record.write(s3.client, "bucket", start)
    put(s3, f"{start.name}.ended.json", {**asdict(start.end("delivered")), "versions": {}})
    assert list(stage_record.read(s3.client, "bucket")) == [start]
    assert f"{start.name}.ended.json is not the end of" in capsys.readouterr().err
