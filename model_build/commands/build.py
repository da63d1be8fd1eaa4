"""`build`: write a model's archive to a folder."""

import argparse
from pathlib import Path

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
from model_build.publishing.folder import save_archive
from model_build.source import ModelSource
from model_build.triton_load import loader


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
        ],
    )
    add_model(parser)
    add_load(parser)
    add_target(parser)
    parser.add_argument(
        "--output", type=Path, required=True, help="a folder to write archive and manifest to"
    )


def run(options: argparse.Namespace) -> Outcome:
    """Build the archive."""
    model: ModelSource = options.model
    progress = Printer(model.name)
    _make_folder(options.output)
    engines = Engines(FolderResultStore(CACHE / "engines"), LocalGpu())
    with (
        build(
            model, name=model.name, target=options.target, progress=progress, engines=engines
        ) as result,
        loader(options.no_load) as load,
    ):
        path = options.output / file_name(model.name, model.digest[:VERSION_DIGITS])
        manifest = save_archive(result, path, load=load, progress=progress)
    return Outcome(text=f"wrote {path}", data={"path": str(path), **manifest.model_dump()})


def _make_folder(folder: Path) -> None:
    """Make the folder of --output before the build. Raise `BuildError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(
            f"--output {folder}: {error.strerror}: write a folder that you may write to"
        ) from None
