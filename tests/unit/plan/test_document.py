"""The plan as a document: what is read is what was written."""

import json
from pathlib import Path

import pytest

from plan.document import ENDPOINT_KEY, EndpointSettings, InvalidPlan, Plan
from tests.unit.plan.plans import make_endpoint, make_model, make_plan


def test_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    endpoint = make_endpoint(models={"minilm": make_model("minilm")})
    plan = make_plan(endpoints={"text": endpoint})
    plan.write(tmp_path)
    assert Plan.read(tmp_path) == plan


@pytest.mark.parametrize("content", ["", "[]", '{"version": 2}'])
def test_other_documents_are_invalid(content: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InvalidPlan, match=r"plan\.json"):
        Plan.read(tmp_path)


def test_digest_ignores_how_the_cdk_writes_numbers_and_null() -> None:
    settings = make_endpoint(settings={"scaling": {"max_rps": 40.0, "cpu": None}}).settings
    part = json.loads(json.dumps(settings.metadata()))
    part["settings"]["scaling"] = {"max_rps": 40}
    read = EndpointSettings.of_template({"Metadata": {ENDPOINT_KEY: part}})
    assert read is not None
    assert read.digest == settings.digest
    part["settings"]["scaling"] = {"max_rps": 41}
    changed = EndpointSettings.of_template({"Metadata": {ENDPOINT_KEY: part}})
    assert changed is not None
    assert changed.digest != settings.digest


def test_template_without_the_part_has_no_settings() -> None:
    assert EndpointSettings.of_template({"Resources": {}}) is None


def test_invalid_part_of_a_template_is_an_error() -> None:
    with pytest.raises(InvalidPlan, match="Metadata"):
        EndpointSettings.of_template({"Metadata": {ENDPOINT_KEY: {"name": "prod-text"}}})
