"""The sdist and the wheel, installed into clean environments and used as strangers do.

An environment has the wheel, and of this one's packages those that the wheel says it needs: what it
forgot to say is not there.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "own_app.py"
OURS = {"endpoint_client", "platform_facts", "triton_sagemaker"}

ASK = """
import io, json, sys
from types import SimpleNamespace as Fake
from endpoint_client import EndpointClient, UnknownModel

entry = {
    "model": "minilm", "version": "0", "endpoint": "dev-text", "target_model": "minilm-0.tar.gz",
    "signature": {
        "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
        "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
    },
}
def get_parameter(Name):
    assert Name == "/triton/dev/text/minilm"
    return {"Parameter": {"Value": json.dumps(entry)}}
def invoke_endpoint(**asked):
    (tensor,) = json.loads(asked["Body"])["inputs"]
    answer = {"outputs": [{**tensor, "name": "Y"}]}
    body = io.BytesIO(json.dumps(answer).encode())
    return {"Body": body, "ContentType": "application/json"}
meta = Fake(events=Fake(register=lambda *_: None))
clients = {
    "ssm": Fake(get_parameter=get_parameter, exceptions=Fake(ParameterNotFound=OSError), meta=meta),
    "sagemaker-runtime": Fake(invoke_endpoint=invoke_endpoint, meta=meta),
}
session = Fake(region_name="us-east-1", client=lambda name, **_: clients[name])
client = EndpointClient(stage="dev", endpoint="text", session=session)
answer = client.invoke("minilm", {"X": [[1, 2]]}, binary=False)
print(answer["Y"].tolist(), "aws_cdk" in sys.modules)
"""

TYPED = """
from endpoint_client import EndpointClient
client = EndpointClient(stage="dev", endpoint="text")
reveal_type(client.invoke("minilm", {"TEXT": ["hello"]})["EMBEDDING"].shape)

import triton_sagemaker
EndpointClient(stage="dev", endpint="text")
triton_sagemaker.AlarmThresholds(disk_percent=70)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is made of the sdist."""
    before = _left_by_builds()
    dist = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [str(ROOT / "distribution.sh"), str(dist)], check=True, stdout=subprocess.DEVNULL
    )
    assert _left_by_builds() == before
    assert len(list(dist.glob("triton_sagemaker-*.tar.gz"))) == 1
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the client; its Python."""
    return _environment(tmp_path_factory.mktemp("base"), wheel, extra="")


@pytest.fixture(scope="module")
def constructs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the construct library, too; its Python."""
    return _environment(tmp_path_factory.mktemp("constructs"), wheel, extra="constructs")


def test_the_client_asks_a_model_where_there_is_no_cdk(base: Path, tmp_path: Path) -> None:
    assert _run(base, "-c", ASK, cwd=tmp_path) == "[[1.0, 2.0]] False\n"
    assert _run(base, "-c", "import importlib.util as i; print(i.find_spec('aws_cdk'))") == "None\n"


def test_an_app_of_another_repository_synthesises(constructs: Path, tmp_path: Path) -> None:
    shutil.copy2(EXAMPLE, tmp_path)
    out = tmp_path / "out"
    _run(constructs, EXAMPLE.name, cwd=tmp_path, CDK_OUTDIR=str(out))
    template = json.loads((out / "vision.template.json").read_text())
    kinds = {it["Type"] for it in template["Resources"].values()}
    assert {
        "AWS::SageMaker::Endpoint",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        "AWS::CloudWatch::Dashboard",
    } <= kinds


def test_a_users_type_checker_sees_the_types(base: Path, tmp_path: Path) -> None:
    # Where there is no CDK, whose types would take mypy a minute to read.
    said = _type_check(base, tmp_path, TYPED)
    assert 'Revealed type is "tuple[' in said
    assert 'Unexpected keyword argument "endpint" for "EndpointClient"' in said
    assert 'Argument "disk_percent" to "AlarmThresholds" has incompatible type "int"' in said


def test_example_is_as_short_as_promised() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 22


def _environment(folder: Path, wheel: Path, *, extra: str) -> Path:
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    install = "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), *install, str(wheel)], check=True
    )
    site = Path(
        _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    (mine,) = metadata.distributions(name="triton-sagemaker", path=[str(site)])
    typed = {it.parent.name for it in site.glob("*/py.typed")}
    assert typed == OURS
    for name in _needed(mine, extra, {}):
        _link(metadata.distribution(name), site)
    return python


def _needed(
    distribution: metadata.Distribution, extra: str, seen: dict[str, None]
) -> dict[str, None]:
    """Return the names of all that a distribution needs, and what that needs."""
    for line in distribution.requires or ():
        needed = Requirement(line)
        if needed.marker and not needed.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *needed.extras):
            key = f"{canonicalize_name(needed.name)}[{wanted}]"
            if key not in seen:
                seen[key] = None
                _needed(metadata.distribution(needed.name), wanted, seen)
    return dict.fromkeys(key.partition("[")[0] for key in seen)


def _link(distribution: metadata.Distribution, site: Path) -> None:
    """Put the files of one of this environment's packages into another."""
    for path in _installed(distribution):
        to = site / path.name
        if not to.exists():
            to.symlink_to(path)


def _installed(distribution: metadata.Distribution) -> Iterator[Path]:
    tops = {
        it.parts[0] for it in distribution.files or () if it.parts[0] not in ("..", "__pycache__")
    }
    return (Path(str(distribution.locate_file(top))) for top in tops)


def _run(python: Path, *arguments: str, cwd: Path | None = None, **environment: str) -> str:
    ended = subprocess.run(
        [str(python), "-I", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _type_check(python: Path, folder: Path, content: str) -> str:
    """Return what `mypy --strict` says of a user's file."""
    path = folder / "app.py"
    path.write_text(content)
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), path.name],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr


def _left_by_builds() -> set[Path]:
    return {
        it for name in ("build", "dist", "*.egg-info", "*/*.egg-info") for it in ROOT.glob(name)
    }
