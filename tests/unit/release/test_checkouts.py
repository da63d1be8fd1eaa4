from pathlib import Path

import pytest

from release.checkouts import (
    CheckoutError,
    Stage,
    git,
    repository_root,
    stage_file,
    templates,
    worktree,
)


def test_the_repository_is_found_from_a_folder_in_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "stages")
    assert repository_root() == repository


def test_outside_of_a_repository_git_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckoutError, match="not a git repository"):
        repository_root()


def test_an_earlier_commit_is_checked_out_beside_the_tree(repository: Path) -> None:
    with worktree(repository, "HEAD^") as tree:
        assert stage_file(tree, "prod").region == "eu-west-1"
        assert stage_file(repository, "prod").region == "us-east-1"
    assert not tree.exists()
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_worktree_goes_when_what_was_done_in_it_failed(repository: Path) -> None:
    with pytest.raises(ZeroDivisionError), worktree(repository, "HEAD^"):
        _ = 1 / 0
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_commit_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(CheckoutError, match=r"0{40}"), worktree(repository, "0" * 40):
        pass


def test_a_stage_says_where_it_is_and_whether_it_is_production(repository: Path) -> None:
    assert stage_file(repository, "prod") == Stage(region="us-east-1", production=True)
    (repository / "stages" / "dev.yaml").write_text("region: us-east-1\n")
    assert not stage_file(repository, "dev").production


def test_a_stage_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(CheckoutError, match=r"there is no stages/pord\.yaml"):
        stage_file(repository, "pord")


@pytest.mark.parametrize("content", ["release: '25.09'\n", "", "- a\n", "a: [\n"])
def test_a_stage_without_a_region_is_named(repository: Path, content: str) -> None:
    (repository / "stages" / "prod.yaml").write_text(content)
    with pytest.raises(CheckoutError, match=r"stages/prod\.yaml has no region"):
        stage_file(repository, "prod")


def test_an_assembly_has_a_template_for_each_stack(tmp_path: Path) -> None:
    (tmp_path / "prod-text.template.json").write_text('{"Resources": {}}')
    (tmp_path / "manifest.json").write_text("{}")
    assert templates(tmp_path) == {"prod-text": {"Resources": {}}}
