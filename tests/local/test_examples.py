"""The scripts that readers copy, run against every model that they are about."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_build.export import weights
from model_build.progress import Printer
from model_build.recipe import read
from tests.local.conftest import ROOT, Checkout

PICTURE = "docs/examples/picture.jpg"


@pytest.fixture(scope="module")
def deployed(checkout: Checkout) -> Iterator[None]:
    examples = Checkout(checkout.path, checkout.aws, stage="examples")
    result = examples.deploy()
    assert result.returncode == 0, result.stdout
    yield
    result = examples.cdk("destroy", "--all", "--force")
    assert result.returncode == 0, result.stdout


def _run(*program: str) -> list[str]:
    finished = subprocess.run(
        [sys.executable, *program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


@pytest.mark.usefixtures("deployed")
def test_a_picture_gets_labels_from_resnet50() -> None:
    classes, *labels = _run("docs/examples/resnet50_jpeg.py", PICTURE)
    first = re.fullmatch(r"endpoint_client: \[(\d+), \d+, \d+\]", classes)
    assert first
    assert len(labels) == 3
    assert re.fullmatch(rf"boto3: [a-zA-Z ,'-]+ \(class {first[1]}\) \d+\.\d{{3}}", labels[0])


@pytest.mark.usefixtures("deployed")
def test_sentences_get_embeddings() -> None:
    sentences = ["A cat sleeps.", "A kitten naps.", "The stock fell."]
    shape, itself, kitten, stock, same = _run("docs/examples/minilm_sentences.py", *sentences)
    assert shape == "endpoint_client: [3, 384]"
    assert itself == "   1.000  A cat sleeps."
    assert float(kitten.split()[0]) > 0.7 > 0.4 > float(stock.split()[0])
    assert float(same.removeprefix("boto3: largest difference ")) < 1e-6


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("endpoint", ["vision", "inception"])
def test_a_jpeg_is_decoded_by_the_ensemble(endpoint: str) -> None:
    ours, theirs = _run("docs/examples/inception_jpeg.py", PICTURE, "--endpoint", endpoint)
    assert re.fullmatch(r"endpoint_client: class \d+ with 0\.\d{4}", ours)
    assert theirs.removeprefix("boto3") == ours.removeprefix("endpoint_client")


@pytest.mark.usefixtures("deployed")
def test_every_copy_of_bert_is_loaded_once() -> None:
    place = ("--stage", "examples", "--endpoint", "text")
    _run("-m", "model_build", "publish", "models/bert", "--copies", "2", *place)
    minilm = Path("models/minilm")
    fetched = weights.fetch(
        read(ROOT / minilm).weights, model_folder=ROOT / minilm, progress=Printer("tokenizer")
    )
    *calls, json = _run(
        "docs/examples/bert_copies.py", "Triton serves", f"{fetched}/tokenizer.json"
    )
    seen = [
        re.fullmatch(r"(bert-\d) (loads it|is loaded) +([\d.]+) ms  \[1, 768\]", it) for it in calls
    ]
    assert [(it[1], it[2]) for it in seen if it] == [
        *(("bert-0", "loads it"), ("bert-1", "loads it")),
        *(("bert-0", "is loaded"), ("bert-1", "is loaded")),
    ]
    took = [float(it[3]) for it in seen if it]
    assert min(took[:2]) > max(took[2:])
    assert json == "boto3 as JSON: 768 numbers, as many as above"
