"""What a change is compared with."""

import json

import pytest

from release.checkouts import Clone
from release.review.commit import checked_out
from release.review.synthesis import KEPT, synthesis_of
from release.tree import CheckoutError, NotSynthesised, Tree
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import APP, write


def test_a_branch_is_compared_with_where_it_began(clone: Clone) -> None:
    clone.git("checkout", "--quiet", "-b", "change")
    write(clone, "stages/new.yaml", "region: us-east-1\n")
    commit(clone)
    clone.git("checkout", "--quiet", "main")
    write(clone, "stages/merged-since.yaml", "region: us-east-1\n")
    commit(clone)
    clone.git("checkout", "--quiet", "change")
    with checked_out(clone, "main") as base:
        assert base.stages() == ["prod"]


def test_a_commit_of_another_history_is_compared_itself(clone: Clone) -> None:
    clone.git("checkout", "--quiet", "--orphan", "other")
    write(clone, "stages/other.yaml", "region: us-east-1\n")
    commit(clone)
    with checked_out(clone, "main") as base:
        assert base.stages() == ["prod"]


def test_a_commit_that_is_not_there_is_named(clone: Clone) -> None:
    with pytest.raises(CheckoutError, match="there is no commit nowhere: fetch it"):
        checked_out(clone, "nowhere").__enter__()


def test_the_templates_of_a_commit_are_made_once(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    with checked_out(clone, "main") as base:
        made = base.synth("prod")
    monkeypatch.delattr(Tree, "synthesise")
    with checked_out(clone, "main") as again:
        assert again.synth("prod") == made


@pytest.mark.parametrize("changed", ["app.py", "requirements.txt", "stages/prod.yaml"])
def test_templates_made_of_something_else_are_not_taken(clone: Clone, changed: str) -> None:
    with checked_out(clone, "main") as base:
        made = base.synth("prod")
        write(base, "assemblies/prod/prod-text.template.json", '{"Resources": {}}')
        write(base, changed, (base.root / changed).read_text() + "\n# more")
        assert base.synth("prod") != made


def test_a_variable_that_the_cdk_reads_counts_too(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = synthesis_of(clone, "prod")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-west-1")
    synthesis_of(clone, "prod")
    assert len(list((clone.root / "review.out" / "templates" / "prod").iterdir())) == 2
    assert made.templates.keys() == {"prod-text"}


def test_templates_that_are_long_not_asked_for_go(clone: Clone) -> None:
    for number in range(KEPT + 2):
        write(clone, "stages/prod.yaml", f"region: us-east-1\nzones: {number}\n")
        synthesis_of(clone, "prod")
    assert len(list((clone.root / "review.out" / "templates" / "prod").iterdir())) == KEPT


def test_templates_that_are_refused_are_left_where_the_reason_says(clone: Clone) -> None:
    write(clone, "app.py", f"{APP}\nraise SystemExit('error: refused')")
    with pytest.raises(NotSynthesised, match=r"(?s)refused.*in review\.out/refused/head/prod$"):
        synthesis_of(clone, "prod")
    left = clone.root / "review.out" / "refused" / "head" / "prod"
    assert [it.name for it in left.iterdir()] == ["prod-text.template.json"]


def test_what_the_app_acknowledges_is_told(clone: Clone) -> None:
    finding = {"Annotation::AwsSolutions-IAM5": "one key"}
    told = {
        "/prod-text/Role": [
            {"type": "aws:cdk:acknowledged-rules", "data": finding},
            {"type": "aws:cdk:logicalId", "data": "Role"},
        ]
    }
    write(clone, "assemblies/prod/prod-text.metadata.json", json.dumps(told))
    assert synthesis_of(clone, "prod").acknowledged == (
        "cdk-nag: prod-text/Role: AwsSolutions-IAM5: one key",
    )
