"""What is asked of an account before a deploy: by a preflight, and by a review of what is deployed.

In the order of this file: in the middle, a stage is deployed.
"""

import json
import subprocess
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker import ACCOUNT, REGION
from local_sagemaker.settings import QUOTAS
from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from release.preflight.__main__ import main
from release.review.assemblies import write
from release.review.deployed import Deployed
from release.review.findings import NOTHING
from release.review.model_changes import Cause
from release.review.report import StageReview, review_stage
from release.tree import NotSynthesised, Tree
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.permissions import beyond_the_ledger

UNNAMED = "preflight called access-analyzer:POST on *"
"""Preflight's one call of an API that the local SageMaker lacks: it cannot name the action."""
M5 = "ml.m5.xlarge for endpoint usage"
STAGE = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math: { models: [times], instance_type: ml.m5.xlarge, instance_count: COUNT }
"""


@pytest.fixture(scope="module")
def local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An account with a quota that two instances just fit into."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(QUOTAS, json.dumps({M5: 2}))
        with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
            yield aws
            assert list(beyond_the_ledger(aws.folder.calls)) == [UNNAMED]


def stage(path: Path, name: str, *, count: int = 2, release: str = "24.09") -> None:
    text = STAGE.replace("COUNT", str(count)).replace("24.09", release)
    (path / "stages" / f"{name}.yaml").write_text(text)


Rows = dict[str, dict[str, str]]


def preflight(path: Path, name: str, *options: str) -> tuple[int, Rows]:
    """Return the exit code, and the rows by their subjects."""
    with chdir(path):
        finished = run_as("preflight", main, name, "--json", *options)
    assert finished.stdout, finished.stderr
    return finished.returncode, {it["subject"]: it for it in json.loads(finished.stdout)["rows"]}


def refused(rows: Rows) -> dict[str, str]:
    return {name: it["said"] for name, it in rows.items() if it["verdict"] == "refused"}


@pytest.fixture(scope="module")
def app(checkout: Checkout) -> Checkout:
    subprocess.run(["git", "init", "--quiet"], cwd=checkout.path, check=True)
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    return checkout


def test_a_stage_that_fits_is_right_and_what_is_not_emulated_unknown(app: Checkout) -> None:
    stage(app.path, "fits")
    code, rows = preflight(app.path, "fits", "--changesets")
    assert (code, refused(rows)) == (0, {})
    assert rows[M5]["said"] == "quota 2; 0 run, 2 at the peak of this deploy"
    assert rows[f"aws://{ACCOUNT}/{REGION}"]["verdict"] == "ok"
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:24.09-py3-cpu"
    assert rows[image]["said"] == "is there, and may be pulled"
    assert rows["fits-models"]["said"] == "CloudFormation would do it"
    assert rows["fits-math"]["said"] == "depends on fits-models, which is not deployed"
    unknown = {name for name, it in rows.items() if it["verdict"] == "unknown"}
    assert unknown == {"access", "prices", "fits-math"}
    left = boto3.client("cloudformation").describe_stacks()["Stacks"]
    assert [it["StackName"] for it in left] == ["CDKToolkit"]


def test_a_quota_that_is_too_low_and_an_image_that_is_missing_are_refused(app: Checkout) -> None:
    stage(app.path, "large", count=3, release="26.03")
    code, rows = preflight(app.path, "large")
    assert code == 1
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:26.03-py3-cpu"
    assert refused(rows) == {
        M5: "quota 2; 0 run, 3 at the peak of this deploy",
        image: "sagemaker-tritonserver of registry 763104351884 has no tag 26.03-py3-cpu",
    }
    assert "--quota-code L-2F737F8D --desired-value 3" in rows[M5]["do"]


def test_names_that_are_taken_are_refused(app: Checkout) -> None:
    stage(app.path, "taken")
    boto3.client("logs").create_log_group(logGroupName="/aws/sagemaker/Endpoints/taken-math")
    boto3.client("ssm").put_parameter(Name="/triton/taken/math/times", Value="{}", Type="String")
    boto3.client("s3").create_bucket(Bucket="taken-models-modelsbucket970c6ada-left")
    code, rows = preflight(app.path, "taken")
    assert code == 1
    assert refused(rows) == {
        "log group /aws/sagemaker/Endpoints/taken-math": (
            "exists, made by no stack: CloudFormation would not create it again"
        ),
        "parameter /triton/taken/math/times": (
            "exists, made by no stack: CloudFormation would not create it again"
        ),
    }
    assert rows["bucket taken-models-modelsbucket970c6ada-left"]["verdict"] == "ok"


def test_an_account_without_a_bootstrap_is_refused(app: Checkout) -> None:
    parameter = "/cdk-bootstrap/hnb659fds/version"
    ssm = boto3.client("ssm")
    version = ssm.get_parameter(Name=parameter)["Parameter"]["Value"]
    ssm.delete_parameter(Name=parameter)
    try:
        code, rows = preflight(app.path, "fits")
    finally:
        ssm.put_parameter(Name=parameter, Value=version, Type="String")
    assert code == 1
    assert list(refused(rows)) == [f"aws://{ACCOUNT}/{REGION}"]


def test_what_is_deployed_starts_nothing_and_an_update_a_second_fleet(app: Checkout) -> None:
    stage(app.path, "fits", count=1)
    deployed = Checkout(app.path, app.aws, stage="fits").deploy()
    assert deployed.returncode == 0, deployed.stdout
    code, rows = preflight(app.path, "fits")
    assert (code, refused(rows)) == (0, {})
    assert rows[M5]["said"] == "quota 2; 1 run, 1 at the peak of this deploy"
    stage(app.path, "fits", count=2)
    code, rows = preflight(app.path, "fits", "--changesets")
    assert (code, refused(rows)) == (0, {}), "the number that scaling chose is kept"
    assert rows[M5]["said"] == "quota 2; 1 run, 2 at the peak of this deploy"
    assert rows["fits-math"]["said"] == "CloudFormation would do it"
    sets = boto3.client("cloudformation").list_change_sets(StackName="fits-math")["Summaries"]
    assert [it for it in sets if it["ChangeSetName"].startswith("preflight-")] == []


Review = Callable[[], StageReview]
FITS = "stages/fits.yaml"


@pytest.fixture
def deployed(local_sagemaker: LocalSageMaker) -> Deployed:
    return Deployed(local_sagemaker.session("live-review"), "fits", ("fits", "prod"))


@pytest.fixture
def review(app: Checkout, deployed: Deployed, tmp_path: Path) -> Review:
    def against_what_is_deployed() -> StageReview:
        return review_stage(
            "fits",
            deployed,
            write(Tree(app.path), tmp_path, ["fits"]),
            missing=None,
            lint=lambda *_: NOTHING,
            acknowledgement=lambda _: None,
        )

    stage(app.path, "fits", count=1)
    return against_what_is_deployed


def _change_sets() -> list[str]:
    cloudformation = boto3.client("cloudformation")
    return [
        it["ChangeSetName"]
        for stack in ("fits-models", "fits-math")
        for it in cloudformation.list_change_sets(StackName=stack)["Summaries"]
        if it["ChangeSetName"].startswith("review-")
    ]


def test_what_was_just_deployed_does_not_change(review: Review) -> None:
    found = review()
    assert [stack.text for stack in found.stacks] == []
    assert found.no_base is None
    assert _change_sets() == []


def test_a_change_is_told_by_cloudformation_itself(app: Checkout, review: Review) -> None:
    with app.edited(FITS, "instance_type: ml.m5.xlarge", "instance_type: ml.m5.2xlarge"):
        found = review()
    (sentence,) = found.sentences
    assert "**fits-math**: updated in place, all at once" in sentence
    assert "ml.m5.xlarge -> ml.m5.2xlarge" in sentence
    impacts = {it.type: it.impact for stack in found.stacks for it in stack.changes}
    assert impacts["AWS::SageMaker::EndpointConfig"] == "WILL_REPLACE"
    assert _change_sets() == []


def test_a_model_s_code_is_rebuilt_for_the_deployed_one(app: Checkout, review: Review) -> None:
    with app.edited("models/times/times/1/model.py", "* 2", "* 3"):
        found = review()
    (model,) = found.models
    assert model.state == "rebuilt"
    assert model.because == (Cause("deployed"),)


def test_an_endpoint_that_goes_is_a_danger(app: Checkout, review: Review) -> None:
    with app.edited(FITS, "  math:", "  words:"):
        found = review()
    assert any("fits-math" in danger.key for danger, _ in found.dangers)
    assert any(it.startswith("**fits-words**: new") for it in found.sentences)


def test_a_stage_that_is_not_deployed_has_no_stacks(app: Checkout) -> None:
    nowhere = Deployed(boto3.Session(), "prod", ("fits", "prod"))
    assert nowhere.stages() == []
    with pytest.raises(NotSynthesised, match="fits was not asked for"):
        nowhere.synth("fits")
