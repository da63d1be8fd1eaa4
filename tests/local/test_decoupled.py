"""A decoupled model, deployed by a stage and streamed by the command `invoke`."""

import json

import pytest

from cli.dispatch import parse_command
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


def test_invoke_prints_each_response_as_a_line(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"speaks/config.pbtxt": SPEAKS_CONFIG, "speaks/1/model.py": SPEAKS}
    write(checkout.path / "models" / "speaks", files)
    checkout.with_stage("talking", STAGE).deploy()
    monkeypatch.chdir(checkout.path)
    options = ["--input", "PROMPT=hello", "--parameter", "TIMES=2", "--stream"]
    assert parse_command(["invoke", "talking", "talk", "speaks", *options])() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == 2 * [{"TEXT": "hello"}]
