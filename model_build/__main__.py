"""`python -m model_build`: list the models, and build one into a file or into the model bucket."""

import argparse
import shutil
import sys
from pathlib import Path

import boto3

import checked_yaml
import platform_facts
from model_build import publish, recipe
from model_build.build import Build, build
from model_build.digest import LENGTH, digest_of
from model_build.errors import BuildError
from model_build.plan import plan_model
from model_build.progress import printer
from model_build.target import BuildTarget


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except (BuildError, checked_yaml.InvalidFile) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m model_build", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="the models, their digests and what they are")
    listing.add_argument("--models", type=_models_folder, default="models", help="default: models/")
    listing.set_defaults(command=_list)

    building = commands.add_parser(
        "build",
        help="build one model's archive",
        epilog="example: python -m model_build build models/minilm --target cpu-24.09 --output .",
    )
    building.add_argument("model", type=_model_folder, help="a folder with a recipe.yaml")
    building.add_argument(
        "--target", type=_target, required=True, help="cpu-24.09, cuda-25.09-sm86, ..."
    )
    where = building.add_mutually_exclusive_group(required=True)
    where.add_argument("--output", type=Path, help="a folder to write archive and manifest to")
    where.add_argument("--bucket", help="the model bucket to publish to, with --key")
    building.add_argument("--key", help="the archive's key in the bucket")
    building.add_argument(
        "--name", help="the model's name, where the folder is not called so (as in CodeBuild)"
    )
    building.add_argument("--digest", help="refuse to build anything but this digest")
    building.set_defaults(command=_build, usage_error=building.error)
    return parser


def _models_folder(written: str) -> Path:
    folder = Path(written)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{folder} is no folder: write the one of the models")
    return folder


def _model_folder(written: str) -> Path:
    folder = Path(written)
    if not (folder / "recipe.yaml").is_file():
        if inside := _models_in(folder):
            raise argparse.ArgumentTypeError(f"{folder} has no recipe.yaml; models in it: {inside}")
        beside = folder.parent if folder.parent.is_dir() else Path("models")
        known = _models_in(beside) or "none"
        raise argparse.ArgumentTypeError(f"{folder} has no recipe.yaml; models: {known}")
    return folder


def _models_in(folder: Path) -> str:
    return ", ".join(str(path.parent) for path in sorted(folder.glob("*/recipe.yaml")))


def _target(written: str) -> BuildTarget:
    try:
        target = BuildTarget.parse(written)
        platform_facts.release(target.release)
    except (ValueError, LookupError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return target


def _list(options: argparse.Namespace) -> None:
    for path in sorted(options.models.glob("*/recipe.yaml")):
        planned = plan_model(path.parent)
        print(f"{planned.name:20} {planned.version}  {recipe.read(path.parent).description}")


def _build(options: argparse.Namespace) -> None:
    folder: Path = options.model
    name = options.name or folder.resolve().name
    if bool(options.bucket) != bool(options.key):
        options.usage_error("write --bucket and --key together")
    if options.digest and options.digest != digest_of(folder):
        raise BuildError(
            f"{folder} has digest {digest_of(folder)}, asked for is {options.digest}: the source "
            "is not the one that was planned. Deploy again from a clean checkout"
        )
    progress = printer(name)
    s3 = boto3.client("s3") if options.bucket else None
    if s3 and publish.is_published(s3, bucket=options.bucket, key=options.key):
        progress(f"s3://{options.bucket}/{options.key} is there already: nothing to build")
        return
    python = platform_facts.release(options.target.release).python
    if python is None:
        raise BuildError(f"the Python version of Triton {options.target.release} is not known")
    with build(
        folder,
        name=name,
        target=options.target,
        python=python,
        progress=progress,
    ) as built:
        size = f"{built.archive.bytes / 1e6:.1f} MB"
        if s3:
            progress(f"publishing s3://{options.bucket}/{options.key} ({size})")
            publish.publish(s3, built, bucket=options.bucket, key=options.key)
        else:
            progress(f"writing {_save(built, options.output)} ({size})")
    progress("done")


def _save(built: Build, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{built.manifest.model}-{built.manifest.digest[:LENGTH]}.tar.gz"
    shutil.move(built.archive.path, path)
    path.with_name(publish.manifest_key(path.name)).write_bytes(built.manifest.json_bytes())
    return path


if __name__ == "__main__":
    sys.exit(main())
