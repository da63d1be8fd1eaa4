"""`list`: list the models with their versions and descriptions."""

import argparse

from model_build.commands.arguments import Commands, add_command, parse_models_folder
from model_build.commands.outcome import Outcome
from model_build.plan import plan_model
from model_build.source import all_models


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
    """List the models of a folder."""
    models = []
    for model in all_models(options.models):
        plan = plan_model(model)
        models.append(
            {
                "model": plan.name,
                "version": plan.version,
                "description": model.recipe.description,
                "signature": plan.signature.model_dump(),
            }
        )
    lines = [f"{model['model']:20} {model['version']}  {model['description']}" for model in models]
    return Outcome(text="\n".join(lines), data=models)
