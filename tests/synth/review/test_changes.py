"""Changes as people make them, and the report that each gets."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from release.review import markdown
from release.review.report import NOTHING, Report
from tests.synth.review.conftest import Edit, Reviewer

STAGE = "stages/live.yaml"
TEXT = "  text:\n    models: [minilm]\n    instance_type: ml.g5.xlarge"

CHANGES: dict[str, list[Edit]] = {
    "nothing that is deployed: a refactoring, a test beside a model, prices": [
        ("stacks/settings.py", "def thresholds(settings", "def alarm_thresholds(settings"),
        ("stacks/endpoint_stack.py", "settings.thresholds(", "settings.alarm_thresholds("),
        ("stacks/model_stack.py", "ROOT = Path", "# The repository.\nROOT = Path"),
        ("models/minilm/tests/test_more.py", "", "def test_nothing() -> None: ...\n"),
        ("platform_facts/prices.toml", '"ml.g5.xlarge" = 1', '"ml.g5.xlarge" = 2'),
    ],
    "a model's code, and a comment in its configuration": [
        (
            "models/minilm/tokenizer/1/model.py",
            "def execute",
            "# Batches come whole.\n    def execute",
        ),
        ("models/minilm/pooling/config.pbtxt", "# One vector", "# A comment.\n# One vector"),
    ],
    "breaking for clients: an output renamed, smaller batches": [
        ("models/minilm/minilm/config.pbtxt", '{ name: "EMBEDDING"', '{ name: "VECTOR"'),
        (
            "models/minilm/minilm/config.pbtxt",
            'key: "EMBEDDING" value: "EMBEDDING"',
            'key: "EMBEDDING" value: "VECTOR"',
        ),
        ("models/resnet50/resnet50/config.pbtxt", "max_batch_size: 128", "max_batch_size: 64"),
        ("models/resnet50/recipe.yaml", "max: [128, 3, 224, 224]", "max: [64, 3, 224, 224]"),
    ],
    "more load: larger instances and more of them, other targets, a slower canary": [
        (STAGE, "instance_type: ml.g5.xlarge", "instance_type: ml.g5.2xlarge"),
        (STAGE, "max_count: 10, max_rps: 60", "max_count: 20, max_rps: 90, gpu_percent: 70"),
        (STAGE, "wait_seconds: 600", "wait_seconds: 1200"),
    ],
    "another kind of GPU: engines are compiled again": [
        (STAGE, "instance_type: ml.g5.xlarge", "instance_type: ml.g6.xlarge"),
    ],
    "another release": [(STAGE, 'release: "25.09"', 'release: "25.04"')],
    "another release, and a model's code": [
        (STAGE, 'release: "25.09"', 'release: "25.04"'),
        (
            "models/minilm/tokenizer/1/model.py",
            "def execute",
            "# Batches come whole.\n    def execute",
        ),
    ],
    "no longer production, and one instance at least: alarms go": [
        (STAGE, "instance_count: 2\n    scaling", "instance_count: 1\n    scaling"),
        (STAGE, "min_count: 2", "min_count: 1"),
        (STAGE, "production: true\nnotify: { email: [team@example.com] }\n", ""),
    ],
    "data capture, server options, variables, and Triton's metrics no longer": [
        (
            STAGE,
            TEXT,
            TEXT + "\n    data_capture: { percent: 10 }\n    publish_metrics: false\n"
            '    server: { thread_count: 16 }\n    environment: { THREADS: "2" }\n'
            "    cache_models: false",
        ),
    ],
    "schedules and cooldowns": [
        (
            STAGE,
            "max_rps: 60",
            'max_rps: 60, scale_out_cooldown_seconds: 0, schedules: { night: { at: "rate(1 day)",'
            " min_count: 3, max_count: 12 } }",
        ),
    ],
    "tags, and logs kept for longer": [
        (
            STAGE,
            "production: true",
            "tags: { team: search }\nlog_retention_days: 365\nproduction: true",
        ),
    ],
    "no scaling any more": [
        (STAGE, "    scaling: { min_count: 2, max_count: 10, max_rps: 60 }\n", ""),
    ],
    "all at once instead of a canary": [
        (STAGE, "    update: { strategy: canary, percent: 10, wait_seconds: 600 }\n", ""),
    ],
    "out of the private network": [(STAGE, "private_network: true\n", "")],
    "an endpoint renamed": [(STAGE, "  vision:\n", "  images:\n")],
    "an endpoint removed": [
        (
            STAGE,
            "  vision:\n    models: [resnet50, resnet50-tensorrt]\n"
            "    instance_type: ml.g5.2xlarge\n    instance_count: 2\n",
            "",
        ),
    ],
    "a model dropped, which the catalog names": [
        (STAGE, "models: [resnet50, resnet50-tensorrt]", "models: [resnet50]"),
    ],
    "a model more on a multi-model endpoint": [
        (STAGE, "models: [minilm]", "models: [minilm, bert]"),
    ],
    "a new endpoint": [
        (
            STAGE,
            "  vision:\n",
            "  bert:\n    models: [bert]\n    instance_type: ml.g5.xlarge\n    instance_count: 2\n"
            "  vision:\n",
        ),
    ],
    "a wider role: the builder may delete": [
        (
            "constructs/triton_sagemaker/model_builder.py",
            '"s3:PutObject", "s3:AbortMultipartUpload"',
            '"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"',
        ),
    ],
    "single-model instead of multi-model hosting": [
        (STAGE, TEXT, TEXT.replace("  text:\n", "  text:\n    hosting: single-model\n")),
    ],
    "a second variant": [
        (
            STAGE,
            TEXT,
            f"{TEXT}\n    variants:\n      AllTraffic: {{ weight: 9 }}\n"
            "      Large: { weight: 1, instance_type: ml.g5.4xlarge }",
        ),
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_told_in_words(
    change: str, reviewer: Reviewer, snapshot: SnapshotAssertion
) -> None:
    stage = reviewer.review(*CHANGES[change])
    text = markdown.render(Report(base="main", stages=(stage,), findings=NOTHING))
    assert _stable(text) == snapshot


def _stable(report: str) -> str:
    """Leave out what the CDK's own difference says, and name digests by their order."""
    folded = re.sub(r"```\n.*?\n```", "(the CDK's own difference)", report, flags=re.DOTALL)
    for number, digest in enumerate(dict.fromkeys(re.findall(r"\b[0-9a-f]{12,64}\b", folded))):
        folded = folded.replace(digest, f"<digest {number}>")
    return folded
