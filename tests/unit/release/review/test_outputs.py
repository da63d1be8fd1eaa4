"""One report in three forms."""

import json
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import jsonschema
import pytest

from release.review import as_json, markdown, page
from release.review.acknowledged import Acknowledgement
from release.review.dangers import Danger
from release.review.differences import Change, StackDifference
from release.review.findings import NOTHING, FindingsChange, compare
from release.review.model_changes import Cause, ModelChange
from release.review.money import Cost, CostChange
from release.review.report import Gap, Report, StageReview
from release.review.summary import summary
from tests.unit.release.review import pictured
from tests.unit.release.review.conftest import validate

COST = Cost(minimum=1000, maximum=5000)
CHANGE = Change(
    stack="prod-text",
    id="Entry",
    type="AWS::SSM::Parameter",
    impact="WILL_UPDATE",
    properties=("Value",),
    before={"Type": "AWS::SSM::Parameter"},
    after={"Type": "AWS::SSM::Parameter"},
)
STAGE = StageReview(
    stage="prod",
    no_base=None,
    sentences=("**prod-text**: updated in place; <b>not bold</b>",),
    dangers=(
        (Danger("prod", "lost_alarms", "prod-text.A", "prod-text loses the alarm A"), None),
        (
            Danger("prod", "lost_rollback", "prod-text", "no rollback"),
            Acknowledgement(
                danger="prod/lost_rollback/prod-text", who="Ada", why="#7", until=date(2026, 12, 1)
            ),
        ),
    ),
    models=(
        ModelChange(
            endpoint="prod-text",
            model="minilm",
            state="rebuilt",
            because=(Cause("file", "models/minilm/export.py"),),
            breaking=("output EMBEDDING is gone",),
        ),
    ),
    costs=(
        CostChange(
            endpoint="prod-text",
            before=Cost(minimum=2056.2, maximum=10281.3),
            after=Cost(
                minimum=None,
                maximum=None,
                unknown=("ml.g6.xlarge",),
            ),
        ),
    ),
    access=("Role may s3:GetObject on Bucket",),
    stacks=(StackDifference("prod-text", (CHANGE,), "[~] Entry\n" * 5000),),
    endpoints=(pictured.changed(pictured.TEXT, pictured.LARGER_TEXT, "changed"),),
)
REPORT = Report(
    base="main",
    stages=(STAGE,),
    findings=FindingsChange(new=("cfn-lint: W1",), fixed=("cfn-lint: W2",), still=()),
)


def test_the_first_line_is_the_summary() -> None:
    cost = CostChange(endpoint="prod-text", before=COST, after=replace(COST, minimum=3056))
    two = (*STAGE.endpoints, pictured.changed(pictured.VISION, pictured.VISION, "unchanged"))
    stage = replace(STAGE, costs=(cost,), endpoints=two, sentences=STAGE.sentences * 2)
    report = replace(REPORT, stages=(stage,), not_judged=("model code",))
    assert markdown.render(report).partition("\n")[0] == (
        "# 1 danger, 1 acknowledged, 1 of 2 endpoints change, at least +2,056 USD a month, "
        "not judged: model code"
    )
    assert json.loads(as_json.render(report))["summary"] in page.render(report)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (COST, replace(COST, minimum=500), "at least -500 USD a month"),
        (COST, replace(COST, maximum=6000), "at most +1,000 USD a month"),
        (None, COST, "at least +1,000 USD a month"),
        (COST, replace(COST, minimum=None), "costs without a price"),
    ],
)
def test_the_summary_says_what_the_change_costs(
    before: Cost | None, after: Cost, said: str
) -> None:
    costs = (CostChange(endpoint="prod-text", before=before, after=after),)
    line = summary(replace(REPORT, stages=(replace(STAGE, costs=costs),)))
    assert line.endswith(f"1 of 1 endpoint changes, {said}")


def test_what_matters_comes_first() -> None:
    text = markdown.render(replace(REPORT, notes=("a file",)))
    order = [
        *("# 1 danger", "Review against main", "## Dangers", "## Endpoints that change"),
        *("**breaking for clients of minilm", "## Also", "## New findings", "<details>"),
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_a_danger_says_who_acknowledged_it_or_how_to() -> None:
    text = markdown.render(REPORT)
    assert "- prod-text loses the alarm A\n  `prod/lost_alarms/prod-text.A`" in text
    assert "- (acknowledged) no rollback\n  acknowledged by Ada until 2026-12-01: #7" in text
    assert [danger.rule for danger in REPORT.open_dangers] == ["lost_alarms"]


def test_one_cause_in_several_endpoints_is_one_danger_with_every_key() -> None:
    names = ("prod-text", "prod-vision", "prod-search")
    lost = tuple(
        (Danger("prod", "lost_alarms", f"{name}.A", f"{name} loses the alarm A"), None)
        for name in names
    )
    other = (Danger("prod", "lost_alarms", "prod-text.B", "prod-text loses the alarm B"), None)
    report = replace(REPORT, stages=(replace(STAGE, dangers=(*lost, other)),))
    text = markdown.render(report)
    assert text.startswith("# 2 dangers, ")
    assert "- prod-text loses the alarm A\n  Likewise: prod-vision, prod-search\n" in text
    assert "- prod-vision loses" not in text
    assert all(f"`prod/lost_alarms/{name}.A`" in text for name in names)
    assert all(f'id="danger/prod/lost_alarms/{name}.A"' in page.render(report) for name in names)


def test_a_text_is_shown_as_it_is() -> None:
    access = "cdk-*-role-* may s3:* on arn:<AWS::Partition>:s3:::`a`"
    report = replace(REPORT, stages=(replace(STAGE, access=(access,), stacks=()),))
    text = markdown.render(report)
    assert "- cdk-\\*-role-\\* may s3:\\* on arn:\\<AWS::Partition>:s3:::\\`a\\`\n" in text
    shown = page.render(report)
    assert "<li>cdk-*-role-* may s3:* on arn:&lt;AWS::Partition&gt;:s3:::`a`</li>" in shown


def test_a_comment_is_no_longer_than_github_takes() -> None:
    assert len(markdown.render(REPORT)) < 65_536


def test_an_amount_without_a_price_is_missing_and_not_guessed() -> None:
    text = markdown.render(REPORT)
    assert "| prod-text | 2,056 → no price | 10,281 → no price |" in text
    assert "Not priced: ml.g6.xlarge." in text
    assert "by prices of 2026-01-01 (the test)" in text


def test_what_costs_together_and_how_much_more() -> None:
    more = replace(COST, maximum=7000)
    costs = (
        CostChange(endpoint="a", before=COST, after=more),
        CostChange(endpoint="b", before=COST, after=COST, runs_on=True),
        CostChange(endpoint="c", before=None, after=COST),
        CostChange(endpoint="d", before=COST, after=None),
    )
    text = markdown.render(replace(REPORT, stages=(replace(STAGE, costs=costs),)))
    assert "| a | 1,000 | 5,000 → 7,000 (+2,000) |" in text
    assert "| b (runs on until it is deleted) | 1,000 | 5,000 |" in text
    assert "| c | 0 → 1,000 (+1,000) |" in text
    assert "| d | 1,000 → 0 (-1,000) |" in text
    assert "| together | 3,000 | 15,000 → 17,000 (+2,000) |" in text


def test_what_costs_the_same_is_left_out() -> None:
    costs = (CostChange(endpoint="a", before=COST, after=COST),)
    text = markdown.render(replace(REPORT, stages=(replace(STAGE, costs=costs),)))
    assert "Money" not in text


def test_a_sum_with_a_part_that_has_no_price_reads_as_no_saving() -> None:
    none = replace(COST, minimum=None, maximum=None, unknown=("ml.x in eu-west-1",))
    costs = (
        CostChange(endpoint="a", before=COST, after=none),
        CostChange(endpoint="b", before=COST, after=replace(COST, minimum=900)),
    )
    text = markdown.render(replace(REPORT, stages=(replace(STAGE, costs=costs),)))
    assert "| together | 2,000 → more than 900 |" in text


@pytest.mark.parametrize(("count", "folded"), [(4, False), (5, True)])
def test_many_parts_of_one_danger_are_folded(count: int, folded: bool) -> None:
    parts = tuple(f"part {number}" for number in range(count))
    danger = Danger("prod", "lost_alarms", "prod-text.0", "prod-text loses alarms", parts)
    text = markdown.render(replace(REPORT, stages=(replace(STAGE, dangers=((danger, None),)),)))
    assert "  - part 0\n  - part 1\n  - part 2\n  - part 3\n" in text
    assert (f"  <summary>all {count}</summary>" in text) == folded


def test_findings_of_all_stages_are_told_together() -> None:
    stage = replace(
        STAGE,
        findings=FindingsChange(new=("checkov: prod-text, A.B: open [CKV_1]",), fixed=(), still=()),
        acknowledged=FindingsChange(new=("cdk-nag: prod-text: IAM5: why",), fixed=(), still=("x",)),
    )
    text = markdown.render(replace(REPORT, stages=(stage,)))
    assert "\n- checkov: prod-text, A.B: open [CKV_1]" in text
    assert "acknowledges: 1 more, 0 fewer than before</summary>" in text
    assert "- new: cdk-nag: prod-text: IAM5: why" in text


def test_json_tells_what_becomes_of_each_endpoint() -> None:
    (stage,) = json.loads(as_json.render(pictured.REPORT))["stages"]
    assert {it["endpoint"]: it["state"] for it in stage["endpoints"]} == {
        "prod-query": "new",
        "prod-search": "removed",
        "prod-text": "changed",
        "prod-vision": "unchanged",
    }


def test_json_has_everything_but_the_templates() -> None:
    content = json.loads(as_json.render(REPORT))
    (stage,) = content["stages"]
    assert stage["dangers"][0]["acknowledged"] is None
    assert stage["dangers"][1]["key"] == "prod/lost_rollback/prod-text"
    assert stage["dangers"][1]["acknowledged"]["until"] == "2026-12-01"
    assert stage["models"][0]["because"] == [{"kind": "file", "name": "models/minilm/export.py"}]
    assert stage["costs"][0]["after"]["unknown"] == ["ml.g6.xlarge"]
    (change,) = stage["stacks"][0]["changes"]
    assert set(change) == {"id", "path", "type", "impact", "properties"}


@pytest.mark.parametrize("key", ["version", "base", "head", "complete", "stages", "not_reviewed"])
def test_the_schema_misses_what_is_left_out(key: str) -> None:
    content = json.loads(as_json.render(REPORT))
    del content[key]
    with pytest.raises(jsonschema.ValidationError, match=f"'{key}' is a required property"):
        validate(json.dumps(content))


class _Reader(HTMLParser):
    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _read(report: Report) -> _Reader:
    reader = _Reader()
    reader.feed(page.render(report))
    assert reader.open == []
    return reader


@pytest.mark.parametrize("report", [REPORT, pictured.REPORT])
def test_the_page_is_whole_fetches_nothing_and_shows_texts_as_texts(report: Report) -> None:
    reader = _read(report)
    tags = [tag for tag, _ in reader.seen]
    assert {"table", "details", "pre", "strong", "code"} <= set(tags)
    assert not {"script", "link", "img", "b"} & set(tags)
    assert not any("src" in attributes for _, attributes in reader.seen)
    assert "url(" not in page.render(report)
    assert "width=device-width" in page.render(report)


@pytest.mark.parametrize("report", [REPORT, pictured.REPORT])
def test_every_link_of_the_page_leads_to_something_on_it(report: Report) -> None:
    seen = _read(report).seen
    ids = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len({*ids}) == len(ids)
    links = [attributes["href"] for tag, attributes in seen if tag == "a"]
    assert links
    assert {f"#{it}" for it in ids} >= {*links}


def test_the_page_begins_with_what_is_not_reviewed_dangers_and_endpoints_that_change() -> None:
    text = page.render(replace(pictured.REPORT, failed=(Gap("dev", "no <base>"),)))
    body = text[text.index("<h1>") :]
    order = [
        *("not everything was reviewed, 1 danger", "<strong>dev</strong>: no &lt;base&gt;"),
        *('id="danger/prod/removed_', "+ prod-query new", "<h2>prod</h2>"),
    ]
    assert [body.index(part) for part in order] == sorted(body.index(part) for part in order)
    assert 'id="prod/prod-vision' not in body


def test_what_somebody_acknowledged_is_no_danger_to_begin_with() -> None:
    shown = page.render(REPORT)
    assert "<h1>1 danger, 1 acknowledged," in shown
    acknowledged = replace(REPORT, stages=(replace(STAGE, dangers=STAGE.dangers[1:]),))
    assert 'class="dangers"' not in page.render(acknowledged)


def test_without_a_base_nothing_is_a_danger_and_the_reason_is_told() -> None:
    alone = replace(STAGE, no_base="there is no commit x", dangers=())
    text = markdown.render(Report(base="x", stages=(alone,), findings=REPORT.findings))
    assert "- **prod, its base**: there is no commit x\n" in text
    assert "\nNot compared, and no danger looked for: prod\n" in text
    assert text.startswith("# not everything was reviewed\n")
    assert "## Danger" not in text


def test_what_could_not_be_reviewed_comes_before_everything() -> None:
    failed = replace(REPORT, failed=(Gap("dev", "SF2: <Role>\nthe templates are in x"),))
    text = markdown.render(failed)
    assert "- **dev**: SF2: \\<Role>\n  the templates are in x\n" in text
    assert text.index("**dev**") < text.index("## Danger")


def test_no_change_is_one_line() -> None:
    same = StageReview(
        stage="prod",
        no_base=None,
        sentences=("**prod-text**: no change",),
        endpoints=(pictured.changed(pictured.TEXT, pictured.TEXT, "unchanged"),),
        dangers=(),
        models=(),
        costs=(CostChange(endpoint="prod-text", before=COST, after=COST),),
        access=(),
        stacks=(),
    )
    text = markdown.render(Report(base="x", stages=(same,), findings=NOTHING))
    assert text == ("# no dangers, no change to any deployed resource\n\nReview against x\n")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["a"], ["a"], ((), (), ("a",))),
        (["a"], ["b"], (("b",), ("a",), ())),
        (["a"], ["a", "a"], (("a",), (), ("a",))),
    ],
)
def test_findings_are_new_fixed_or_still_there(
    before: list[str], after: list[str], expected: tuple[tuple[str, ...], ...]
) -> None:
    found = compare(before, after)
    assert (found.new, found.fixed, found.still) == expected
