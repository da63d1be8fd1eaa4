"""The rules together: one module each, and one error that lists all that they find."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import platform_facts
from model_build import checks
from model_build.findings import Finding, Place, RepositoryInvalid
from model_build.formats import BACKENDS, FORMATS
from model_build.repository import Repository
from model_build.source import ModelSource, all_models

RELEASE = platform_facts.release("25.09")
SHIPPED = list(all_models(Path(checks.__file__).parents[2] / "models"))


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: model.name)
def test_nothing_is_wrong_with_a_shipped_model(model: ModelSource) -> None:
    assert checks.lint(model) == []


def test_a_release_adds_its_rules_to_those_for_all() -> None:
    names = [rule.__name__ for rule in checks.rules_for_release(RELEASE)]
    assert set(checks.SOURCE_RULES) < set(checks.REPOSITORY_RULES)
    assert names[: len(checks.REPOSITORY_RULES)] == [
        rule.__name__ for rule in checks.REPOSITORY_RULES
    ]
    releases = {"release_backends", "onnx_versions", "torchscript_versions", "fil_versions"}
    assert set(names[len(checks.REPOSITORY_RULES) :]) == releases


def test_each_backend_has_one_format_and_a_row_in_the_table_of_backends() -> None:
    assert len(FORMATS) == len(BACKENDS), (
        "two modules of model_build/formats have the same backend: add the file to `other_files` "
        "of the existing FORMAT"
    )
    in_the_table = {row.name for row in platform_facts.backends()} - {"ensemble"}
    assert set(BACKENDS) == in_the_table, (
        "model_build/formats and the [[backend]] rows of platform_facts/releases.toml differ: a "
        "format needs both"
    )


def test_one_error_lists_every_finding_of_every_rule_in_order(tmp_path: Path) -> None:
    repository = Repository(tmp_path, Path("shown"))

    def two(checked: Repository) -> Iterator[tuple[Place, str]]:
        assert checked is repository
        yield checked.file_place("a", "b.txt"), "is first"
        yield Place(Path("c"), 3, 4), "is second"

    def one(checked: Repository) -> Iterator[tuple[Place, str]]:
        yield Place(Path("d"), 5), "is third"

    with pytest.raises(RepositoryInvalid) as refused:
        checks.check(repository, (two, one))
    assert refused.value.findings == [
        Finding("two", Place(Path("shown/a/b.txt")), "is first"),
        Finding("two", Place(Path("c"), 3, 4), "is second"),
        Finding("one", Place(Path("d"), 5), "is third"),
    ]
    assert str(refused.value) == (
        "shown/a/b.txt: is first [two]\nc:3:4: is second [two]\nd:5: is third [one]"
    )
