import importlib.metadata
import json
from pathlib import Path

import pytest

from local_sagemaker.environment import client_environment
from local_sagemaker.folder import Folder, RunningSageMaker


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset NO_PROXY and no_proxy."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def environment_of_clients() -> dict[str, str]:
    running = RunningSageMaker(pid=1, port=4566, python="3.10")
    return client_environment(running, Folder(Path("/state")))


def test_client_environment_has_endpoint_url_and_python_version() -> None:
    environment = environment_of_clients()
    stand_ins = json.loads(environment.pop("TRITON_STAND_INS"))
    assert stand_ins["onnxruntime"] == f"onnxruntime {importlib.metadata.version('onnxruntime')}"
    assert stand_ins.keys() == {"dali", "fil", "onnxruntime", "pytorch"}
    assert environment == {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_HOME": "/state/cdk_home",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "AWS_USE_FIPS_ENDPOINT": "false",
        "AWS_USE_DUALSTACK_ENDPOINT": "false",
        "TRITON_PYTHON": "3.10",
    }


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_loopback_is_added_to_existing_no_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, ".example.com, 127.0.0.1")
    environment = environment_of_clients()
    assert environment["NO_PROXY"] == environment["no_proxy"] == ".example.com,127.0.0.1"


def test_service_specific_endpoint_url_is_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.example.com")
    environment = environment_of_clients()
    assert environment["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:4566"
