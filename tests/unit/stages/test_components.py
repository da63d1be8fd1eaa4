"""Endpoints of inference components in a stage: plan and invalid settings."""

from pathlib import Path

import pytest

from plan.document import Limits, Plan, PlannedComponent, PlannedEndpoint
from platform_facts.rules import checked_yaml
from stages import load_stage
from stages.plan import PlannedStage
from tests.unit.stages.conftest import load, problems

STAGE = """\
region: us-east-1
release: "25.09"
unconfirmed: [components]
endpoints:
  text:
    hosting: components
    models: [minilm, bert]
    instance_type: ml.g5.2xlarge
    instances: { min: 0, max: 4 }
    components:
      minilm:
        copies: { min: 0, max: 4, max_rps: 60 }
        memory_mb: 4096
        accelerators: 1
        cpus: 2
      bert:
        copies: { min: 1, max: 1 }
        memory_mb: 2048
        accelerators: 1
"""


@pytest.fixture
def plan() -> Plan:
    return PlannedStage.of("dev", load(STAGE)).plan


@pytest.fixture
def endpoint(plan: Plan) -> PlannedEndpoint:
    return plan.endpoints["text"]


def test_names_contain_the_instance_type(endpoint: PlannedEndpoint) -> None:
    assert endpoint.settings.name == "dev-text-g5-2xlarge"
    assert endpoint.settings.stack == "dev-text"
    minilm, bert = (endpoint.models[name].catalog for name in ("minilm", "bert"))
    assert minilm.endpoint == "dev-text-g5-2xlarge"
    assert minilm.inference_component == "dev-text-g5-2xlarge-minilm"
    assert minilm.target_model is None
    assert bert.inference_component == "dev-text-g5-2xlarge-bert"


def test_plan_has_copies_and_resources_of_components(endpoint: PlannedEndpoint) -> None:
    settings = endpoint.settings
    assert settings.hosting == "components"
    assert settings.variants["AllTraffic"].instances == Limits(minimum=0, maximum=4)
    assert settings.components.keys() == {"minilm", "bert"}
    assert settings.components["minilm"] == PlannedComponent(
        name="dev-text-g5-2xlarge-minilm",
        copies=Limits(minimum=0, maximum=4),
        initial_count=1,
        memory_mb=4096,
        scaling={"max_rps": 60},
        accelerators=1,
        cpus=2,
    )


def test_update_duration_counts_batches_of_max_copies(plan: Plan) -> None:
    # 20 minutes for instances and 20 for each of three batches: 50 % of 3 copies is one.
    assert plan.time_budget.rows["update of its endpoint"] == 20 + 3 * 20


def test_longer_timeouts_are_in_the_time_budget() -> None:
    """Of each batch of an update, and of copies that the verification wakes."""
    timeouts = "download_timeout_minutes: 12\n    startup_timeout_minutes: 15\n    instances:"
    plan = PlannedStage.of("dev", load(STAGE.replace("instances:", timeouts, 1))).plan
    assert plan.time_budget.rows["update of its endpoint"] == 20 + 3 * 27
    assert plan.time_budget.rows["verification of endpoints and models"] == 37 + 27 - 20


PRODUCTION = "production: true\nnotify: { email: [team@company.com] }\nendpoints:"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("unconfirmed: [components]\n", "", "5: endpoints.text.hosting: a stack update may reset"),
        ("us-east-1", "eu-west-3", "9: endpoints.text.instances.min: SageMaker rejects 0 in"),
        ("    instances: { min: 0, max: 4 }\n", "",
         "5: endpoints.text.instances: missing: write instances: { min: 0, max"),
        ("hosting: components", "hosting: multi-model",
         "6: endpoints.text.hosting: components, instances only with hosting"),
        ("    components:",
         "    scaling: { min_count: 1, max_count: 2, max_rps: 5 }\n    components:",
         "10: endpoints.text.scaling: components scale by copies"),
        ("    instances: { min: 0, max: 4 }", "    instances: { min: 2, max: 4 }",
         "endpoints.text.instance_count: 1 is outside the scaling limits"),
        ("endpoints:", PRODUCTION, "endpoints.text.components.bert.copies.min"),
    ],
)  # fmt: skip
def test_invalid_component_setting_is_an_error_at_its_line(
    old: str, new: str, problem: str
) -> None:
    lines = problems(STAGE.replace(old, new, 1))
    assert any(problem in line for line in lines), lines


def test_production_components_may_scale_to_zero() -> None:
    text = STAGE.replace("min: 1, max: 1", "min: 0, max: 2, concurrency: 4")
    assert load(text.replace("endpoints:", PRODUCTION)).production


def test_copies_scale_to_zero_with_a_minimum_instance() -> None:
    text = STAGE.replace("us-east-1", "eu-west-3")
    text = text.replace("instances: { min: 0", "instances: { min: 1")
    assert load(text).endpoints["text"].instances


def test_too_long_component_name_is_an_error(tmp_path: Path) -> None:
    name = "a" * 41  # followed by the 23 characters of `-text-g5-2xlarge-minilm`
    (tmp_path / f"{name}.yaml").write_text(STAGE)
    with pytest.raises(checked_yaml.InvalidFile) as raised:
        load_stage(name, tmp_path)
    (line,) = str(raised.value).splitlines()
    assert f"{name}.yaml:11: endpoints.text.components.minilm: " in line
    assert "of 64 characters" in line


def test_name_with_instance_type_must_be_unique(tmp_path: Path) -> None:
    second_endpoint = "  text-g5-2xlarge: { models: [minilm], instance_type: ml.g5.xlarge }\n"
    (tmp_path / "dev.yaml").write_text(STAGE + second_endpoint)
    with pytest.raises(
        checked_yaml.InvalidFile, match="dev-text-g5-2xlarge, like text: write another name"
    ):
        load_stage("dev", tmp_path)
