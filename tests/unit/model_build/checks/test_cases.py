"""Findings of the linter in invalid and valid repositories."""

import re
from pathlib import Path

import pytest

import platform_facts
from model_build import checks, recipe
from model_build.repository import Repository
from model_build.source import ModelFolder
from tests.unit.model_build.checks.cases import (
    ensembles,
    frameworks,
    layout,
    recipes,
    scheduling,
    tensors,
    valid,
)
from tests.unit.model_build.checks.cases.case import Case

CASES = [
    *layout.CASES,
    *tensors.CASES,
    *scheduling.CASES,
    *ensembles.CASES,
    *frameworks.CASES,
    *recipes.CASES,
]


def lint(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write the repository of a case and return the lines that lint prints in its folder."""
    case.write(folder)
    monkeypatch.chdir(folder)
    here = Path()
    if (folder / recipe.FILE).is_file():
        models = ModelFolder(here).models()
        findings = [finding for model in models for finding in checks.lint(model)]
        return list(dict.fromkeys(map(str, findings)))
    rules = checks.rules_for_release(platform_facts.release(case.release))
    return [str(finding) for finding in checks.findings(Repository.read(here), rules)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_invalid_repository_has_findings(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = lint(case, tmp_path, monkeypatch)
    assert printed == case.expected(printed)


@pytest.mark.parametrize("case", valid.CASES, ids=lambda case: case.name)
def test_valid_repository_has_no_findings(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lint(case, tmp_path, monkeypatch) == []


def test_every_rule_has_a_case() -> None:
    release = platform_facts.release("25.09")
    matches = {re.search(r" \[(\w+)\]$", line) for case in CASES for line in case.messages}
    recipe_rules = (*checks.RECIPE_RULES, *checks.ROW_RULES)
    rules = {rule.__name__ for rule in (*checks.rules_for_release(release), *recipe_rules)}
    assert {match[1] for match in matches if match} == rules
