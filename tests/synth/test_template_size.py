"""Templates whose size does not depend on the number of models."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from aws_cdk import App

from model_build import CheckedModel
from stacks import synthesise
from stages import plan
from tests.synth.conftest import CONTEXT


def test_template_does_not_depend_on_the_number_of_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    minilm = plan.checked_model("minilm")

    def renamed(name: str) -> CheckedModel:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return dataclasses.replace(minilm, name=name, digest=digest)

    def template(models: int) -> bytes:
        """Return the template of an endpoint as uploaded by the CDK CLI."""
        names = [f"model-{number:04}" for number in range(models)]
        endpoint = {"instance_type": "ml.g5.xlarge", "models": names}
        stage = {"region": "us-east-1", "release": "25.09", "endpoints": {"text": endpoint}}
        (tmp_path / "many.yaml").write_text(json.dumps(stage, indent=1))
        app = App(context=CONTEXT, outdir=str(tmp_path / f"{models}"), stack_traces=False)
        assembly = synthesise(app, "many", folder=tmp_path)
        return Path(assembly.get_stack_by_name("many-text").template_full_path).read_bytes()

    monkeypatch.setattr(plan, "checked_model", renamed)
    one, many = template(1), template(2000)
    assert len(one) == len(many)
    assert len(json.loads(one)["Resources"]) <= 60
    assert len(one) <= 100_000
