"""What a preflight asks of an account before a deploy.

In the order of this file: in the middle, a stage is deployed.
"""

import json
import subprocess
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.settings import QUOTAS
from local_sagemaker.tests.support.running import local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.permissions import beyond_the_ledger
from tests.tritonsm import tritonsm

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
            assert list(beyond_the_ledger(aws.folder.calls)) == []


def stage(path: Path, name: str, *, count: int = 2, release: str = "24.09") -> None:
    text = STAGE.replace("COUNT", str(count)).replace("24.09", release)
    (path / "stages" / f"{name}.yaml").write_text(text)


Rows = dict[str, dict[str, str]]


def preflight(path: Path, name: str, *options: str) -> tuple[int, Rows]:
    """Return the exit code, and the findings by their subjects."""
    with chdir(path):
        finished = run_as("preflight", tritonsm, "preflight", name, "--json", *options)
    assert finished.stdout, finished.stderr
    return finished.returncode, {
        finding["subject"]: finding for finding in json.loads(finished.stdout)["findings"]
    }


def refused(rows: Rows) -> dict[str, str]:
    return {name: each["message"] for name, each in rows.items() if each["verdict"] == "refused"}


@pytest.fixture(scope="module")
def app(checkout: Checkout) -> Checkout:
    subprocess.run(["git", "init", "--quiet"], cwd=checkout.path, check=True)
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    return checkout


def test_a_stage_that_fits_is_right(app: Checkout) -> None:
    stage(app.path, "fits")
    code, rows = preflight(app.path, "fits")
    assert (code, refused(rows)) == (0, {})
    assert rows[M5]["message"] == "quota 2; 0 run, 2 at the peak of this deploy"
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:24.09-py3-cpu"
    assert rows[image]["message"] == "exists and can be pulled"
    assert {row["verdict"] for row in rows.values()} == {"ok"}


def test_a_quota_that_is_too_low_and_an_image_that_is_missing_are_refused(app: Checkout) -> None:
    stage(app.path, "large", count=3, release="26.03")
    code, rows = preflight(app.path, "large")
    assert code == 1
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:26.03-py3-cpu"
    assert refused(rows) == {
        M5: "quota 2; 0 run, 3 at the peak of this deploy",
        image: "sagemaker-tritonserver of registry 763104351884 has no tag 26.03-py3-cpu",
    }
    assert "--quota-code L-2F737F8D --desired-value 3" in rows[M5]["fix"]


def test_what_is_deployed_starts_nothing_and_an_update_a_second_fleet(app: Checkout) -> None:
    stage(app.path, "fits", count=1)
    deployed = Checkout(app.path, app.aws, stage="fits").deploy()
    assert deployed.returncode == 0, deployed.stdout
    code, rows = preflight(app.path, "fits")
    assert (code, refused(rows)) == (0, {})
    assert rows[M5]["message"] == "quota 2; 1 run, 1 at the peak of this deploy"
    stage(app.path, "fits", count=2)
    code, rows = preflight(app.path, "fits")
    assert (code, refused(rows)) == (0, {}), "the number that scaling chose is kept"
    assert rows[M5]["message"] == "quota 2; 1 run, 2 at the peak of this deploy"
