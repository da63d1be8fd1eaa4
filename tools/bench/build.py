"""Builds of MiniLM, of a table of models and of a model of 1 GiB, into a bucket.

"build-list" is the builder's command in CodeBuild: it downloads the model's source, checks it,
compares the export with PyTorch, loads the archive into Triton, and builds only what the bucket
lacks. "By hand" is always `torch.onnx.export`, `tar -czf` and `aws s3 cp`, without checks. "Changed
weights" is a change of export.py, which has the same effect. The 1 GiB are random float weights.
The bucket is one of the local SageMaker, which computes a checksum of each upload.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3

from model_build import BuildTarget
from model_build.archive import file_name
from model_build.digest import VERSION_DIGITS
from model_build.source import ModelFolder, ModelSource
from platform_facts.rules.builds import BuildItem
from tools.bench.local_endpoint import ECHO, NAME, local_sagemaker
from tools.bench.synth import write_table
from tools.bench.turns import ROOT, Results, Sides, Turn, command, total

AWS = shutil.which("aws", path=f"{ROOT}/.venv-clients/v2/bin{os.pathsep}{os.environ['PATH']}")
CHANGES = {
    "unchanged": None,
    "changed configuration": "encoder/config.pbtxt",
    "changed weights": "export.py",
}
ASSET = "asset.zip"
MIB = 1 << 20
S3 = f"s3://{NAME}/"


def run(results: Results) -> None:
    """Build MiniLM with and without changes, and by hand; pack and publish a large model."""
    if AWS is None:
        raise RuntimeError("the AWS CLI is missing: make bench installs it")
    version = subprocess.run([AWS, "--version"], capture_output=True, text=True, check=True).stdout
    results.versions["aws-cli"] = version.split()[0].partition("/")[2]
    with TemporaryDirectory() as scratch, local_sagemaker() as (_, running):
        target = str(BuildTarget.parse("cpu-24.09").with_python(running.python))
        numbers = count()
        minilm = Path(shutil.copytree(ROOT / "models" / "minilm", Path(scratch, "minilm")))

        def publish(folder: Path, edited: str | None = None) -> Turn:
            """Build into the bucket; with `edited`, change this file first."""
            if edited:
                file = folder / edited
                file.write_text(f"{file.read_text()}\n# {next(numbers)}\n")
            return build_list([ModelFolder(folder).model()], target)

        def by_hand() -> Turn:
            export = command(sys.executable, "-m", "tools.bench.build", minilm)
            return total(export, _tar(minilm), _copy(minilm))

        publish(minilm)
        for case, edited in CHANGES.items():
            sides: Sides = {"build-list": partial(publish, minilm, edited), "by hand": by_hand}
            results.alternate(f"MiniLM, {case}", sides, 2)
        rows = 20 if results.quick else 1000
        write_table(Path(scratch, "table"), rows)
        (table,) = Path(scratch, "table").iterdir()
        sides = {
            "build-list": lambda: build_list(ModelFolder(table).models(), target),
            "tar -czf, aws s3 cp": partial(_publish_rows, table, Path(scratch, "rows")),
        }
        results.alternate(f"table of {rows:,} models", sides, 1)
        size = 64 if results.quick else 1024
        large = _write_large(Path(scratch, "echo"), size)
        program = sys.executable, "-m", "model_build", "build", large, "--target", target
        sides = {
            "build": partial(command, *program, "--output", Path(scratch, "packed")),
            "tar -czf": partial(_tar, large),
        }
        results.alternate(f"{size} MiB packed", sides, 1)
        sides = {
            "build-list": partial(publish, large, "echo/config.pbtxt"),
            "tar -czf, aws s3 cp": lambda: total(_tar(large), _copy(large)),
        }
        results.alternate(f"{size} MiB packed and published", sides, 1)


def build_list(models: Iterable[ModelSource], target: str) -> Turn:
    """Measure the build of models of one folder, whose source is uploaded before.

    An archive has the key NAME-DIGEST.tar.gz.
    """
    models = list(models)
    folder, s3 = models[0].folder, boto3.client("s3")
    with TemporaryDirectory() as scratch:
        asset = shutil.make_archive(f"{scratch}/asset", "zip", folder.parent, folder.name)
        s3.upload_file(asset, NAME, ASSET)
    items = [
        BuildItem(
            source=ASSET,
            model=model.name,
            alternative=model.alternative or "",
            digest=model.digest,
            target=target,
            key=file_name(model.name, model.digest[:VERSION_DIGITS]),
        )
        for model in models
    ]
    content = "".join(f"{item.as_json()}\n" for item in items)
    s3.put_object(Bucket=NAME, Key="list.jsonl", Body=content)
    program = sys.executable, "-m", "model_build", "build-list", f"{NAME}/list.jsonl"
    buckets = "--bucket", NAME, "--sources", NAME
    checksum = sha256(content.encode()).hexdigest()
    return command(*program, "--digest", checksum, "--lines", f"1-{len(items)}", *buckets)


def _publish_rows(table: Path, folder: Path) -> Turn:
    """Pack the model with the weights of each row; copy all archives."""
    script = """
    set -e
    mkdir "$2" && cd "$1"
    for weights in weights/*.json; do
      tar -czf "$2/$(basename "$weights" .json).tar.gz" "$(basename "$1")" "$weights"
    done
    """
    pack = command("bash", "-c", script, "bash", table, folder)
    return total(pack, command(AWS, "s3", "cp", "--only-show-errors", "--recursive", folder, S3))


def _write_large(model: Path, mebibytes: int) -> Path:
    import numpy as np

    shutil.copytree(ECHO, model)
    weights = np.random.default_rng(0).normal(0, 0.02, mebibytes * MIB // 4)
    weights.astype(np.float32).tofile(model / "echo" / "1" / "weights.bin")
    return model


def _tar(model: Path) -> Turn:
    return command("tar", "-czf", model.with_suffix(".tar.gz"), "-C", model, ".")


def _copy(model: Path) -> Turn:
    archive = model.with_suffix(".tar.gz")
    return command(AWS, "s3", "cp", "--only-show-errors", archive, S3)


def _export(model: Path) -> None:
    """Export MiniLM as in PyTorch's documentation."""
    import torch

    from model_build.export.weights import fetch
    from model_build.progress import Printer
    from models.minilm.export import encoder

    weights = fetch(
        ModelFolder(model).model().recipe.weights, model_folder=model, progress=Printer("minilm")
    )
    assert weights, "the recipe of MiniLM has weights"
    exported = encoder(weights)
    sample = exported.sample({"batch": 2, "tokens": 16}, torch.Generator().manual_seed(0))
    dynamic = torch.export.Dim.DYNAMIC
    torch.onnx.export(
        exported.module,
        tuple(sample[name] for name in exported.inputs),
        model.with_suffix(".onnx"),
        dynamic_shapes=tuple({0: dynamic, 1: dynamic} for _ in exported.inputs),
        opset_version=18,
        external_data=False,
    )


if __name__ == "__main__":
    _export(Path(sys.argv[1]))
