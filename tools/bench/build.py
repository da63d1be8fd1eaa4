"""Builds of MiniLM, and of a model of 1 GiB, copied into a bucket of the local SageMaker.

"By hand" is `torch.onnx.export`, `tar -czf` and `aws s3 cp`, always all three, without checks. A
build checks the model, compares the export with PyTorch, and exports only changed models. "Changed
weights" is a change of export.py, which has the same effect. The 1 GiB are random float weights;
the local bucket computes a checksum of each upload.
"""

import os
import shutil
import subprocess
import sys
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from model_build import BuildTarget
from tools.bench.local_endpoint import ECHO, NAME, local_sagemaker
from tools.bench.turns import ROOT, Results, Sides, Turn, command, total

AWS = shutil.which("aws", path=f"{ROOT}/.venv-clients/v2/bin{os.pathsep}{os.environ['PATH']}")
CHANGES = {
    "unchanged": None,
    "changed configuration": "encoder/config.pbtxt",
    "changed weights": "export.py",
}
MIB = 1 << 20


def run(results: Results) -> None:
    """Build MiniLM with and without changes, and by hand; pack and publish a large model."""
    if AWS is None:
        raise RuntimeError("the AWS CLI is missing: make bench installs it")
    version = subprocess.run([AWS, "--version"], capture_output=True, text=True, check=True).stdout
    results.versions["aws-cli"] = version.split()[0].partition("/")[2]
    with TemporaryDirectory() as scratch, local_sagemaker() as (_, running):
        target = BuildTarget.parse("cpu-24.09").with_python(running.python)
        numbers, packed = count(), Path(scratch, "packed")
        minilm = Path(shutil.copytree(ROOT / "models" / "minilm", Path(scratch, "minilm")))

        def build(model: Path) -> Turn:
            program = sys.executable, "-m", "model_build", "build", model, "--target", target
            return command(*program, "--output", packed)

        def publish(model: Path, edited: str | None = None) -> Turn:
            """Build, and copy into the bucket; with `edited`, change this file first."""
            if edited:
                (model / edited).write_text(f"{(model / edited).read_text()}\n# {next(numbers)}\n")
            shutil.rmtree(packed, ignore_errors=True)
            return total(build(model), _copy(packed, "--recursive"))

        def by_hand() -> Turn:
            export = command(sys.executable, "-m", "tools.bench.build", minilm)
            return total(export, _tar(minilm), _copy(minilm.with_suffix(".tar.gz")))

        publish(minilm)
        for case, file in CHANGES.items():
            sides: Sides = {"build": partial(publish, minilm, file), "by hand": by_hand}
            results.alternate(f"MiniLM, {case}", sides, 2)
        size = 64 if results.quick else 1024
        large = _write_large(Path(scratch, "echo"), size)
        sides = {
            "build": partial(build, large),
            "tar -czf": partial(_tar, large),
        }
        results.alternate(f"{size} MiB packed", sides, 1)
        sides = {
            "build, aws s3 cp": partial(publish, large, "echo/config.pbtxt"),
            "tar -czf, aws s3 cp": lambda: total(_tar(large), _copy(large.with_suffix(".tar.gz"))),
        }
        results.alternate(f"{size} MiB packed and published", sides, 1)


def _write_large(model: Path, mebibytes: int) -> Path:
    import numpy as np

    shutil.copytree(ECHO, model)
    weights = np.random.default_rng(0).normal(0, 0.02, mebibytes * MIB // 4)
    weights.astype(np.float32).tofile(model / "echo" / "1" / "weights.bin")
    return model


def _tar(model: Path) -> Turn:
    return command("tar", "-czf", model.with_suffix(".tar.gz"), "-C", model, ".")


def _copy(path: Path, *options: str) -> Turn:
    return command(AWS, "s3", "cp", "--only-show-errors", *options, path, f"s3://{NAME}/")


def _export(model: Path) -> None:
    """Export MiniLM as in PyTorch's documentation."""
    import torch

    from model_build.export.weights import fetch
    from model_build.progress import Printer
    from model_build.source import ModelSource
    from models.minilm.export import encoder

    weights = fetch(
        ModelSource(model).recipe.weights, model_folder=model, progress=Printer("minilm")
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
