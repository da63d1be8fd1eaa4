"""The lifecycle of one stage: deploy, invoke, change, fail, roll back and destroy.

The tests depend on each other, in the order of this file. The stage `local` has `line`, which a
build exports and compares with PyTorch, `twice`, which is changed, and the rows of the table
`demand`. The demo deploys the unchanged stage (tests/readme/test_readme.py).
"""

import json
import shutil
import zipfile
from contextlib import chdir
from pathlib import Path

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from local_sagemaker import ACCOUNT
from local_sagemaker.tests.support.endpoint_caller import processes
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import times, write_python
from tests.local.commands import run_as
from tests.local.conftest import BUILD_REQUIREMENTS, ROOT, Checkout, local_target
from tests.local.invoking import call_repeatedly, predict
from tests.local.line_model import write_line
from tests.local.stage_resources import bucket_keys, build_ids, models_bucket
from tests.tritonsm import tritonsm

TWICE, CODE = "models/twice", "models/twice/twice/1/model.py"
FIRST_ASSEMBLY = "cdk.out.first"
NUMBERS = np.array([[0], [1], [7]], np.float32)
DAY = np.array([[10, 0, 0, 0]], np.float32)
ROWS = {"demand-berlin": 105.0, "demand-lyon": 145.0, "demand-porto": 82.5}
"""The answer of each row for `DAY`."""


@pytest.fixture(scope="module")
def deployed(checkout: Checkout) -> Checkout:
    shutil.copy2(ROOT / BUILD_REQUIREMENTS, checkout.path / BUILD_REQUIREMENTS)
    write_line(checkout.path / "models" / "line")
    write_python(checkout.path / TWICE, times(2))
    shutil.copytree(ROOT / "models" / "demand", checkout.path / "models" / "demand")
    checkout.edit("stages/local.yaml", "models: [minilm]", "models: [line, twice, demand]")
    checkout.deploy()
    shutil.copytree(checkout.path / "cdk.out", checkout.path / FIRST_ASSEMBLY)
    return checkout


@pytest.fixture(scope="module")
def client(deployed: Checkout) -> EndpointClient:
    session = deployed.aws.session("application")
    return EndpointClient(stage="local", endpoint="text", catalog_ttl=0, session=session)


def test_json_and_binary_responses_are_equal(client: EndpointClient) -> None:
    json_output, binary = (
        client.invoke("line", {"INPUT__0": NUMBERS}, binary=binary)["OUTPUT__0"]
        for binary in (False, True)
    )
    assert binary.shape == NUMBERS.shape
    assert np.abs(json_output - binary).max() <= 1e-6
    zero, one, seven = binary[:, 0]
    assert seven - zero == pytest.approx(7 * (one - zero), abs=1e-5)


def test_deployed_stacks_have_no_diff(deployed: Checkout) -> None:
    deployed.cdk("diff", "--fail", "--app", "cdk.out")


def units(client: EndpointClient) -> dict[str, float]:
    """Return the answer of each row of the table `demand`."""
    names = [name for name in client.models() if name.startswith("demand-")]
    return {name: float(client.invoke(name, {"DAY": DAY})["UNITS"][0, 0]) for name in names}


def test_changed_model_and_row_are_rebuilt_alone(
    deployed: Checkout, client: EndpointClient
) -> None:
    before, line, builds = client.resolve("twice"), client.resolve("line"), build_ids()
    rows = {name: client.resolve(name).version for name in ROWS}
    assert units(client) == pytest.approx(ROWS)
    deployed.edit("models/demand/weights/lyon.json", "140.0", "150.0")
    code = (deployed.path / CODE).read_text()
    (deployed.path / CODE).write_text(f"# A comment.\n{code}")

    diff = deployed.cdk("diff", "--fail", code=1)
    changed_types = [line.split()[1] for line in diff.splitlines() if line.startswith("[~]")]
    assert changed_types == [
        *("Metadata", "Custom::TritonModels", "Custom::TritonCatalog"),
        *("Custom::TritonUpdateGuard", "Output"),
    ]

    with call_repeatedly(lambda: predict(client, "twice")):
        deployed.deploy_assembly()
    after = client.resolve("twice")
    assert after.version != before.version
    assert client.resolve("line") == line
    assert units(client) == pytest.approx({**ROWS, "demand-lyon": 155.0})
    assert [name for name in ROWS if client.resolve(name).version != rows[name]] == ["demand-lyon"]
    assert len(build_ids()) == len(builds) + 2
    archives = {f"{_prefix(deployed)}{entry.target_model}" for entry in (before, after)}
    assert archives <= set(bucket_keys(models_bucket("local")))


def test_failed_gate_changes_nothing_but_other_archives_are_built(
    deployed: Checkout, client: EndpointClient
) -> None:
    before, keys = client.resolve("twice"), bucket_keys(models_bucket("local"))
    write_python(deployed.path / "models" / "third", times(3))
    shutil.rmtree(deployed.path / TWICE)
    write_line(deployed.path / TWICE)
    deployed.edit(f"{TWICE}/export.py", "Linear(1, 1)", "Dropout(0.5)")
    with (
        deployed.edited(
            "stages/local.yaml", "[line, twice, demand]", "[line, third, twice, demand]"
        ),
        call_repeatedly(lambda: predict(client, "twice")),
    ):
        output = " ".join(deployed.deploy(code=1).split())
    assert "1 of 6 archives were not built. twice: " in output
    assert "the recipe's gate allows 1.00e-06: nothing is published" in output
    assert client.resolve("twice") == before
    archives = {*bucket_keys(models_bucket("local"))} - {*keys}
    assert sorted(key.rpartition("-")[0] for key in archives if key.startswith("text/")) == [
        f"{_prefix(deployed)}third",
        f"{_prefix(deployed)}third",
    ]


def test_report_explains_the_failed_build(deployed: Checkout, tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    with chdir(deployed.path):
        finished = run_as("report", tritonsm, "report", "local", "--output", str(file))
    assert finished.returncode == 0, finished.stderr
    with zipfile.ZipFile(file) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert texts.pop("problems.txt") == ""
    logs = "".join(text for name, text in texts.items() if name.startswith("logs/"))
    assert "the recipe's gate allows 1.00e-06: nothing is published" in logs
    assert "TargetModel: twice-" in texts["logs/aws-sagemaker-Endpoints-local-text.log"]
    assert "UPDATE_ROLLBACK_COMPLETE" in texts["stacks/local-text-events.json"]
    assert json.loads(texts["endpoints/local-text.json"])["EndpointStatus"] == "InService"
    assert "text" in json.loads(texts["plan.json"])["endpoints"]
    assert ACCOUNT not in "".join(texts.values())


def test_rollback_uses_the_old_archive(deployed: Checkout, client: EndpointClient) -> None:
    builds, changed = build_ids(), client.resolve("twice")
    deployed.deploy_assembly(assembly=FIRST_ASSEMBLY)
    assert build_ids() == builds
    current = client.resolve("twice")
    assert current != changed
    archive = f"{_prefix(deployed)}{current.target_model}"
    assert archive in bucket_keys(models_bucket("local"))
    predict(client, "twice")


def test_status_names_log_groups_and_policies_changed_by_hand(deployed: Checkout) -> None:
    def differences() -> dict[str, str]:
        with chdir(deployed.path):
            finished = run_as("status", tritonsm, "status", "local", "--json")
        report = json.loads(finished.stdout)
        assert report["denied"] == []
        return {row["subject"]: row["text"] for row in report["differences"]}

    assert differences() == {}
    logs, iam, s3 = boto3.client("logs"), boto3.client("iam"), boto3.client("s3")
    group, bucket = "/aws/sagemaker/Endpoints/local-text", models_bucket("local")
    roles = [role["RoleName"] for role in iam.list_roles()["Roles"]]
    (role,) = (name for name in roles if name.startswith("local-text-EndpointRole"))
    (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    logs.delete_log_group(logGroupName=group)
    iam.delete_role_policy(RoleName=role, PolicyName=policy)
    document["Statement"].pop()
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(document))
    stack = boto3.client("cloudformation").describe_stack_resources(StackName="local-models")
    kinds = {row["ResourceType"]: row["PhysicalResourceId"] for row in stack["StackResources"]}
    key = kinds["AWS::KMS::Key"]
    owner = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}
    boto3.client("kms").put_key_policy(KeyId=key, Policy=json.dumps({"Statement": [owner]}))
    assert differences() == {
        group: "the log group was deleted",
        f"inline policy {policy} of {role}": "was deleted",
        f"policy of bucket {bucket}": "differs from the deployed template",
        f"policy of key {key}": "differs from the deployed template",
    }


def test_destroy_keeps_archives_and_stops_triton(
    deployed: Checkout, local_sagemaker: LocalSageMaker
) -> None:
    keys = bucket_keys(models_bucket("local"))
    deployed.cdk("destroy", "--all", "--force", "--app", "cdk.out")
    assert bucket_keys(models_bucket("local")) == keys
    sagemaker = boto3.client("sagemaker")
    assert sagemaker.list_endpoints()["Endpoints"] == []
    assert sagemaker.list_endpoint_configs()["EndpointConfigs"] == []
    assert sagemaker.list_models()["Models"] == []
    assert processes(local_sagemaker.folder.instances) == []


def _prefix(deployed: Checkout) -> str:
    return f"text/{local_target(deployed.aws, 'cpu-24.09')}/"
