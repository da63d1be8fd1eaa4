"""Write a working model folder or stage file that you can adapt."""

import argparse
from pathlib import Path

from cli import new_model, new_stage
from cli.parsers import add_command
from model_build.commands.arguments import Commands
from model_build.file_tensors import FileTensor
from model_build.new_config import FORMATS, TENSOR, parse_tensor


def add_to(commands: Commands) -> None:
    """Add the commands `new model` and `new stage`."""
    parser = commands.add_parser("new", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")

    model = add_command(
        kinds,
        "model",
        new_model.run,
        new_model.__doc__,
        examples=(
            "new model flowers --kind python",
            "new model churn --from ~/churn.onnx",
            "new model net --from net.pt --input X:FP32:-1,4 --output OUTPUT__0:FP32:-1,2",
        ),
        summary="write a folder in models/ that lints, builds and serves",
    )
    model.add_argument("name", metavar="NAME", help="the model's name, and its folder's")
    origin = model.add_mutually_exclusive_group(required=True)
    kinds_help = "; ".join(f"{name}: {summary}" for name, summary in new_model.KINDS.items())
    origin.add_argument("--kind", choices=new_model.KINDS, help=f"an example: {kinds_help}")
    origin.add_argument(
        "--from", dest="file", type=Path, metavar="FILE", help=f"a model file: {FORMATS}"
    )
    _add_tensors(model)

    config = add_command(
        kinds,
        "config",
        new_model.run_config,
        new_model.run_config.__doc__,
        examples=("new config models/churn/churn/1/model.onnx",),
        summary="write the config.pbtxt of a model file in models/",
    )
    config.add_argument("file", type=Path, metavar="FILE", help="MODEL/VERSION/FILE in models/NAME")
    _add_tensors(config)

    examples = (
        "new stage trial",
        "new stage mine --from local --endpoint text=minilm,bert --endpoint v=resnet50",
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


def _add_tensors(parser: argparse.ArgumentParser) -> None:
    for option in ("--input", "--output"):
        parser.add_argument(
            option,
            action="append",
            default=[],
            type=_tensor,
            metavar="NAME:TYPE:SHAPE",
            help=f"an {option[2:]} that the file does not declare: {TENSOR}; repeatable",
        )


def _tensor(text: str) -> FileTensor:
    try:
        return parse_tensor(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
