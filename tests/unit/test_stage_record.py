"""The record of a stage: what was written stays, and what somebody else wrote is left out."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from botocore.exceptions import ClientError

import stage_record
from stage_record import DeliveryOutcome, Event
from tests.unit.model_build.fakes import FakeS3


def event(**more: str) -> Event:
    return Event(stage="prod", action="deliver", who="ada", versions={"text/minilm": "a"}, **more)


def test_unfinished_event_has_result_started() -> None:
    """As one that was killed does."""
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    (result,) = stage_record.read(s3.client, "bucket")
    assert (result, result.result, result.ended) == (begun, DeliveryOutcome.STARTED, None)


def test_earlier_results_stay_in_the_record() -> None:
    s3 = FakeS3()
    wrong, then = event(begun="2026-11-22T03:00:00.000+00:00"), event()
    stage_record.write(s3.client, "bucket", wrong)
    stage_record.write(s3.client, "bucket", wrong.end("wrong", "Y differs"))
    stage_record.write(s3.client, "bucket", then)
    result = list(stage_record.read(s3.client, "bucket"))
    assert [(each.result, each.message) for each in result] == [
        ("started", ""),
        ("wrong", "Y differs"),
    ]
    assert list(stage_record.read(s3.client, "bucket", latest=1)) == [then]


def test_event_is_not_overwritten() -> None:
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        stage_record.write(s3.client, "bucket", begun)


def put(s3: FakeS3, key: str, content: object) -> None:
    body = json.dumps(content).encode()
    s3.put_object(Bucket="bucket", Key=f"history/{key}", Body=body, IfNoneMatch="*")


@pytest.mark.parametrize(
    "content",
    [
        9999,
        ["no", "event"],
        {"stage": "prod"},
        {"begun": 9999},
        {"begun": "once"},
        {"versions": ["a"]},
        {"versions": {"a": 1}},
        {"who": None},
        {"commit": ["a"]},
        {"more": "x"},
    ],
    ids=str,
)
def test_invalid_objects_are_skipped_with_a_warning(
    content: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    s3, good = FakeS3(), event()
    stage_record.write(s3.client, "bucket", good)
    if isinstance(content, dict) and "stage" not in content:
        content = {**asdict(good), **content}
    put(s3, "99991231T000000.000000Z-0.json", content)
    assert list(stage_record.read(s3.client, "bucket", latest=1)) == [good]
    assert capsys.readouterr().err == (
        "! s3://bucket/history/99991231T000000.000000Z-0.json is not an event of this stage: left "
        "out\n"
    )


def test_end_with_other_versions_is_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    """Its versions could be retired."""
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    put(s3, f"{begun.name}.ended.json", {**asdict(begun.end("delivered")), "versions": {}})
    assert list(stage_record.read(s3.client, "bucket")) == [begun]
    assert f"{begun.name}.ended.json is not the end of" in capsys.readouterr().err
