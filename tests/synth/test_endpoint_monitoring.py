"""EndpointMetrics and EndpointMonitoring."""

import re
from pathlib import Path

from aws_cdk import aws_cloudwatch as cloudwatch

from tests.synth.endpoints import SampleStack

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"


def test_runbook_explains_every_default_alarm(sample: SampleStack) -> None:
    children = sample.endpoint().monitor().node.children
    alarms = {
        child.node.id.split("-")[-2] for child in children if isinstance(child, cloudwatch.Alarm)
    }
    assert alarms
    page = RUNBOOK.read_text()
    headings = re.findall("^### (.*)$", page, re.M)
    rows = re.findall(r"^\| \[(.*?)\]", page, re.M)
    documented = set(", ".join(headings).split(", ")) & set(", ".join(rows).split(", "))
    assert not alarms - documented, (
        'docs/runbook.md, "Alarms": add a row to the table and a section with the meaning of the '
        "alarm and the steps to take"
    )
