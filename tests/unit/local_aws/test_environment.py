from pathlib import Path

from local_aws.environment import ACCOUNT, REGION, client_environment
from local_aws.folder import Folder, Running


def test_clients_are_pointed_at_the_local_aws_and_the_app_is_told_its_python() -> None:
    environment = client_environment(
        Running(pid=1, port=4566, python="3.10"), Folder(Path("/state"))
    )
    assert environment == {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_HOME": "/state/cdk_home",
        "TRITON_PYTHON": "3.10",
    }


def test_the_account_is_one_that_nobody_has() -> None:
    assert (ACCOUNT, REGION) == ("000000000000", "us-east-1")
