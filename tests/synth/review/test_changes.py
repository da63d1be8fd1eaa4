"""Reports of typical changes, as snapshots."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from release.assemblies import SynthesisedCheckout
from review import markdown
from review.report import ChangeReport
from review.stage_review import StageReview, review_stage
from tests.synth.review.conftest import STAGE as STAGE_FILE
from tests.synth.review.conftest import Edit, Reviewer

STAGE = "stages/live.yaml"
TEXT = "  text:\n    models: [minilm]\n    instance_type: ml.g5.xlarge"


CHANGES: dict[str, list[Edit]] = {
    "refactoring, model test and prices": [
        ("stacks/settings.py", "def thresholds(settings", "def alarm_thresholds(settings"),
        ("stacks/endpoint_stack.py", "settings.thresholds(", "settings.alarm_thresholds("),
        ("stacks/model_stack.py", "ROOT = Path", "# The repository.\nROOT = Path"),
        ("models/minilm/tests/test_more.py", "", "def test_nothing() -> None: ...\n"),
        ("platform_facts/prices.toml", '"ml.g5.xlarge" = 1', '"ml.g5.xlarge" = 2'),
    ],
    "model code and configuration comment": [
        (
            "models/minilm/tokenizer/1/model.py",
            "def execute",
            "# Batches come whole.\n    def execute",
        ),
        ("models/minilm/pooling/config.pbtxt", "# One vector", "# A comment.\n# One vector"),
    ],
    "several instance types": [
        (
            STAGE,
            TEXT,
            "  text:\n    models: [minilm]\n    hosting: single-model\n"
            "    instance_types: [ml.g5.xlarge, ml.g5.2xlarge]\n    provision_timeout_minutes: 15",
        ),
        (STAGE, "10, max_rps: 60", "10, concurrency: {ml.g5.xlarge: 4, ml.g5.2xlarge: 6}"),
    ],
    "output renamed and smaller batches": [
        ("models/minilm/minilm/config.pbtxt", '{ name: "EMBEDDING"', '{ name: "VECTOR"'),
        (
            "models/minilm/minilm/config.pbtxt",
            'key: "EMBEDDING" value: "EMBEDDING"',
            'key: "EMBEDDING" value: "VECTOR"',
        ),
        ("models/resnet50/resnet50/config.pbtxt", "max_batch_size: 128", "max_batch_size: 64"),
        ("models/resnet50/recipe.yaml", "max: [128, 3, 224, 224]", "max: [64, 3, 224, 224]"),
    ],
    "endpoint renamed": [(STAGE, "  vision:\n", "  images:\n")],
    "new endpoint in an image of another account": [
        (
            STAGE,
            "  vision:\n",
            "  bert:\n    models: [bert]\n    instance_type: ml.g5.xlarge\n    instance_count: 2\n"
            "    hosting: single-model\n    image:\n      uri: "
            f"444455556666.dkr.ecr.us-east-1.amazonaws.com/teams/triton@sha256:{'0a' * 32}\n"
            "  vision:\n",
        ),
    ],
    "copy of NVIDIA's image for GPU builds": [
        (
            STAGE,
            "private_network",
            'gpu_build_images: { "25.09": "444455556666.dkr.ecr.us-east-1.amazonaws.com/'
            f'nvidia/tensorrt@sha256:{"0a" * 32}" }}\nprivate_network',
        ),
    ],
    "delivery from another repository": [
        (STAGE, "private_network", "delivery: { repository: evil/fork }\nprivate_network"),
    ],
    "another region and alarms without actions": [
        (STAGE, "us-east-1", "eu-west-1"),
        (
            "constructs/triton_sagemaker/endpoint_monitoring.py",
            "            alarm.add_alarm_action(*self._actions)\n",
            "",
        ),
    ],
    "account added": [
        (STAGE, "region:", 'account: "210987654321"\nregion:'),
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_report_of_a_change(change: str, reviewer: Reviewer, snapshot: SnapshotAssertion) -> None:
    stages = reviewer.review(*CHANGES[change])
    assert _stable(_report(stages)) == snapshot, (
        "the report differs: if that is intended, run python -m pytest tests/synth/review/"
        "test_changes.py --snapshot-update, and read the difference with git diff"
    )


def test_report_of_a_renamed_stage(reviewer: Reviewer, snapshot: SnapshotAssertion) -> None:
    renamed = [(STAGE, STAGE_FILE, ""), ("stages/main.yaml", "", STAGE_FILE)]
    assert _stable(_report(reviewer.review(*renamed, stages=("live", "main")))) == snapshot


def test_template_edited_after_the_plan_was_written(
    base: SynthesisedCheckout, tmp_path: Path
) -> None:
    head = SynthesisedCheckout(base.root, tmp_path / "assemblies")
    shutil.copytree(base.assemblies, head.assemblies)
    path = head.assemblies / "live" / "live-text.template.json"
    template = json.loads(path.read_text())
    ((name, target),) = [
        (name, resource)
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget"
    ]
    target["Properties"]["MaxCapacity"] = 3
    old_key = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(json.dumps(template))
    for name_of_file in ("manifest.json", "live-text.assets.json"):
        file = path.with_name(name_of_file)
        key = hashlib.sha256(path.read_bytes()).hexdigest()
        file.write_text(file.read_text().replace(old_key, key))
    assert review_stage("live", base, base).dangers == ()
    (danger,) = review_stage("live", base, head).dangers
    assert (danger.rule, danger.endpoint) == ("plan_mismatches", "live-text")
    assert f"live-text: {name}.MaxCapacity: 3, and the plan has 10" in danger.message


def _report(stages: Iterable[StageReview]) -> str:
    return markdown.render(ChangeReport(base="main", stages=tuple(stages)))


def _stable(report: str) -> str:
    """Return a report with numbered digests."""
    for number, digest in enumerate(dict.fromkeys(re.findall(r"\b[0-9a-f]{12,64}\b", report))):
        report = report.replace(digest, f"<digest {number}>")
    return report
