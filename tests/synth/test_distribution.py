"""The sdist and the wheel of the client and the construct library, used in clean environments."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.distribution.clean_environment import ROOT, build, environment, run
from tests.processes import run_program

EXAMPLE = ROOT / "docs" / "examples" / "own_app.py"

CLIENT_PROGRAM = """
import sys
import boto3
from endpoint_client import EndpointClient
session = boto3.Session(region_name="us-east-1")
EndpointClient(stage="dev", endpoint="text", session=session).close()
print("aws_cdk" in sys.modules)
"""

TYPED_PROGRAM = """
from endpoint_client import EndpointClient
client = EndpointClient(stage="dev", endpoint="text")
reveal_type(client.invoke("minilm", {"TEXT": ["hello"]})["EMBEDDING"].shape)

import triton_sagemaker
EndpointClient(stage="dev", endpint="text")
triton_sagemaker.AlarmThresholds(disk_percent=70)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that was built from the sdist."""
    return build(".", tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the client."""
    return environment(tmp_path_factory.mktemp("base"), wheel)


@pytest.fixture(scope="module")
def constructs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the client and the construct library."""
    return environment(tmp_path_factory.mktemp("constructs"), wheel, extra="constructs")


def test_client_works_without_the_cdk(base: Path, tmp_path: Path) -> None:
    assert run(base, "-c", CLIENT_PROGRAM, cwd=tmp_path) == "False\n"
    assert run(base, "-c", "import importlib.util as i; print(i.find_spec('aws_cdk'))") == "None\n"


def test_example_app_synthesises(constructs: Path, tmp_path: Path) -> None:
    shutil.copy2(EXAMPLE, tmp_path)
    out = tmp_path / "out"
    run(constructs, EXAMPLE.name, cwd=tmp_path, CDK_OUTDIR=str(out))
    template = json.loads((out / "vision.template.json").read_text())
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    assert {
        "AWS::SageMaker::Endpoint",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        "AWS::CloudWatch::Dashboard",
    } <= kinds


def test_types_are_visible_to_mypy(base: Path, tmp_path: Path) -> None:
    # Without the CDK: mypy takes a minute to read its types.
    (tmp_path / "app.py").write_text(TYPED_PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(base)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = run_program(*command, "app.py", code=None, cwd=tmp_path, env=environment)
    message = finished.stdout + finished.stderr
    assert 'Revealed type is "tuple[' in message
    assert 'Unexpected keyword argument "endpint" for "EndpointClient"' in message
    assert 'Argument "disk_percent" to "AlarmThresholds" has incompatible type "int"' in message
