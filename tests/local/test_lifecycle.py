"""The life of one deployment, in the order of this file: deploy, invoke, change, break, roll back.

The stage `local` with `line`, which a build exports and compares with PyTorch, and `twice`, which
is changed. The demo deploys the stage as it ships (models/test_first_hour.py).
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest
from botocore.config import Config

from endpoint_client import EndpointClient, ModelFailed, UnknownModel
from local_sagemaker import ACCOUNT
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import times, write_python
from tests.local.builds import log_of_the_last_build
from tests.local.conftest import BUILD_REQUIREMENTS, ROOT, Checkout, target_in
from tests.local.invoking import call_repeatedly
from tests.local.line_model import write_line

TWICE, CODE = "models/twice", "models/twice/twice/1/model.py"
FIRST = "cdk.out.first"
"""The assembly that is deployed first."""
NUMBERS = np.array([[0], [1], [7]], np.float32)


@pytest.fixture(scope="module")
def listening_before() -> set[str]:
    return _listening_on_triton_s_port()


@pytest.fixture(scope="module")
def deployed(checkout: Checkout, listening_before: set[str]) -> Checkout:
    shutil.copy2(ROOT / BUILD_REQUIREMENTS, checkout.path / BUILD_REQUIREMENTS)
    write_line(checkout.path / "models" / "line")
    write_python(checkout.path / TWICE, times(2))
    checkout.edit("stages/local.yaml", "models: [minilm]", "models: [line, twice]")
    deployed = checkout.deploy()
    assert deployed.returncode == 0, deployed.stdout
    shutil.copytree(checkout.path / "cdk.out", checkout.path / FIRST)
    return checkout


@pytest.fixture(scope="module")
def client(deployed: Checkout) -> EndpointClient:
    session = deployed.aws.session("application")
    return EndpointClient(stage="local", endpoint="text", catalog_ttl=0, session=session)


def ask_twice(client: EndpointClient) -> float:
    answer = client.invoke("twice", {"X": np.array([[1]], np.float32)})
    return float(answer["Y"][0, 0])


def test_plain_boto3_sees_the_endpoint_in_service(deployed: Checkout) -> None:
    sagemaker = boto3.client("sagemaker")
    endpoint = sagemaker.describe_endpoint(EndpointName="local-text")
    assert endpoint["EndpointStatus"] == "InService"
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    (variant,) = config["ProductionVariants"]
    model = sagemaker.describe_model(ModelName=variant["ModelName"])
    assert model["PrimaryContainer"]["Mode"] == "MultiModel"


def test_plain_boto3_invokes_with_target_model(deployed: Checkout) -> None:
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName="local-text",
        TargetModel=_entry()["target_model"],
        ContentType="application/json",
        Body=json.dumps(
            {"inputs": [{"name": "INPUT__0", "shape": [1, 1], "datatype": "FP32", "data": [7]}]}
        ),
    )
    assert answer["InvokedProductionVariant"] == "AllTraffic"
    (output,) = json.loads(answer["Body"].read())["outputs"]
    assert output["shape"] == [1, 1]


def test_objects_lie_on_disk(deployed: Checkout) -> None:
    # And not in the emulator's memory, which archives would fill.
    bucket, archive = _bucket(), f"{_prefix(deployed)}{_entry()['target_model']}"
    file = deployed.aws.folder.objects / ACCOUNT / bucket / archive
    head = boto3.client("s3").head_object(Bucket=bucket, Key=archive)
    assert file.stat().st_size == head["ContentLength"]


def test_answers_as_json_and_in_binary_are_equal(client: EndpointClient) -> None:
    text, binary = (
        client.invoke("line", {"INPUT__0": NUMBERS}, binary=binary)["OUTPUT__0"]
        for binary in (False, True)
    )
    assert binary.shape == NUMBERS.shape
    assert np.abs(text - binary).max() <= 1e-6
    zero, one, seven = binary[:, 0]
    assert seven - zero == pytest.approx(7 * (one - zero), abs=1e-5)


def test_manifest_beside_the_archive_says_how_it_was_proven(deployed: Checkout) -> None:
    (key,) = [key for key in _keys() if "line" in key and key.endswith(".json")]
    body = boto3.client("s3").get_object(Bucket=_bucket(), Key=key)["Body"].read()
    manifest = json.loads(body)
    (gate,) = manifest["gates"].values()
    assert 0 <= gate["max_absolute_difference"] <= gate["allowed"]
    archive = (
        boto3.client("s3")
        .get_object(Bucket=_bucket(), Key=key.removesuffix(".json") + ".tar.gz")["Body"]
        .read()
    )
    assert len(archive) == manifest["archive"]["bytes"]
    assert hashlib.sha256(archive).hexdigest() == manifest["archive"]["sha256"]


def test_unknown_model_lists_the_models_there_are(client: EndpointClient) -> None:
    with pytest.raises(UnknownModel, match="there are line, twice"):
        client.invoke("lin", {"INPUT__0": NUMBERS})


def test_triton_s_refusal_reaches_the_caller(client: EndpointClient) -> None:
    with pytest.raises(ModelFailed, match="batch-size must be <= 8") as failure:
        client.invoke("line", {"INPUT__0": np.zeros((9, 1), np.float32)})
    assert failure.value.status == 400


def test_archive_that_is_not_there_is_a_validation_error(deployed: Checkout) -> None:
    runtime = boto3.client("sagemaker-runtime")
    with pytest.raises(runtime.exceptions.ClientError, match="Failed to download model data"):
        runtime.invoke_endpoint(EndpointName="local-text", TargetModel="no.tar.gz", Body=b"")


def test_a_configuration_in_use_can_be_deleted_as_sdk_v2_does(
    deployed: Checkout, client: EndpointClient
) -> None:
    sagemaker = boto3.client("sagemaker")
    name = sagemaker.describe_endpoint(EndpointName="local-text")["EndpointConfigName"]
    config = sagemaker.describe_endpoint_config(EndpointConfigName=name)
    sagemaker.delete_endpoint_config(EndpointConfigName=name)
    ask_twice(client)
    sagemaker.create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=config["ProductionVariants"]
    )  # for the stack


def test_bad_request_is_refused_as_botocore_s_service_model_says(deployed: Checkout) -> None:
    unchecked = boto3.client("sagemaker", config=Config(parameter_validation=False))
    with pytest.raises(unchecked.exceptions.ClientError, match="EndpointConfigName"):
        unchecked.create_endpoint(EndpointName="new")  # type: ignore[call-arg]


def test_triton_is_reachable_through_its_socket_alone(
    listening_before: set[str], client: EndpointClient
) -> None:
    ask_twice(client)
    assert _listening_on_triton_s_port() <= listening_before


def test_scaling_target_must_be_a_variant_of_an_endpoint(deployed: Checkout) -> None:
    scaling = boto3.client("application-autoscaling")
    target: dict[str, Any] = {
        "ServiceNamespace": "sagemaker",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    with pytest.raises(scaling.exceptions.ClientError, match="variant not found"):
        scaling.register_scalable_target(
            **target, ResourceId="endpoint/local-text/variant/Other", MinCapacity=1, MaxCapacity=2
        )
    scaling.register_scalable_target(
        **target, ResourceId="endpoint/local-text/variant/AllTraffic", MinCapacity=1, MaxCapacity=2
    )
    (result,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert result["MaxCapacity"] == 2
    scaling.deregister_scalable_target(
        **target, ResourceId="endpoint/local-text/variant/AllTraffic"
    )


def test_deployed_stacks_do_not_differ_from_the_code(deployed: Checkout) -> None:
    diff = deployed.again("diff", "--fail")
    assert diff.returncode == 0, diff.stdout


def test_one_word_in_a_model_rebuilds_that_model_alone(
    deployed: Checkout, client: EndpointClient
) -> None:
    before, line, builds = client.resolve("twice"), client.resolve("line"), _builds()
    deployed.edit(CODE, "given = [", "given = numbers = [")

    diff = deployed.cdk("diff", "--fail")
    assert diff.returncode == 1
    changed = [line.split()[1] for line in diff.stdout.splitlines() if line.startswith("[~]")]
    named = ["AWS::SSM::Parameter", "Custom::TritonUpdateGuard"]
    assert changed == ["Custom::TritonModel", *named]
    assert f"-] {_prefix(deployed)}{before.target_model}" in diff.stdout

    with call_repeatedly(lambda: ask_twice(client)):
        changed_now = deployed.again("deploy", "--all", "--require-approval", "never")
    assert changed_now.returncode == 0, changed_now.stdout
    after = client.resolve("twice")
    assert after.version != before.version
    assert client.resolve("line") == line
    assert len(_builds()) == len(builds) + 1
    assert {f"{_prefix(deployed)}{each.target_model}" for each in (before, after)} <= set(_keys())


def test_build_that_fails_its_gate_leaves_everything_as_it_was(
    deployed: Checkout, client: EndpointClient
) -> None:
    before, keys = client.resolve("twice"), _keys()
    shutil.rmtree(deployed.path / TWICE)
    write_line(deployed.path / TWICE)
    deployed.edit(f"{TWICE}/export.py", "Linear(1, 1)", "Dropout(0.5)")
    with call_repeatedly(lambda: ask_twice(client)):
        failed = deployed.deploy()
    assert failed.returncode == 1
    printed = " ".join(failed.stdout.split())
    assert "Build of twice failed" in printed
    assert "the recipe's gate allows 1.00e-06: nothing is published" in printed
    assert "making line/1/model.onnx" in log_of_the_last_build()
    assert client.resolve("twice") == before
    assert _keys() == keys


def test_rolling_back_finds_the_old_archive_and_builds_nothing(
    deployed: Checkout, client: EndpointClient
) -> None:
    builds, changed = _builds(), client.resolve("twice")
    deploy = "deploy", "--all", "--require-approval", "never"
    rolled_back = deployed.cdk(*deploy, "--app", FIRST)
    assert rolled_back.returncode == 0, rolled_back.stdout
    assert _builds() == builds
    (current,) = {client.resolve("twice")} - {changed}
    assert f"{_prefix(deployed)}{current.target_model}" in _keys()
    ask_twice(client)


def test_destroy_keeps_the_archives_and_ends_triton(
    deployed: Checkout, local_sagemaker: LocalSageMaker
) -> None:
    keys = _keys()
    destroyed = deployed.again("destroy", "--all", "--force")
    assert destroyed.returncode == 0, destroyed.stdout
    assert _keys() == keys
    assert boto3.client("sagemaker").list_endpoints()["Endpoints"] == []
    assert _processes_naming(str(local_sagemaker.folder.instances)) == []


def _listening_on_triton_s_port() -> set[str]:
    """Return the sockets of this machine that listen on 8080, each as address and inode."""
    lines = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()
    ]
    return {
        f"{each[1]} {each[9]}"
        for each in lines
        if each[1].endswith(f":{8080:04X}") and each[3] == "0A"
    }


def _builds() -> list[str]:
    return boto3.client("codebuild").list_builds()["ids"]


def _entry() -> dict[str, Any]:
    value = boto3.client("ssm").get_parameter(Name="/triton/local/text/line")
    result: dict[str, Any] = json.loads(value["Parameter"]["Value"])
    return result


def _bucket() -> str:
    (name,) = [
        bucket["Name"]
        for bucket in boto3.client("s3").list_buckets()["Buckets"]
        if bucket["Name"].startswith("local-models-modelsbucket")
    ]
    return name


def _keys() -> list[str]:
    listed = boto3.client("s3").list_objects_v2(Bucket=_bucket())
    return [content["Key"] for content in listed.get("Contents", [])]


def _prefix(deployed: Checkout) -> str:
    return f"text/{target_in(deployed.aws, 'cpu-24.09')}/"


def _processes_naming(text: str) -> list[str]:
    result = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if text in command and process.name != str(os.getpid()):
            result.append(command)
    return result
