"""The linter, held against repositories in which something is wrong, and ones like them."""

import re
from pathlib import Path

import pytest

import platform_facts
from model_build import checks, recipe
from model_build.repository import Repository
from model_build.source import ModelSource
from tests.unit.model_build.checks.broken import (
    allowed,
    ensembles,
    frameworks,
    layout,
    recipes,
    scheduling,
    tensors,
)
from tests.unit.model_build.checks.broken.case import Case

CASES = [
    *layout.CASES,
    *tensors.CASES,
    *scheduling.CASES,
    *ensembles.CASES,
    *frameworks.CASES,
    *recipes.CASES,
]


def lint(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write a case's repository, and return what the linter prints in its folder."""
    case.write(folder)
    monkeypatch.chdir(folder)
    here = Path()
    if (folder / recipe.FILE).is_file():
        alternatives = (None, *ModelSource(here).recipe.alternatives)
        findings = [each for name in alternatives for each in checks.lint(ModelSource(here, name))]
        return list(dict.fromkeys(map(str, findings)))
    rules = checks.rules_for_release(platform_facts.release(case.release))
    return [str(finding) for finding in checks.findings(Repository.read(here), rules)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_repository_is_told_what_is_wrong_and_where(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lint(case, tmp_path, monkeypatch) == case.messages


@pytest.mark.parametrize("case", allowed.CASES, ids=lambda case: case.name)
def test_a_repository_in_which_nothing_is_wrong_is_told_nothing(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lint(case, tmp_path, monkeypatch) == []


def test_every_rule_is_broken_by_some_case() -> None:
    release = platform_facts.release("25.09")
    named = {re.search(r" \[(\w+)\]$", line) for case in CASES for line in case.messages}
    rules = {each.__name__ for each in (*checks.rules_for_release(release), *checks.RECIPE_RULES)}
    assert {result[1] for result in named if result} == rules
