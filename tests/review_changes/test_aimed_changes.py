"""Random changes of each class: what is less safe is a danger of its rule, what is not is none."""

from pathlib import Path

import pytest

from release.review.comparison import Comparison
from release.review.dangers import dangers
from tests.review_changes.aimed_changes import DANGEROUS, HARMLESS, Aim, aimed_change
from tests.review_changes.file_changes import HARMLESS as HARMLESS_FILES
from tests.review_changes.stages import ROOT, synthesised
from tests.unit.release.review.test_judged_changes import HARMLESS as JUDGED_HARMLESS

SEEDS = range(3)


def rules(seed: int, aim: Aim) -> tuple[str, set[str]]:
    """Return the resource that a seed changes, and the rules of the dangers of that."""
    change = aimed_change(seed, aim)
    file = change.stage.file
    comparison = Comparison(change.stage.name, change.stage.templates, change.after, file, file)
    return change.resource, {danger.rule for danger in dangers(comparison)}


@pytest.mark.parametrize("kind", DANGEROUS)
def test_a_dangerous_change_is_a_danger_of_its_rule(kind: str) -> None:
    for seed in SEEDS:
        resource, rules_of_dangers = rules(seed, DANGEROUS[kind])
        assert DANGEROUS[kind].rule in rules_of_dangers, resource


@pytest.mark.parametrize("kind", HARMLESS)
def test_a_harmless_change_is_no_danger(kind: str) -> None:
    for seed in SEEDS:
        assert rules(seed, HARMLESS[kind])[1] == set()


def test_there_are_forty_kinds_of_harmless_changes() -> None:
    assert len({*HARMLESS, *HARMLESS_FILES, *JUDGED_HARMLESS}) >= 40


@pytest.mark.parametrize("stack", ["prod-text", "prod-vision", "prod-search"])
def test_sequence_batching_with_several_instances_is_a_danger(stack: str, tmp_path: Path) -> None:
    stage = synthesised("prod")
    comparison = Comparison("prod", stage.templates, stage.templates, stage.file, stage.file)
    endpoint = comparison.endpoints[stack].after
    assert endpoint
    for model in endpoint.models:
        config = tmp_path / model / model / "config.pbtxt"
        config.parent.mkdir(parents=True)
        config.write_text(f'name: "{model}"\nsequence_batching {{ }}\n')
    split = Comparison(
        "prod",
        stage.templates,
        stage.templates,
        stage.file,
        stage.file,
        models=(ROOT / "models", tmp_path),
    )
    subjects = [each.subject for each in dangers(split) if each.rule == "split_sequences"]
    assert {*subjects} >= {f"{stack}.{model}" for model in endpoint.models}
