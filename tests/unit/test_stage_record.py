"""The record of a stage: what was written stays."""

import json
from dataclasses import asdict

import pytest
from botocore.exceptions import ClientError

import stage_record
from stage_record import Event, Outcome
from tests.unit.model_build.fakes import FakeS3


def event(**more: str) -> Event:
    return Event(stage="prod", action="deliver", who="ada", versions={"text/minilm": "a"}, **more)


def test_an_event_that_did_not_end_stays_as_it_began() -> None:
    """As one that was killed does."""
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    (found,) = stage_record.read(s3.client, "bucket")
    assert (found, found.result, found.ended) == (begun, Outcome.STARTED, None)


def test_a_wrong_delivery_stays_when_the_next_one_begins() -> None:
    s3 = FakeS3()
    wrong, then = event(begun="2026-11-22T03:00:00.000+00:00"), event()
    stage_record.write(s3.client, "bucket", wrong)
    stage_record.write(s3.client, "bucket", wrong.end("wrong", "Y differs"))
    stage_record.write(s3.client, "bucket", then)
    found = list(stage_record.read(s3.client, "bucket"))
    assert [(it.result, it.message) for it in found] == [("started", ""), ("wrong", "Y differs")]
    assert list(stage_record.read(s3.client, "bucket", latest=1)) == [then]


def test_what_is_written_is_not_written_over() -> None:
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        stage_record.write(s3.client, "bucket", begun)


@pytest.mark.parametrize(
    "change",
    [{"begun": 7}, {"begun": "once"}, {"versions": ["a"]}, {"versions": {"a": 1}}, {"who": None},
     {"commit": ["a"]}, {"more": "x"}],
)  # fmt: skip
def test_what_is_no_event_is_left_out(change: dict[str, object]) -> None:
    s3, begun = FakeS3(), event()
    stage_record.write(s3.client, "bucket", begun)
    junk = json.dumps({**asdict(begun), **change}).encode()
    s3.objects[f"{stage_record.FOLDER}x.json"] = {"Body": junk}
    s3.objects[f"{stage_record.FOLDER}y.json"] = {"Body": b"[" * 99_999}
    assert list(stage_record.read(s3.client, "bucket")) == [begun]
