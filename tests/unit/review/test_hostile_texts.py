"""Texts of a change that must not become markup, links or mentions in the report."""

import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from review import markdown
from review.acknowledged import Acknowledgement
from review.dangers.danger import Danger
from review.endpoint_changes import EndpointChange
from review.model_changes import ModelChange
from review.money import CostChange
from review.output_files import INCOMPLETE, write_outputs
from review.report import ChangeReport, Gap
from review.stack_differences import StackDifference
from review.template_changes import Note
from tests.unit.review.test_outputs import COST, REPORT, STAGE

ATTACKS = [
    "<img src=https://example.com/x onerror=alert(1)>",
    "a\n\n# No danger found\n\n<script>alert(1)</script>",
    "`</code></details><script>alert(1)</script>",
    "```\n```\n\n<script>alert(1)</script>",
    "![x](https://example.com/x)",
    "[No danger](javascript:alert(1))",
    "a | b | <b>c</b>",
    "</summary></details><form action=https://example.com>",
    "&lt;script&gt; @octocat https://example.com www.example.com",
    "~~~\n# No danger found",
    "1. - # > a",
]


class Elements(HTMLParser):
    """The tags of an HTML page, and the URLs and event handlers in their attributes."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.targets: set[str] = set()
        self.headings = 0
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.headings += tag == "h1"
        self.targets |= {
            str(value) for name, value in attrs if name in ("src", "href", "action")
        } | {name for name, _ in attrs if name.startswith("on")}


def hostile_report(text: str) -> ChangeReport:
    """Return a report whose string fields are all `text`."""
    danger = Danger(
        text, text, rule="lost_alarms", stage=text, details=(text,), consequences=(text,)
    )
    acknowledgement = Acknowledgement(danger="a/b/c", who=text, why=text, until=date(2026, 12, 1))
    model = ModelChange(
        endpoint=text, model=text, state="rebuilt", targets=(text,), breaking_changes=(text,)
    )
    (stack,) = STAGE.stacks
    stage = replace(
        STAGE,
        stage=text,
        endpoints=(
            EndpointChange(text, "new", (text,)),
            EndpointChange(text, "unchanged", (text,)),
        ),
        notes=(Note(text, (text,)),),
        dangers=(danger, replace(danger, acknowledgement=acknowledgement)),
        models=(model,),
        costs=(CostChange(endpoint=text, before=COST, after=None, keeps_running=True),),
        stacks=(StackDifference(text, stack.changes, f"{text}\n````\n{text}"),),
    )
    return replace(
        REPORT,
        base=text,
        notes=(text,),
        code=(text,),
        stages=(stage, replace(stage, stacks=(), dangers=(), notes=())),
        gaps=(Gap(text, f"{text}\n{text}"),),
    )


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_text_is_no_markup_link_or_mention(text: str) -> None:
    comment = markdown.render(hostile_report(text))
    elements = Elements(MarkdownIt("gfm-like", {"linkify": False}).render(comment))
    assert elements.targets == set()
    assert elements.headings == 1
    code = re.sub(r"(?s)(`{3,}).*?\n\1|`[^\n]*`", "", comment)
    assert not re.search(r"@octocat|://|www\.", code)


def test_bidi_control_characters_are_escaped() -> None:
    comment = markdown.render(hostile_report("may now \u202e*:3s\u202c on \u2066x\u2069 \u200f"))
    assert not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", comment)
    assert "may now U+202E" in comment


def test_printed_text_is_no_terminal_command_and_forges_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CI and `tritonsm review` print gaps and dangers by a process of their own."""
    report = hostile_report("a\x1b[2J\u202e\nreview.out/review.md")
    assert write_outputs(report, tmp_path) == INCOMPLETE
    printed = capsys.readouterr().err
    assert r"not reviewed: a\u001b[2J\u202e" in printed
    assert r"danger: a\u001b[2J\u202e" in printed
    assert not re.search("[\x1b\u202e]|^review.out", printed, re.M)


ANY_TEXT = st.text(min_size=1, max_size=60) | st.sampled_from(
    ["\u202e" * 3000, "*" * 3000, "`" * 900, "a\n" * 900]
)


@example(text="\u202e" * 3000, count=30, has_many_details=True)
@given(text=ANY_TEXT, count=st.sampled_from([1, 30]), has_many_details=st.booleans())
@settings(max_examples=4, deadline=None)
def test_any_report_fits_into_a_comment(text: str, count: int, has_many_details: bool) -> None:
    report = hostile_report(text)
    stage = report.stages[0]
    details = tuple(f"{text}{number}" for number in range(count if has_many_details else 1))
    danger = Danger(text, text, rule="lost_alarms", stage=text, consequences=details)
    dangers = tuple(replace(danger, message=f"{text}{number}") for number in range(count))
    large_stage = replace(
        stage,
        dangers=dangers,
        notes=stage.notes * count,
        models=stage.models * count,
        costs=stage.costs * count,
        stacks=stage.stacks * count,
        endpoints=stage.endpoints * count,
    )
    text = markdown.render(
        replace(
            report,
            stages=(large_stage, *report.stages),
            notes=report.notes * count,
            code=report.code * count,
            dangers=dangers,
            gaps=report.gaps * count,
        )
    )
    assert len(text) <= 65_536
    assert text.count("<details>") == text.count("</details>")
