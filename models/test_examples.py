"""The scripts of docs/examples, run against their models."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path
from typing import Any

import boto3
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model, single_model
from local_sagemaker.tests.support.running import local_sagemaker_in
from model_build.export import weights
from model_build.progress import Printer
from model_build.source import ModelFolder
from plan.catalog import Catalog
from tests.catalog_items import create_table, write_entry
from tests.processes import run_program

MODELS = Path(__file__).parent
ROOT = MODELS.parent
PICTURE = "docs/examples/picture.jpg"
BUCKET = "examples-models"

Serve = Callable[[Path], Any]


@pytest.fixture(scope="module")
def _local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")):
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        create_table(boto3.client("dynamodb"), "examples")
        yield


@pytest.fixture(scope="module")
def _endpoints(_local_sagemaker: None, serve: Serve) -> None:
    """The endpoints of the stage `examples`, with two copies of bert."""
    _publish_model(serve(MODELS / "minilm"), "text")
    for name in ("bert-0", "bert-1"):
        _publish_model(serve(MODELS / "bert"), "text", name=name)
    _publish_model(serve(MODELS / "resnet50"), "vision")
    _publish_model(serve(MODELS / "inception"), "vision")
    for endpoint in ("text", "vision"):
        create_endpoint(f"examples-{endpoint}", multi_model(f"s3://{BUCKET}/{endpoint}/"))
    archive = _publish_model(serve(MODELS / "inception"), "inception", is_multi_model=False)
    create_endpoint("examples-inception", single_model(archive, default_model="inception"))


def _publish_model(
    served_model: Any, endpoint: str, *, name: str | None = None, is_multi_model: bool = True
) -> str:
    """Upload a model's archive, by default under its own name, and make it current."""
    model, version = name or served_model.manifest["model"], served_model.manifest["digest"][:12]
    archive = f"{model}-{version}.tar.gz"
    boto3.client("s3").upload_file(str(served_model.archive), BUCKET, f"{endpoint}/{archive}")
    entry = {
        "model": model,
        "version": version,
        "endpoint": f"examples-{endpoint}",
        "target_model": archive if is_multi_model else None,
        "signature": served_model.manifest["signature"],
    }
    write_entry(Catalog(boto3.client("dynamodb"), "examples", endpoint), entry)
    return f"s3://{BUCKET}/{endpoint}/{archive}"


def _run_script(script: str, *arguments: str) -> list[str]:
    process = run_program(sys.executable, f"docs/examples/{script}.py", *arguments, cwd=ROOT)
    return process.stdout.splitlines()


@pytest.mark.usefixtures("_endpoints")
def test_resnet50_script_prints_labels() -> None:
    classes, *labels = _run_script("resnet50_jpeg", PICTURE)
    first = re.fullmatch(r"endpoint_client: \[(\d+), \d+, \d+\]", classes)
    assert first
    assert len(labels) == 3
    assert re.fullmatch(rf"boto3: [a-zA-Z ,'-]+ \(class {first[1]}\) \d+\.\d{{3}}", labels[0])


@pytest.mark.usefixtures("_endpoints")
def test_minilm_script_prints_similarities() -> None:
    sentences = ["A cat sleeps.", "A kitten naps.", "The stock fell."]
    shape, cat, kitten, stock, difference = _run_script("minilm_sentences", *sentences)
    assert shape == "endpoint_client: [3, 384]"
    assert cat == "   1.000  A cat sleeps."
    assert float(kitten.split()[0]) > 0.7 > 0.4 > float(stock.split()[0])
    assert float(difference.removeprefix("boto3: largest difference ")) < 1e-6


@pytest.mark.usefixtures("_endpoints")
@pytest.mark.parametrize("endpoint", ["vision", "inception"])
def test_inception_script_prints_equal_results(endpoint: str) -> None:
    client, boto = _run_script("inception_jpeg", PICTURE, "--endpoint", endpoint)
    assert re.fullmatch(r"endpoint_client: class \d+ with 0\.\d{4}", client)
    assert boto.removeprefix("boto3") == client.removeprefix("endpoint_client")


@pytest.mark.usefixtures("_endpoints")
def test_bert_script_calls_every_copy_twice() -> None:
    minilm = MODELS / "minilm"
    pinned = ModelFolder(minilm).model().recipe.weights
    folder = weights.fetch(pinned, model_folder=minilm, progress=Printer("tokenizer"))
    *calls, json = _run_script("bert_copies", "Triton serves", f"{folder}/tokenizer.json")
    matches = [
        re.fullmatch(r"(bert-\d) (loads it|is loaded) +([\d.]+) ms  \[1, 768\]", call)
        for call in calls
    ]
    assert [(match[1], match[2]) for match in matches if match] == [
        *(("bert-0", "loads it"), ("bert-1", "loads it")),
        *(("bert-0", "is loaded"), ("bert-1", "is loaded")),
    ]
    assert json == "boto3 as JSON: 768 numbers, as many as above"


def _installed_names(command: str) -> Iterator[str]:
    """Yield the distributions that a `%pip install` installs, with their dependencies."""
    *options, last = shlex.split(command)
    if "--requirement" in options:
        assert "--no-deps" in options
        yield from re.findall(r"^([\w.-]+)==", (ROOT / last).read_text(), re.MULTILINE)
        return
    requirement = Requirement(last)
    assert requirement.specifier.contains(version(requirement.name)), f"{last} is not locked"
    yield from _with_dependencies(requirement)


def _with_dependencies(requirement: Requirement) -> Iterator[str]:
    yield requirement.name
    for needed in map(Requirement, requires(requirement.name) or ()):
        extras = requirement.extras or {""}
        if not needed.marker or any(needed.marker.evaluate({"extra": name}) for name in extras):
            yield from _with_dependencies(needed)


def _hiding_code(installed: Iterable[str]) -> str:
    """Return a sitecustomize.py for which only these distributions are installed."""
    names = {*map(canonicalize_name, installed), "triton-sagemaker"}
    hidden = {
        package
        for package, distributions in packages_distributions().items()
        if names.isdisjoint(map(canonicalize_name, distributions))
    }
    assert {"aws_cdk", "pytest"} <= hidden
    return HIDING.replace("HIDDEN", repr(hidden))


HIDING = """
import sys
from importlib.machinery import PathFinder


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""


@pytest.mark.usefixtures("_local_sagemaker")
def test_notebook_ends_with_an_answer(tmp_path: Path) -> None:
    """Run the cells with no packages but those that they install."""
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    role = boto3.client("iam").create_role(
        RoleName="notebook",
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )
    region = "eu-west-1"
    sagemaker = boto3.client("sagemaker", region_name=region)
    before = {model["ModelName"] for model in sagemaker.list_models()["Models"]}
    notebook = json.loads((ROOT / "docs" / "examples" / "pytorch_module.ipynb").read_text())
    cells = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = [line.rstrip("\n") for cell in cells for line in cell]
    installs = [line for line in lines if line.startswith("%pip install ")]
    installed = [name for line in installs for name in _installed_names(line)]
    (tmp_path / "sitecustomize.py").write_text(_hiding_code(installed))
    process = run_program(
        sys.executable,
        "-c",
        "\n".join(line for line in lines if line not in installs),
        cwd=ROOT / "docs" / "examples",
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.getenv("PYTHONPATH")])),
            "AWS_DEFAULT_REGION": region,  # CreateBucket needs a location outside of us-east-1
            "SAGEMAKER_ROLE": role["Role"]["Arn"],
        },
    )
    assert process.stdout.splitlines()[-1] == "distances: [5.0, 13.0]"
    assert {model["ModelName"] for model in sagemaker.list_models()["Models"]} == before
