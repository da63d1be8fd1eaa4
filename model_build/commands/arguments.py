"""Arguments of several commands."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import platform_facts
from model_build.commands.outcome import Outcome, exit_code
from model_build.errors import BuildError
from model_build.source import ModelFolder, Models, ModelSource, contains_models, is_model
from model_build.target import BuildTarget
from platform_facts.rules import checked_yaml

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The return type of `add_subparsers`."""
MODELS = Path("models")
Run = Callable[[argparse.Namespace], Outcome]


def add_command(
    commands: Commands,
    name: str,
    run: Run,
    *,
    summary: str,
    examples: list[str],
) -> argparse.ArgumentParser:
    """Add a command with `--json` and examples in its help."""
    example_lines = "\n".join(f"  tritonsm {example}" for example in examples)
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{example_lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.set_defaults(run=partial(exit_code, run))
    return parser


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument MODEL."""
    parser.add_argument(
        "model",
        type=parse_model,
        metavar="MODEL",
        help="a folder with a recipe.yaml, or a Triton model repository, or its name in models/; "
        "FOLDER-NAME is an alternative of its recipe",
    )


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add the option --no-load."""
    parser.add_argument(
        "--no-load",
        metavar="REASON",
        help="do not load the archive into Triton; the manifest gets the reason",
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the option --target."""
    parser.add_argument(
        "--target",
        type=parse_target,
        required=True,
        metavar="TARGET",
        help="cpu-RELEASE or cuda-RELEASE-smCAPABILITY, with -py311 at the end if Python is not "
        "the release's: cpu-24.09, cuda-25.09-sm86, cpu-24.09-py311, ...",
    )


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Add the arguments STAGE and ENDPOINT of a deployed endpoint."""
    parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as dev")
    parser.add_argument("endpoint", metavar="ENDPOINT", help="the endpoint's name in the stage")
    parser.add_argument(
        "--during-delivery",
        action="store_true",
        help="continue although a delivery is recorded as in progress, such as a killed delivery",
    )


def parse_model(text: str) -> ModelSource:
    """Return the model at a path, or of a name in models/."""
    path = Path(text)
    if is_model(path) and not contains_models(path):
        return ModelFolder(path).model()
    parent = MODELS if path.name == text and not path.exists() else path.parent
    try:
        sources = Models(path) if path.is_dir() else ()
        if names := ", ".join(str(path / source.name) for source in sources):
            raise argparse.ArgumentTypeError(f"{path} is not a model; models in it: {names}")
        return Models(parent if parent.is_dir() else MODELS).find(path.name)
    except (BuildError, OSError, checked_yaml.InvalidFile) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_models(text: str) -> list[ModelSource]:
    """Return the model at a path, or of a name in models/; for a table, all its rows."""
    model = parse_model(text)
    try:
        return list(model.shared.models()) if model.is_table else [model]
    except checked_yaml.InvalidFile as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_models_folder(text: str) -> Path:
    """Return the path of a folder of models."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is not a folder")
    return path


def parse_target(text: str) -> BuildTarget:
    """Return a build target of a known release."""
    try:
        build_target = BuildTarget.parse(text)
        platform_facts.release(build_target.release)
    except (ValueError, LookupError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return build_target
