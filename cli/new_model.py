"""Write a model's folder from a template; the lines to change are marked `yours`."""

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter, ValidationError

from cli.errors import CommandError
from model_build.source import all_models
from stages.schema.names import Name

MODELS = Path("models")
TEMPLATES = Path(__file__).parent / "templates" / "models"
PLACEHOLDER = "mymodel"
KINDS = {
    "python": "a Python model with packages of its own (scikit-learn)",
    "pytorch": "a PyTorch module as TorchScript, or as ONNX",
    "onnx": "a PyTorch module as ONNX",
    "repository": "a Triton model repository with an ensemble",
    "bls": "a Python model that calls another model of its archive",
    "fil": "a tree model of XGBoost, for the FIL backend",
}
"""Names of the templates."""


def run(options: argparse.Namespace) -> int:
    """Write the folder; return the exit code."""
    folder = write(options.name, options.kind, models=MODELS)
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        print(path)
    print(f"next: tritonsm try {folder}")
    return 0


def write(name: str, kind: str, *, models: Path) -> Path:
    """Write the folder of a new model, whole or not at all, and return it.

    Raises `CommandError` for a name that a stage could not name, or that there is.
    """
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise CommandError(f"a model's name: {_reason(error)}") from None
    folder = models / name
    if folder.exists():
        raise CommandError(f"{folder} already exists")
    if name in [model.name for model in all_models(models)]:
        raise CommandError(f"{name} is already an alternative of a model: choose another name")
    with TemporaryDirectory(prefix=".new-", dir=models) as beside:
        made = Path(beside, name)
        for path in sorted((TEMPLATES / kind).rglob("*")):
            to = made / str(path.relative_to(TEMPLATES / kind)).replace(PLACEHOLDER, name)
            if path.is_file() and path.suffix != ".pyc":
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_text(path.read_text(encoding="utf-8").replace(PLACEHOLDER, name))
        shutil.move(made, folder)
    return folder


def _reason(error: ValidationError) -> str:
    return str(error.errors()[0]["ctx"]["error"])
