from pathlib import Path

import pytest

from checkouts import CheckoutError, Stage, stage_file, templates


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
