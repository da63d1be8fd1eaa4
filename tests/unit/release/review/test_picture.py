"""What a picture shows of each endpoint."""

import re
from datetime import date

from release.review import page, picture
from release.review.acknowledged import Acknowledgement
from release.review.dangers import Danger
from release.review.findings import NOTHING
from release.review.report import Report, StageReview
from tests.unit.release.review.pictured import (
    LARGER_TEXT,
    SEARCH,
    STAGE,
    TEXT,
    VISION,
    changed,
    endpoint,
    model,
    stage,
    variant,
)


def draw(of: StageReview) -> str:
    """Return the page of one stage."""
    return page.render(Report(base="main", stages=(of,), findings=NOTHING))


def boxes(of: StageReview) -> dict[str, str]:
    """Return endpoint -> what its box shows, without markup but for what differs."""
    found = {}
    for box in draw(of).split('<li class="endpoint ')[1:]:
        name = re.search(r'id="prod/([^"]+)"', box)
        assert name
        kept = re.sub(r"<(?!/?(?:del|ins)\b)[^>]+>", "", box.partition(">")[2])
        found[name[1]] = " ".join(kept.partition("A filled square")[0].split())
    return found


def test_each_box_tells_its_state_by_sign_and_word() -> None:
    badges = {name: text.partition(" Triton")[0] for name, text in boxes(STAGE).items()}
    assert badges == {
        "prod-query": "prod-query+ new",
        "prod-search": "prod-search\N{MINUS SIGN} removed",
        "prod-text": "prod-text~ changed",
    }


def test_a_variant_has_its_instances_before_and_after() -> None:
    text = boxes(STAGE)["prod-text"]
    assert "<del>ml.g5.xlarge</del> → <ins>ml.g5.2xlarge</ins>" in text
    assert "<del>2 to 10</del> → <ins>2 to 12</ins> instances" in text
    (vision,) = boxes(stage((changed(None, VISION, "new"),))).values()
    assert "Blue: 90 % of requests ml.g6.2xlarge 2 to 6 instances" in vision
    assert "ml.g6e.xlarge 1 instance Models" in vision


def test_what_leaves_the_app_runs_on() -> None:
    assert "Triton 25.09, runs on until its stack is deleted" in boxes(STAGE)["prod-search"]


def test_models_tell_what_becomes_of_them() -> None:
    assert boxes(STAGE)["prod-text"].endswith("Models + bert new~ minilm rebuilt")


def test_an_instance_that_is_always_there_is_a_filled_square() -> None:
    drawn = draw(stage((changed(TEXT, LARGER_TEXT, "changed"),)))
    assert drawn.count('class="before held"') == 2
    assert drawn.count('class="before"') == 8
    assert drawn.count('class="after held"') == 2
    assert drawn.count('class="after"') == 10


def test_more_instances_than_a_phone_has_room_for_are_not_drawn() -> None:
    many = endpoint("prod-text", variant(counts=(30, 500)))
    drawn = draw(stage((changed(None, many, "new"),)))
    assert drawn.count("<rect") == picture.MOST_SQUARES
    assert "…</text>" in drawn
    assert "30 to 500 instances" in drawn


def test_what_does_not_change_is_not_drawn() -> None:
    two = (changed(VISION, VISION, "unchanged"), changed(TEXT, LARGER_TEXT, "changed"))
    assert list(boxes(stage(two))) == ["prod-text"]


def test_a_variant_that_comes_or_goes_has_a_colour_of_its_own() -> None:
    green = endpoint("prod-vision", VISION.variants["Blue"], variant(name="Red"))
    drawn = draw(stage((changed(VISION, green, "changed"),)))
    shown = re.findall(r'class="variant (\w+)">\n<div>(\w+)', drawn)
    assert shown == [("same", "Blue"), ("removed", "Green"), ("new", "Red")]


def test_a_release_and_a_name_that_change_are_told() -> None:
    later = endpoint("prod-find", release="25.10")
    (text,) = boxes(stage((changed(SEARCH, later, "renamed"),))).values()
    assert "→ renamed <del>Triton 25.09</del> → <ins>Triton 25.10</ins>, was prod-search" in text


def test_without_a_base_no_state_is_known() -> None:
    alone = stage(
        (changed(None, TEXT, "not compared"),),
        (model("prod-text", "minilm", "new"),),
        no_base="there is no commit x",
    )
    (text,) = boxes(alone).values()
    assert text.startswith("prod-text? not compared")
    assert text.endswith("Models ? minilm not compared")


def test_a_box_leads_to_the_dangers_of_its_endpoint_that_are_open() -> None:
    by = Acknowledgement(
        danger="prod/lost_alarms/prod-text", who="Ada", why="#7", until=date(2026, 12, 1)
    )
    dangers = (
        (Danger("prod", "low_minimum", "prod-text.All Traffic", "few"), None),
        (Danger("prod", "lost_alarms", "prod-text", "lost"), by),
        (Danger("prod", "reset_counts", "prod-text-2", "of another"), None),
    )
    drawn = draw(stage((changed(TEXT, LARGER_TEXT, "changed"),), (), dangers))
    links = re.findall('href="(#danger[^"]+)">([^<]+)', drawn)
    assert links == [("#danger/prod/low_minimum/prod-text.All%20Traffic", "danger: low minimum")]


def test_names_are_texts() -> None:
    odd = endpoint("prod-<b>", variant("<i>"))
    drawn = draw(stage((changed(None, odd, "new"),), (model("prod-<b>", "<u>", "new"),)))
    assert not re.search("<[biu]>", drawn)


def test_a_stage_without_endpoints_has_no_picture() -> None:
    assert "<figure" not in draw(stage(()))
