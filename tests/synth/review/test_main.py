"""`python -m release.review` as `make review` runs it: processes, validator and linters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.checkouts import Clone
from release.review import inputs
from tests.synth.review.conftest import COPIED, ROOT, copy_tree
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import validate

PRODUCTION = """\
production: true
notify: { email: [team@example.com] }
"""
STAGE = f"""\
region: us-east-1
release: "25.09"
{PRODUCTION}\
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
    instance_count: 2
"""
CHECKOV = "framework: [cloudformation]\nquiet: true\nskip-download: true\ncheck: [CKV_AWS_18]\n"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    clone = Clone(copy_tree(tmp_path / "clone"))
    for stage in clone.stages():
        (clone.root / "stages" / f"{stage}.yaml").unlink()
    (clone.root / "stages" / "live.yaml").write_text(STAGE)
    (clone.root / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    (clone.root / ".cfnlintrc.yaml").write_text("")  # with W3005, which the CDK's templates have
    (clone.root / ".checkov.yaml").write_text(CHECKOV)  # which the bucket of access logs has
    (clone.root / ".venv-checkov").symlink_to(ROOT / ".venv-checkov")
    clone.git("init", "--quiet", "--initial-branch=main")
    commit(clone)
    return clone


def test_all_that_the_app_is_made_of_is_an_input() -> None:
    assert not {*COPIED} & inputs.APART


def test_a_danger_ends_with_3_after_all_that_make_review_runs(clone: Clone) -> None:
    one_instance = STAGE.replace(PRODUCTION, "").replace("count: 2", "count: 1")
    (clone.root / "stages" / "live.yaml").write_text(one_instance)
    broken = clone.root / "models" / "broken" / "broken" / "config.pbtxt"
    broken.parent.mkdir(parents=True)
    broken.write_text("backend: [")
    environment = {it: value for it, value in os.environ.items() if it != "CDK_VALIDATION"}

    finished = subprocess.run(
        [sys.executable, "-m", "release.review", "--base", "main"],
        cwd=clone.root,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 3, finished.stderr
    assert "  live/low_minimum/live-text.AllTraffic\n" in finished.stderr
    content = (clone.root / "review.out" / "review.json").read_text()
    validate(content)
    written = json.loads(content)
    (stage,) = written["stages"]
    assert [it.partition(":")[0] for it in written["findings"]["new"]] == ["model lint"]
    assert {it.partition(":")[0] for it in stage["findings"]["still"]} == {"cfn-lint", "checkov"}
    kept = [
        json.loads(path.read_text())["templates"]["live-text"]["Resources"].values()
        for path in (clone.root / "review.out" / "templates" / "live").iterdir()
    ]
    counts = [
        variant["InitialInstanceCount"]
        for resources in kept
        for it in resources
        if it["Type"] == "AWS::SageMaker::EndpointConfig"
        for variant in it["Properties"]["ProductionVariants"]
    ]
    assert sorted(counts) == [1, 2]  # of the change, and of its base
