"""`list`: list the models with their versions and descriptions."""

import argparse
import sys

from model_build.checked_model import check_model
from model_build.commands.arguments import Commands, add_command, parse_models_folder
from model_build.commands.outcome import Outcome
from model_build.errors import BuildError
from model_build.source import NOT_A_MODEL, all_models, folders_in, is_model
from platform_facts.rules import checked_yaml


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "list",
        run,
        summary="list the models, their versions and descriptions",
        examples=["list", "list --json"],
    )
    parser.add_argument(
        "models", type=parse_models_folder, nargs="?", default="models", metavar="FOLDER"
    )


def run(options: argparse.Namespace) -> Outcome:
    """List the models of a folder; those that are invalid are errors."""
    models, errors = [], []
    for model in all_models(options.models):
        try:
            checked = check_model(model)
        except (BuildError, checked_yaml.InvalidFile) as error:
            errors.append(str(error))
            continue
        models.append(
            {
                "model": checked.name,
                "version": checked.version,
                "description": model.recipe.description,
                "signature": checked.signature.model_dump(),
            }
        )
    lines = [f"{model['model']:20} {model['version']}  {model['description']}" for model in models]
    for folder in folders_in(options.models):
        if not is_model(folder):
            print(f"{folder} {NOT_A_MODEL}", file=sys.stderr)  # noqa: T201
    return Outcome(text="\n".join(lines), data=models, errors=errors)
