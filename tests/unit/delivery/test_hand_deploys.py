"""Stacks that were deployed after a delivery, but not by one."""

from typing import Any, cast

from delivery.drift import stacks_deployed_by_hand, template_digests
from plan.stage_record import DeliveryOutcome, Event
from tests.unit.delivery.fakes import FakeAws

STACKS = ("prod-models", "prod-text")


def delivery(aws: FakeAws, result: str = DeliveryOutcome.DELIVERED) -> Event:
    event = Event(stage="prod", action="deliver", who="ada", versions={}, commit="c")
    return Event(**{**vars(event), "stacks": digests(aws), "result": result, "ended": "later"})


def digests(aws: FakeAws) -> dict[str, str]:
    return template_digests(cast(Any, aws), STACKS)


def test_deploy_by_hand_is_found(aws: FakeAws) -> None:
    last = delivery(aws)
    assert stacks_deployed_by_hand(cast(Any, aws), last) == []
    aws.template = {"Resources": {"Edited": {}}}
    assert stacks_deployed_by_hand(cast(Any, aws), last) == [*STACKS]
    assert stacks_deployed_by_hand(cast(Any, aws), delivery(aws)) == []


def test_unfinished_delivery_says_nothing_about_templates(aws: FakeAws) -> None:
    last = delivery(aws, DeliveryOutcome.UNFINISHED)
    aws.template = {"Resources": {"Edited": {}}}
    assert stacks_deployed_by_hand(cast(Any, aws), last) == []
    assert stacks_deployed_by_hand(cast(Any, aws), None) == []
