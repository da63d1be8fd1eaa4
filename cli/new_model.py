"""Write a model's folder from a template; comments with `Replace` mark the lines to change."""

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
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        print(path)
    print(f"next: tritonsm try {folder}")
    return 0


def write(name: str, kind: str, *, models: Path) -> Path:
    """Write the folder of a new model atomically, and return it.

    Raise `CommandError` if the name is invalid or exists already.
    """
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        reason = error.errors()[0]["ctx"]["error"]
        raise CommandError(f"invalid model name: {reason}") from None
    folder = models / name
    if folder.exists():
        raise CommandError(f"{folder} already exists")
    if name in [model.name for model in all_models(models)]:
        raise CommandError(f"{name} is already an alternative of a model: choose another name")
    with TemporaryDirectory(prefix=".new-", dir=models) as scratch:
        new = Path(scratch, name)
        for path in sorted((TEMPLATES / kind).rglob("*")):
            target = new / str(path.relative_to(TEMPLATES / kind)).replace(PLACEHOLDER, name)
            if path.is_file() and path.suffix != ".pyc":
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(path.read_text(encoding="utf-8").replace(PLACEHOLDER, name))
        shutil.move(new, folder)
    return folder
