"""A deploy by hand, such as `cdk deploy`: `status` names it, and a delivery asks first."""

from contextlib import chdir

import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import TIMES
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.invoking import predict
from tests.local.repository import Repository
from tests.tritonsm import tritonsm

pytestmark = pytest.mark.drill

STAGE = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
"""


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    repository = Repository.create(checkout, hand=STAGE)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.commit("twice")
    repository.deliver()
    return repository


def status(repository: Repository) -> str:
    with chdir(repository.path):
        process = run_as("status", tritonsm, "status", "hand")
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_deploy_by_hand_is_shown_and_needs_take_over(repository: Repository) -> None:
    assert "deployed by hand" not in status(repository)
    repository.edit("stages/hand.yaml", "ml.m5.xlarge", "ml.m5.2xlarge")
    repository.deploy()
    repository.git("checkout", "--quiet", "stages/hand.yaml")
    assert "hand-math: deployed by hand after the delivery of" in status(repository)
    refusal = repository.deliver(code=1)
    assert "hand-math: deployed by hand after the delivery of" in refusal
    assert "To replace them: TAKE_OVER=1" in refusal
    repository.deliver("--take-over")
    assert "deployed by hand" not in status(repository)
    assert predict(EndpointClient(stage="hand", endpoint="math")) == 14
