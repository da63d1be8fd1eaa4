"""`build`: write a model's archive to a folder or to the model bucket."""

import argparse
import json
from itertools import islice
from pathlib import Path

import boto3

from model_build.archive import file_name
from model_build.build import build
from model_build.commands.arguments import Commands, add_command, add_load, add_model, add_target
from model_build.commands.outcome import Outcome
from model_build.digest import VERSION_DIGITS
from model_build.engines.accepted_results import FolderResultStore
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines
from model_build.errors import BuildError
from model_build.export.weights import CACHE
from model_build.progress import Printer
from model_build.publishing import sources
from model_build.publishing.bucket import is_published, publish
from model_build.publishing.engines import bucket_engines
from model_build.publishing.folder import save_archive
from model_build.source import ModelSource


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "build",
        run,
        summary="build the archive of a model",
        examples=[
            "build models/minilm --target cpu-24.09 --output .",
            "build models/resnet50-onnx --target cpu-24.09 --output .",
            "build models/bert --target cuda-25.09-sm86 --bucket my-bucket --key text/bert.tar.gz",
        ],
    )
    add_model(parser)
    add_load(parser)
    add_target(parser)
    destination = parser.add_mutually_exclusive_group(required=True)
    destination.add_argument(
        "--output", type=Path, help="a folder to write archive and manifest to"
    )
    destination.add_argument("--bucket", help="the model bucket to publish to, with --key")
    parser.add_argument("--key", help="the archive's key in the bucket")
    parser.add_argument("--alternative", help="one of the recipe's alternatives, or a row")
    parser.add_argument(
        "--name", help="the model's name, if it is not that of the folder (as in CodeBuild)"
    )
    parser.add_argument("--digest", help="fail unless the model has this digest")
    parser.add_argument(
        "--gpu-project",
        metavar="PROJECT",
        help="the CodeBuild project that compiles TensorRT engines; default: this machine's GPU",
    )
    parser.add_argument(
        "--gpu-images",
        type=_parse_images,
        default={},
        metavar="JSON",
        help="copies of NVIDIA's TensorRT images by release, which that project pulls instead",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        metavar="SECONDS",
        help="Unix time at which to stop waiting for engines; their builds continue",
    )
    parser.set_defaults(usage_error=parser.error)


def run(options: argparse.Namespace) -> Outcome:
    """Build the archive unless the bucket has it already."""
    model = _select_alternative(options)
    name = options.name or model.name
    if bool(options.bucket) != bool(options.key):
        options.usage_error("write --bucket and --key together")
    if options.gpu_project and not options.bucket:
        options.usage_error("--gpu-project needs --bucket: engine jobs go through it")
    if options.digest and options.digest != model.digest:
        raise BuildError(
            f"{model.folder} has digest {model.digest}, not {options.digest}: the source differs "
            "from the one that the deploy planned, or was planned with another BUILD_FORMAT. "
            "Deploy again from a clean checkout"
        )
    progress = Printer(name)
    if not options.bucket:
        _make_folder(options.output)
        engines = Engines(FolderResultStore(CACHE / "engines"), LocalGpu())
        with build(
            model, name=name, target=options.target, progress=progress, engines=engines
        ) as result:
            path = options.output / file_name(name, model.digest[:VERSION_DIGITS])
            manifest = save_archive(result, path, load=options.load, progress=progress)
        return Outcome(text=f"wrote {path}", data={"path": str(path), **manifest.model_dump()})
    s3 = boto3.client("s3")
    url = f"s3://{options.bucket}/{options.key}"
    if is_published(s3, bucket=options.bucket, key=options.key):
        return Outcome(
            text=f"{url} already exists: nothing to build", data={"path": url, "built": False}
        )
    engines = bucket_engines(
        options.bucket,
        project=options.gpu_project,
        images=options.gpu_images,
        deadline=options.deadline,
    )
    with build(
        model, name=name, target=options.target, progress=progress, engines=engines
    ) as result:
        source = sources.store_source(s3, result, bucket=options.bucket)
        publish(
            s3,
            result,
            bucket=options.bucket,
            key=options.key,
            load=options.load,
            progress=progress,
            source=source,
        )
    return Outcome(text=f"published {url}", data={"path": url, "built": True})


def _make_folder(folder: Path) -> None:
    """Make the folder of --output before the build. Raise `BuildError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(
            f"--output {folder}: {error.strerror}: write a folder that you may write to"
        ) from None


def _parse_images(text: str) -> dict[str, str]:
    """Return images by release. CodeBuild passes an empty string for no images."""
    images: dict[str, str] = json.loads(text or "{}")
    return images


def _select_alternative(options: argparse.Namespace) -> ModelSource:
    model: ModelSource = options.model
    if not options.alternative:
        return model
    alternatives = model.shared.alternatives
    if options.alternative not in alternatives:
        names = ", ".join(islice(alternatives, 8)) or "none"
        options.usage_error(f"no alternative {options.alternative}: the recipe has {names}")
    return model.shared.model(options.alternative)
