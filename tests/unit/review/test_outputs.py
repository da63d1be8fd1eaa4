"""A report as Markdown and as JSON."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from review import markdown
from review.acknowledged import Acknowledgement
from review.dangers.danger import Danger
from review.endpoint_changes import EndpointChange
from review.model_changes import ModelChange
from review.money import Cost, CostChange
from review.output_files import to_json, write_outputs
from review.report import ChangeReport, Gap
from review.stack_differences import ResourceChange, StackDifference
from review.stage_review import StageReview

COST = Cost(minimum=1000, maximum=5000)
UNPRICED = Cost(minimum=None, maximum=None, missing_prices=("ml.g6.xlarge in us-east-1",))
UNCHANGED_ENDPOINT = EndpointChange("prod-vision", "unchanged", ("no change",))
CHANGE = ResourceChange(
    stack="prod-text",
    id="Entry",
    type="Custom::TritonCatalog",
    impact="WILL_UPDATE",
    properties=("Digest",),
    before={"Type": "Custom::TritonCatalog"},
    after={"Type": "Custom::TritonCatalog"},
)


def danger(
    subject: str, message: str, rule: str = "lost_alarms", stage: str = "prod", **fields: Any
) -> Danger:
    return Danger(subject, message, rule=rule, stage=stage, **fields)


ACKNOWLEDGEMENT = Acknowledgement(
    danger="prod/lost_rollback/prod-text", who="Ada", why="#7", until=date(2026, 12, 1)
)
STAGE = StageReview(
    stage="prod",
    endpoints=(EndpointChange("prod-text", "changed", ("updated in place",)),),
    dangers=(
        danger("prod-text.A", "prod-text loses the alarm A"),
        danger("prod-text", "no rollback", "lost_rollback", acknowledgement=ACKNOWLEDGEMENT),
    ),
    models=(
        ModelChange(
            endpoint="prod-text",
            model="minilm",
            state="rebuilt",
            breaking_changes=("output EMBEDDING is removed",),
        ),
    ),
    costs=(
        CostChange(
            endpoint="prod-text", before=Cost(minimum=2056.2, maximum=10281.3), after=UNPRICED
        ),
    ),
    stacks=(StackDifference("prod-text", (CHANGE,), "[~] Entry\n" * 5000),),
)
REPORT = ChangeReport(
    base="main",
    stages=(STAGE,),
)


def render(report: ChangeReport = REPORT, **stage: Any) -> str:
    """Return the Markdown of a report with changed attributes of its stage."""
    return markdown.render(replace(report, stages=(replace(STAGE, **stage),)))


def test_summary_is_the_first_line() -> None:
    cost = CostChange(endpoint="prod-text", before=COST, after=replace(COST, minimum=3056))
    stage = replace(STAGE, costs=(cost,), endpoints=(*STAGE.endpoints, UNCHANGED_ENDPOINT))
    report = replace(REPORT, stages=(stage,), code=("**models/minilm** (+2 -0 lines): export.py",))
    line = (
        "1 danger, 1 acknowledged, 1 of 2 endpoints change, Triton loads minilm only in its build, "
        "at least +2,056 USD a month, "
        "code of models/minilm changes, which people must judge"
    )
    assert markdown.render(report).partition("\n")[0] == f"# {line}"
    assert json.loads(to_json(report))["summary"] == line


def test_danger_shows_acknowledgement_or_its_key() -> None:
    text = markdown.render(REPORT)
    assert text.index("- prod-text loses the alarm A\n") < text.index(
        "`prod/lost_alarms/prod-text.A`"
    )
    assert "- (acknowledged by Ada until 2026-12-01: #7) no rollback\n" in text
    assert [danger.rule for danger in REPORT.open_dangers] == ["lost_alarms"]


def test_dangers_are_grouped_across_endpoints() -> None:
    names = ("prod-text", "prod-vision", "prod-search")
    lost_alarms = tuple(danger(f"{name}.A", f"{name} loses the alarm A") for name in names)
    text = render(dangers=(*lost_alarms, danger("prod-text.B", "prod-text loses the alarm B")))
    assert text.startswith("# 2 dangers, ")
    assert "- prod-text loses the alarm A (also prod-vision, prod-search)\n" in text
    assert all(f"`prod/lost_alarms/{name}.A`" in text for name in names)


def test_dangers_are_grouped_across_stages() -> None:
    stages = tuple(
        StageReview(
            stage=name,
            dangers=(
                Danger("host.a", f"a.B {name}-models/Builder: uses a", "foreign_targets", name),
            ),
        )
        for name in ("dev", "prod")
    )
    text = markdown.render(replace(REPORT, dangers=(), stages=stages))
    assert "dev-models/Builder: uses a (also prod)\n" in text


def test_cost_is_told_with_its_endpoint() -> None:
    costs = (
        CostChange(endpoint="prod-text", before=COST, after=replace(COST, maximum=7000)),
        CostChange(endpoint="b", before=COST, after=COST, keeps_running=True),
        CostChange(endpoint="same", before=COST, after=COST),
    )
    text = render(costs=costs, models=())
    assert "updated in place; at least 1,000, at most 5,000 → 7,000 (+2,000) USD a month\n" in text
    assert "- **b**: runs until it is deleted: at least 1,000, at most 5,000 USD a month\n" in text
    assert "same" not in text
    assert "at prices of 2026-01-01 (the test)" in text


def test_missing_price_is_told_once() -> None:
    text = render(costs=(CostChange(endpoint="prod-text", before=COST, after=UNPRICED),))
    assert text.count("no price known for ml.g6.xlarge in us-east-1") == 1


def test_json() -> None:
    content = json.loads(to_json(replace(REPORT, gaps=(Gap(part="dev", reason="no base"),))))
    assert (content["complete"], content["gaps"]) == (
        False,
        [{"part": "dev", "reason": "no base"}],
    )
    (stage,) = content["stages"]
    assert stage["endpoints"][0]["state"] == "changed"
    assert stage["dangers"][0]["acknowledgement"] is None
    assert stage["dangers"][1]["acknowledgement"]["until"] == "2026-12-01"
    assert stage["models"][0]["state"] == "rebuilt"
    assert stage["costs"][0]["after"]["missing_prices"] == ["ml.g6.xlarge in us-east-1"]
    assert stage["stacks"][0]["changes"][0]["properties"] == ["Digest"]


def test_lone_surrogate_is_escaped(tmp_path: Path) -> None:
    write_outputs(replace(REPORT, notes=("note \ud800",)), tmp_path)
    assert "- note \\ud800\n" in (tmp_path / "review.md").read_text()
    assert json.loads((tmp_path / "review.json").read_text())["notes"] == ["note \ud800"]
