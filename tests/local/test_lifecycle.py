"""The life of one deployment, in the order of this file: deploy, invoke, change, break, go back."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest
from botocore.config import Config

from endpoint_client import EndpointClient, ModelFailed, UnknownModel
from models.minilm.tests.reference import embeddings
from tests.local.conftest import Checkout, LocalAws
from tests.local.invoking import invoked_all_the_while

ALLOWED, IMPOSSIBLE = (f"max_absolute_difference: {value}" for value in ("5.0e-5", "1.0e-12"))
SENTENCES = ["That is a happy person", "That is a very happy person", "Grüße, 世界 ☀", ""]


@pytest.fixture(scope="module")
def client(checkout: Checkout) -> EndpointClient:
    return EndpointClient(stage="local", endpoint="text", catalog_ttl=0)


def test_plain_boto3_sees_the_endpoint_in_service(checkout: Checkout) -> None:
    sagemaker = boto3.client("sagemaker")
    endpoint = sagemaker.describe_endpoint(EndpointName="local-text")
    assert endpoint["EndpointStatus"] == "InService"
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    (variant,) = config["ProductionVariants"]
    model = sagemaker.describe_model(ModelName=variant["ModelName"])
    assert model["PrimaryContainer"]["Mode"] == "MultiModel"


def test_plain_boto3_invokes_with_target_model(checkout: Checkout) -> None:
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName="local-text",
        TargetModel=_entry()["target_model"],
        ContentType="application/json",
        Body=json.dumps(
            {"inputs": [{"name": "TEXT", "shape": [1, 1], "datatype": "BYTES", "data": ["hi"]}]}
        ),
    )
    assert answer["InvokedProductionVariant"] == "AllTraffic"
    (output,) = json.loads(answer["Body"].read())["outputs"]
    assert output["shape"] == [1, 384]
    assert np.linalg.norm(output["data"]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("binary", [True, False])
def test_answers_equal_the_framework_s_own(client: EndpointClient, binary: bool) -> None:
    answer = client.invoke("minilm", {"TEXT": SENTENCES}, binary=binary)["EMBEDDING"]
    assert np.abs(answer - embeddings(SENTENCES)).max() <= 1e-5


def test_manifest_beside_the_archive_says_how_it_was_proven(checkout: Checkout) -> None:
    (key,) = [key for key in _keys() if key.endswith(".json")]
    body = boto3.client("s3").get_object(Bucket=_bucket(), Key=key)["Body"].read()
    manifest = json.loads(body)
    (gate,) = manifest["gates"].values()
    assert 0 < gate["max_absolute_difference"] <= gate["allowed"]
    archive = (
        boto3.client("s3")
        .get_object(Bucket=_bucket(), Key=key.removesuffix(".json") + ".tar.gz")["Body"]
        .read()
    )
    assert len(archive) == manifest["archive"]["bytes"]
    assert hashlib.sha256(archive).hexdigest() == manifest["archive"]["sha256"]


def test_unknown_model_lists_the_models_there_are(client: EndpointClient) -> None:
    with pytest.raises(UnknownModel, match="there are minilm"):
        client.invoke("mini", {"TEXT": ["hi"]})


def test_triton_s_refusal_reaches_the_caller(client: EndpointClient) -> None:
    with pytest.raises(ModelFailed, match="batch-size must be <= 64") as failure:
        client.invoke("minilm", {"TEXT": ["hi"] * 65})
    assert failure.value.status == 400


def test_archive_that_is_not_there_is_a_validation_error(checkout: Checkout) -> None:
    runtime = boto3.client("sagemaker-runtime")
    with pytest.raises(runtime.exceptions.ClientError, match="Failed to download model data"):
        runtime.invoke_endpoint(EndpointName="local-text", TargetModel="no.tar.gz", Body=b"")


def test_configuration_in_use_cannot_be_deleted(checkout: Checkout) -> None:
    sagemaker = boto3.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName="local-text")["EndpointConfigName"]
    with pytest.raises(sagemaker.exceptions.ClientError, match="endpoint local-text uses it"):
        sagemaker.delete_endpoint_config(EndpointConfigName=config)


def test_bad_request_is_refused_as_botocore_s_service_model_says(checkout: Checkout) -> None:
    unchecked = boto3.client("sagemaker", config=Config(parameter_validation=False))
    with pytest.raises(unchecked.exceptions.ClientError, match="EndpointConfigName"):
        unchecked.create_endpoint(EndpointName="new")  # type: ignore[call-arg]


def test_triton_is_reachable_through_its_socket_alone(local_aws: LocalAws) -> None:
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    triton_port = f":{8080:04X} "
    assert not [line for line in listening.splitlines() if triton_port in line and " 0A " in line]


def test_scaling_target_must_be_a_variant_of_an_endpoint(checkout: Checkout) -> None:
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
    (found,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert found["MaxCapacity"] == 2
    scaling.deregister_scalable_target(
        **target, ResourceId="endpoint/local-text/variant/AllTraffic"
    )


def test_deployed_stacks_do_not_differ_from_the_code(checkout: Checkout) -> None:
    diff = checkout.cdk("diff", "--fail")
    assert diff.returncode == 0, diff.stdout


def test_one_word_in_a_model_rebuilds_that_model_alone(
    checkout: Checkout, client: EndpointClient
) -> None:
    before = client.resolve("minilm")
    checkout.edit("models/minilm/tokenizer/1/model.py", "padded to the longest", "padded to")

    diff = checkout.cdk("diff", "--fail")
    assert diff.returncode == 1
    changed = [line.split()[1] for line in diff.stdout.splitlines() if line.startswith("[~]")]
    assert changed == ["Custom::TritonModel", "AWS::SSM::Parameter"]
    assert f"-] text/cpu-24.09/{before.target_model}" in diff.stdout

    with invoked_all_the_while(lambda: client.invoke("minilm", {"TEXT": ["hi"]})):
        deployed = checkout.deploy()
    assert deployed.returncode == 0, deployed.stdout
    after = client.resolve("minilm")
    assert after.version != before.version
    assert {f"text/cpu-24.09/{it.target_model}" for it in (before, after)} <= set(_keys())


def test_build_that_fails_its_gate_leaves_everything_as_it_was(
    checkout: Checkout, client: EndpointClient
) -> None:
    before, keys = client.resolve("minilm"), _keys()
    checkout.edit("models/minilm/recipe.yaml", ALLOWED, IMPOSSIBLE)
    with invoked_all_the_while(lambda: client.invoke("minilm", {"TEXT": ["hi"]})):
        deployed = checkout.deploy()
    assert deployed.returncode == 1
    said = " ".join(deployed.stdout.split())
    assert "Build of minilm failed in phase BUILD" in said
    assert "the recipe's gate allows 1.00e-12: nothing is published" in said
    (log,) = {part for part in said.split() if part.endswith("build.log")}
    assert "making encoder/1/model.onnx" in Path(log).read_text()
    assert client.resolve("minilm") == before
    assert _keys() == keys


def test_going_back_finds_the_old_archive_and_builds_nothing(
    checkout: Checkout, client: EndpointClient
) -> None:
    builds = boto3.client("codebuild").list_builds()["ids"]
    checkout.edit("models/minilm/recipe.yaml", IMPOSSIBLE, ALLOWED)
    checkout.edit("models/minilm/tokenizer/1/model.py", "padded to", "padded to the longest")
    deployed = checkout.deploy()
    assert deployed.returncode == 0, deployed.stdout
    assert boto3.client("codebuild").list_builds()["ids"] == builds
    assert client.invoke("minilm", {"TEXT": ["hi"]})["EMBEDDING"].shape == (1, 384)


def test_broken_stage_is_refused_before_anything_is_changed(checkout: Checkout) -> None:
    checkout.edit("stages/local.yaml", "instance_type:", "instnce_type:")
    deployed = checkout.deploy()
    checkout.edit("stages/local.yaml", "instnce_type:", "instance_type:")
    assert deployed.returncode == 1
    assert "stages/local.yaml:9: endpoints.text.instnce_type: unknown key; write instance_type" in (
        deployed.stdout
    )


def test_destroy_keeps_the_archives_and_ends_triton(
    checkout: Checkout, local_aws: LocalAws
) -> None:
    keys = _keys()
    destroyed = checkout.cdk("destroy", "--all", "--force")
    assert destroyed.returncode == 0, destroyed.stdout
    assert _keys() == keys
    assert boto3.client("sagemaker").list_endpoints()["Endpoints"] == []
    assert _processes_naming(str(local_aws.folder.instances)) == []


def _entry() -> dict[str, Any]:
    value = boto3.client("ssm").get_parameter(Name="/triton/local/text/minilm")
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


def _processes_naming(text: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if text in command and process.name != str(os.getpid()):
            found.append(command)
    return found
