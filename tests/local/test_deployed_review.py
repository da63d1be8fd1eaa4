"""A review against what is deployed: templates and change sets of CloudFormation's API."""

from collections.abc import Callable
from datetime import date

import boto3
import pytest

from release.review.deployed import Deployed
from release.review.findings import NOTHING
from release.review.model_changes import Cause
from release.review.report import StageReview, review_stage
from release.tree import NotSynthesised, Tree
from tests.local.conftest import Checkout, LocalAws
from tests.local.tiny_models import TIMES, write_python

STAGE = "stages/local.yaml"
Review = Callable[[], StageReview]


@pytest.fixture(scope="module", autouse=True)
def _deployed(checkout: Checkout) -> None:
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    checkout.edit(STAGE, "models: [minilm]", "models: [times]")
    deployed = checkout.deploy()
    assert deployed.returncode == 0, deployed.stdout


@pytest.fixture
def deployed(local_aws: LocalAws) -> Deployed:
    return Deployed(local_aws.session("live-review"), "local", ("local", "prod"))


@pytest.fixture
def review(checkout: Checkout, deployed: Deployed) -> Review:
    def against_what_is_deployed() -> StageReview:
        return review_stage(
            "local",
            deployed,
            Tree(checkout.path),
            today=date(2026, 11, 21),
            missing=None,
            lint=lambda *_: NOTHING,
        )

    return against_what_is_deployed


def _change_sets() -> list[str]:
    cloudformation = boto3.client("cloudformation")
    return [
        it["ChangeSetName"]
        for stack in ("local-models", "local-text")
        for it in cloudformation.list_change_sets(StackName=stack)["Summaries"]
        if it["ChangeSetName"].startswith("review-")
    ]


def test_what_was_just_deployed_does_not_change(review: Review) -> None:
    found = review()
    assert [stack.text for stack in found.stacks] == []
    assert found.no_base is None
    assert _change_sets() == []


def test_a_change_is_told_by_cloudformation_itself(checkout: Checkout, review: Review) -> None:
    with checkout.edited(STAGE, "instance_type: ml.m5.xlarge", "instance_type: ml.m5.2xlarge"):
        found = review()
    (sentence,) = found.sentences
    assert "**local-text**: updated in place, all at once" in sentence
    assert "ml.m5.xlarge -> ml.m5.2xlarge" in sentence
    impacts = {it.type: it.impact for stack in found.stacks for it in stack.changes}
    assert impacts["AWS::SageMaker::EndpointConfig"] == "WILL_REPLACE"
    assert _change_sets() == []


def test_a_model_s_code_is_rebuilt_for_the_deployed_one(checkout: Checkout, review: Review) -> None:
    with checkout.edited("models/times/times/1/model.py", "* 2", "* 3"):
        found = review()
    (model,) = found.models
    assert model.state == "rebuilt"
    assert model.because == (Cause("deployed"),)


def test_an_endpoint_that_goes_is_a_danger(checkout: Checkout, review: Review) -> None:
    with checkout.edited(STAGE, "  text:\n", "  words:\n"):
        found = review()
    assert any("local-text" in danger.key for danger, _ in found.dangers)
    assert any(it.startswith("**local-words**: new") for it in found.sentences)


def test_a_stage_that_is_not_deployed_has_no_stacks(checkout: Checkout) -> None:
    nowhere = Deployed(boto3.Session(), "prod", ("local", "prod"))
    assert nowhere.stages() == []
    with pytest.raises(NotSynthesised, match="local was not asked for"):
        nowhere.synth("local")
