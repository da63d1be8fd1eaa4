"""Write a working model folder or stage file that you can adapt."""

from cli import new_model, new_stage
from cli.parsers import add_command
from model_build.commands.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the commands `new model` and `new stage`."""
    parser = commands.add_parser("new", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")

    model = add_command(
        kinds,
        "model",
        new_model.run,
        new_model.__doc__,
        examples=("new model flowers --kind python", "new model ranker --kind onnx"),
        summary="write a folder in models/ that lints, builds and serves",
    )
    model.add_argument("name", metavar="NAME", help="the model's name, and its folder's")
    kinds_help = "; ".join(f"{name}: {summary}" for name, summary in new_model.KINDS.items())
    model.add_argument("--kind", required=True, choices=new_model.KINDS, help=kinds_help)

    examples = (
        "new stage trial",
        "new stage mine --from local --endpoint text=minilm,bert --endpoint v=resnet50",
        "new stage fleet --split 9",
    )
    summary = "a file in stages/ that synthesises"
    stage = add_command(
        kinds, "stage", new_stage.run, new_stage.__doc__, examples=examples, summary=summary
    )
    stage.add_argument("name", metavar="NAME", help="the stage's name, and its file's")
    stage.add_argument(
        "--from",
        dest="base",
        metavar="STAGE",
        default="dev",
        help="the stage to copy; default: dev",
    )
    stage.add_argument(
        "--endpoint",
        action="append",
        default=[],
        metavar="NAME=MODEL[,MODEL]",
        help="an endpoint and its models, instead of those of the copied stage; repeatable",
    )
    stage.add_argument(
        "--split",
        type=int,
        default=0,
        metavar="COUNT",
        help="write this number of endpoints with all models of models/ instead",
    )
