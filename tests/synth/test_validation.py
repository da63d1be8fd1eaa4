"""Synths that run the template validation of the CDK."""

import json
from pathlib import Path

import pytest

from release.assemblies import read_synthesis
from release.build import build_release
from release.checkout import Checkout, NotSynthesised
from release.templates import templates

ROOT = Path(__file__).parents[2]
APP = """
import pathlib, sys
from aws_cdk import App, CfnResource, Stack
app = App(outdir=str(pathlib.Path(*sys.argv[1:3])) if sys.argv[1:] else None)
stack = Stack(app, "prod-text")
CfnResource(stack, "Queue", type="AWS::SQS::Queue", properties={"DelaySecond": 5})
app.synth()
"""
"""DelaySecond is not a property of a queue, so CloudFormation would reject the template."""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Return a tree whose stage has an invalid template, with CDK_VALIDATION unset."""
    monkeypatch.delenv("CDK_VALIDATION")
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    (tmp_path / "cdk.json").write_text(json.dumps({"app": "python app.py", "context": context}))
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "prod.yaml").write_text("region: us-east-1\n")
    return Checkout(tmp_path)


def test_delivery_and_review_head_validate_templates(tree: Checkout, tmp_path: Path) -> None:
    with pytest.raises(NotSynthesised, match="DelaySecond"):
        tree.synthesise("prod", to=tmp_path)
    with pytest.raises(NotSynthesised, match="DelaySecond"):
        read_synthesis(build_release(tree, tmp_path / "head").folder, "prod")
    base = read_synthesis(build_release(tree, tmp_path / "base", validate=False).folder, "prod")
    assert base.templates == templates(tmp_path / "base" / "prod")
    assert base.templates["prod-text"]["Resources"]["Queue"]["Properties"] == {"DelaySecond": 5}
