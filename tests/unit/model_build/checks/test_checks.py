"""The rules together: what is shipped keeps them, and one error lists all that is broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import model_build
from model_build import RepositoryInvalid, checks, model_config, recipe
from model_build.repository import CONFIG, Repository

SHIPPED = sorted((Path(model_build.__file__).parents[1] / "models").glob("*/recipe.yaml"))
each_model = pytest.mark.parametrize(
    "folder", [path.parent for path in SHIPPED], ids=lambda folder: folder.name
)


@each_model
@pytest.mark.parametrize("rule", checks.WRITTEN, ids=lambda rule: rule.__name__)
def test_no_shipped_model_breaks_a_rule(folder: Path, rule: checks.Rule) -> None:
    assert list(rule(Repository.read(folder))) == []


@each_model
def test_a_shipped_models_recipe_and_files_are_complete(folder: Path, tmp_path: Path) -> None:
    for name, config in Repository.read(folder).configs.items():
        (tmp_path / name / "1").mkdir(parents=True)
        model_config.write(config, tmp_path / name / CONFIG)
        for written in (folder / name).glob("1/*"):
            (tmp_path / name / "1" / written.name).touch()
    for made in recipe.read(folder).files:
        (tmp_path / made).touch()
    checks.check(Repository.read(tmp_path), checks.BUILT)


def test_a_rule_is_a_module_of_its_name_and_says_what_it_asks_for() -> None:
    for rule in checks.BUILT:
        assert rule.__module__ == f"model_build.checks.{rule.__name__}"
        assert rule.__doc__


def test_all_rules_hold_for_a_complete_repository() -> None:
    folder = Path(checks.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {rule.__name__ for rule in checks.BUILT} == modules
    assert set(checks.WRITTEN) < set(checks.BUILT)


def test_one_error_lists_every_finding_of_every_rule_in_order(tmp_path: Path) -> None:
    repository = Repository(tmp_path, {})

    def two(asked: Repository) -> Iterator[str]:
        assert asked is repository
        yield "first"
        yield "second"

    def one(asked: Repository) -> Iterator[str]:
        yield "third"

    with pytest.raises(RepositoryInvalid) as refused:
        checks.check(repository, (two, one))
    assert str(refused.value) == "first\nsecond\nthird"


def test_without_a_finding_nothing_is_raised(tmp_path: Path) -> None:
    checks.check(Repository(tmp_path, {}), (lambda _: iter(()),))
