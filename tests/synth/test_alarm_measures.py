"""What `tritonsm status` says of alarms, held against the templates and the runbook."""

import pytest

from cli.status.measures import MEASURES, ROLLBACK, described
from tests.synth.conftest import Templates
from tests.unit.test_repository import ROOT


def test_status_knows_every_alarm_of_the_app(every_template: Templates) -> None:
    descriptions = {
        resource["Properties"]["AlarmDescription"]
        for name in ("all", "plain", "old")
        for template in every_template(name).values()
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }
    assert descriptions
    assert [it for it in descriptions if described(it) is None] == []
    assert {it.title for text in descriptions if (it := described(text))} >= MEASURES.keys()


@pytest.mark.parametrize("section", sorted({it.section for it in (*MEASURES.values(), ROLLBACK)}))
def test_the_sections_that_status_names_are_in_the_runbook(section: str) -> None:
    assert f"\n### {section}\n" in (ROOT / "docs" / "runbook.md").read_text()
