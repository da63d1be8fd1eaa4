"""A decoupled model: checked, built, deployed by a stage, and streamed by name."""

import json
from dataclasses import replace

import pytest

from cli.dispatch import read
from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import SPEAKS, SPEAKS_CONFIG, write
from tests.local.conftest import Checkout

STAGE = """
account: "000000000000"
region: us-east-1
release: "25.04"
endpoints:
  talk:
    models: [speaks]
    hosting: single-model
    instance_type: ml.m5.xlarge
    server: { inference_type: generate_stream }
"""


@pytest.fixture(scope="module")
def talking(checkout: Checkout) -> Checkout:
    files = {"speaks/config.pbtxt": SPEAKS_CONFIG, "speaks/1/model.py": SPEAKS}
    write(checkout.path / "models" / "speaks", files)
    (checkout.path / "stages" / "talking.yaml").write_text(STAGE)
    talking = replace(checkout, stage="talking")
    deployed = talking.deploy()
    assert deployed.returncode == 0, deployed.stdout
    return talking


@pytest.mark.usefixtures("talking")
def test_each_response_of_a_deployed_decoupled_model_is_streamed() -> None:
    with EndpointClient(stage="talking", endpoint="talk") as client:
        stream = client.stream("speaks", {"PROMPT": ["hello"]}, parameters={"TIMES": 3})
        assert list(stream) == 3 * [{"TEXT": "hello"}]


def test_the_command_writes_each_response_as_a_line(
    talking: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(talking.path)
    options = ["--input", "PROMPT=hello", "--parameter", "TIMES=2", "--stream"]
    assert read(["invoke", "talking", "talk", "speaks", *options])() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == 2 * [{"TEXT": "hello"}]
