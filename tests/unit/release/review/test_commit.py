"""What a change is compared with."""

import json

import pytest

from release.checkouts import Clone
from release.review.commit import checked_out
from release.review.synthesis import synthesis_of
from release.tree import CheckoutError
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import write


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


def test_the_templates_of_a_commit_are_made_once(clone: Clone) -> None:
    with checked_out(clone, "main") as base:
        made = base.synth("prod")
    with checked_out(clone, "main") as again:
        (again.root / "app.py").unlink()
        assert again.synth("prod").templates == made.templates


@pytest.mark.parametrize("is_committed", [True, False], ids=["another commit", "other packages"])
def test_the_templates_of_another_base_are_not_taken(clone: Clone, is_committed: bool) -> None:
    with checked_out(clone, "main") as base:
        base.synth("prod")
    write(clone, "requirements.txt", "aws-cdk-lib==3.0.0")
    if is_committed:
        commit(clone)
    with checked_out(clone, "main") as other:
        assert not other.cache.exists()
        assert not base.cache.exists()


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
