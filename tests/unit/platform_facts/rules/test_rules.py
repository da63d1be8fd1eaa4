"""The rules as a whole: their page, and what each says of itself."""

from pathlib import Path

import pytest

from platform_facts import instance_type, release
from platform_facts.rules import RULES, Violation, scaling, server, updates, variants
from platform_facts.rules.__main__ import page
from platform_facts.rules.ranges import GPU_PERCENT, WAIT_SECONDS, Range
from platform_facts.rules.updates import LONGEST_SECONDS, UpdateTimes

ROOT = Path(__file__).parents[4]


def test_the_page_of_rules_is_current() -> None:
    current = (ROOT / "docs" / "rules.md").read_text()
    assert current == page(), "python -m platform_facts.rules > docs/rules.md"


def test_every_rule_has_a_key_a_statement_and_a_source() -> None:
    page()  # imports every module of rules
    assert len(RULES) > 50
    assert not [
        rule for rule in RULES if not (rule.path and rule.statement.endswith(".") and rule.source)
    ]


def test_a_problem_leads_to_its_key_and_says_what_to_write() -> None:
    (problem,) = scaling.utilization_of_a_gpu(70, instance_type("ml.m5.xlarge"))
    assert str(problem) == "scaling.gpu_percent: ml.m5.xlarge has no GPU: remove it"
    assert scaling.utilization_of_a_gpu(70, instance_type("ml.g5.xlarge")) == []


def test_a_rule_can_be_about_a_value_that_stands_elsewhere() -> None:
    limits = scaling.limits.at("scaling", "schedules", "night", "max_count")
    assert limits(3, 2) == [
        Violation(
            ("scaling", "schedules", "night", "max_count"),
            "2 is less than the smallest number of instances, 3: write 3 or more",
        )
    ]


@pytest.mark.parametrize("value", [0.5, 100, None])
def test_a_value_in_its_range_has_no_problem(value: float | None) -> None:
    assert GPU_PERCENT(value) == []


@pytest.mark.parametrize(("value", "range_"), [(0, GPU_PERCENT), (3601, WAIT_SECONDS)])
def test_a_value_out_of_its_range_is_told_the_range(value: float, range_: Range) -> None:
    (problem,) = range_(value)
    assert problem.message == f"{value} is out of range: write {range_}"


def test_a_release_that_does_not_run_on_a_gpu_is_a_problem_of_the_type() -> None:
    (problem,) = variants.gpu_of_release(instance_type("ml.p3.2xlarge"), release("25.09"))
    assert problem.path == ("instance_type",)


def test_an_option_is_newer_than_its_release() -> None:
    rule = server.option_of_release.at("server", "inference_type")
    assert rule("inference_type", release("25.04")) == []
    (problem,) = rule("inference_type", release("24.09"))
    assert problem.path == ("server", "inference_type")


def test_linear_steps_and_batches_end_before_sagemaker_ends_the_update() -> None:
    fits = UpdateTimes(strategy="linear", start=2400, percent=10, wait=2899, keep_old=300)
    assert updates.update(fits) == []
    late = UpdateTimes(strategy="linear", start=2400, percent=10, wait=2900, keep_old=300)
    assert late.longest() == LONGEST_SECONDS
    (problem,) = updates.update(late)
    assert problem.path == ("update", "wait_seconds")


@pytest.mark.parametrize(
    ("instances", "batches"),
    [(1, 1), (3, 3), (8, 7), (None, 7)],  # 25 % of 7 is one instance: seven batches
)
def test_a_rolling_update_has_as_many_batches_as_rounding_makes(
    instances: int | None, batches: int
) -> None:
    times = UpdateTimes(strategy="rolling", start=100, percent=25, wait=10)
    assert times.longest(instances) == batches * 110
