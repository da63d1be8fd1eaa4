"""What counts as an input of a stage, and what does not."""

from pathlib import Path

import pytest

from release.review import inputs
from release.tree import Tree
from tests.unit.release.review.conftest import write

STAGE = "region: us-east-1\nendpoints: {text: {models: [minilm]}}\n"
FILES = {
    "app.py": "",
    "stages/prod.yaml": STAGE,
    "stages/dev.yaml": STAGE,
    "stages/load.py": "",
    "models/conftest.py": "",
    "models/minilm/recipe.yaml": "",
    "models/bert/recipe.yaml": "",
    "docs/review.md": "",
}


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Tree, Tree]:
    before, after = Tree(tmp_path / "before"), Tree(tmp_path / "after")
    for tree in (before, after):
        for path, content in FILES.items():
            write(tree, path, content)
    return before, after


Trees = tuple[Tree, Tree]


def test_two_trees_with_the_same_files_are_the_same(trees: Trees) -> None:
    assert inputs.are_same(*trees, "prod")
    assert inputs.are_same(*trees)


@pytest.mark.parametrize(
    "path",
    [
        *("app.py", "stages/prod.yaml", "stages/load.py", "models/conftest.py"),
        *("models/minilm/recipe.yaml", "models/minilm/new/1/model.py", "cdk.context.json"),
        *("requirements.txt", "platform_facts/prices.toml", "a-package-that-is-new/__init__.py"),
    ],
)
def test_what_may_be_read_counts(trees: Trees, path: str) -> None:
    write(trees[1], path, "# another")
    assert not inputs.are_same(*trees, "prod")


@pytest.mark.parametrize(
    "path",
    [
        *("docs/review.md", "tests/test_new.py", "release/review/page.py", ".github/x.yml"),
        *("stages/dev.yaml", "models/bert/recipe.yaml", "package-lock.json", "cdk.out.lint/x"),
        *("model_build/__pycache__/build.cpython-311.pyc", "x.egg-info/PKG-INFO"),
    ],
)
def test_what_the_app_never_reads_does_not(trees: Trees, path: str) -> None:
    write(trees[1], path, "# another")
    assert inputs.are_same(*trees, "prod")


def test_a_file_that_may_be_run_is_another(trees: Trees) -> None:
    (trees[1].root / "models" / "minilm" / "recipe.yaml").chmod(0o755)
    assert not inputs.are_same(*trees, "prod")


@pytest.mark.parametrize(
    "stage",
    [
        STAGE.replace("minilm", "minilm-tensorrt"),  # an alternative, of whichever recipe
        STAGE.replace("minilm", "minilm/../bert"),
        STAGE.replace("[minilm]", "minilm"),
        "endpoints: []\n",
        "{}\n",
    ],
)
def test_where_the_stage_names_no_folders_every_model_counts(trees: Trees, stage: str) -> None:
    for tree in trees:
        write(tree, "stages/prod.yaml", stage)
    assert inputs.are_same(*trees, "prod")
    write(trees[1], "models/bert/recipe.yaml", "# another")
    assert not inputs.are_same(*trees, "prod")


def test_all_models_are_linted_together(trees: Trees) -> None:
    write(trees[1], "stages/prod.yaml", "# another")
    assert inputs.are_same(*trees)
    write(trees[1], "models/bert/recipe.yaml", "# another")
    assert not inputs.are_same(*trees)


def test_a_link_or_a_stage_that_is_no_yaml_is_never_certain(trees: Trees) -> None:
    for tree in trees:
        write(tree, "stages/dev.yaml", "a: [")
        (tree.root / "models" / "minilm" / "shared").symlink_to(tree.root / "docs")
    assert not inputs.are_same(*trees, "dev")
    assert not inputs.are_same(*trees, "prod")


def test_a_stage_that_one_tree_lacks_is_not_the_same(trees: Trees) -> None:
    (trees[0].root / "stages" / "prod.yaml").unlink()
    assert not inputs.are_same(*trees, "prod")
    assert not inputs.are_same(trees[1], trees[0], "prod")
