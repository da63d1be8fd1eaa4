"""Write a model's folder from a template, or from a model file.

In a template, comments with `Replace` mark the lines to change. A model file is copied, and its
config.pbtxt written from what it declares.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter, ValidationError

import platform_facts
from cli.errors import CommandError
from cli.inputs import example_value
from cli.local_option import RELEASE
from model_build import checks, model_config
from model_build.findings import errors
from model_build.manifest import Signature
from model_build.new_config import NewConfig, config_for, external_files
from model_build.repository import CONFIG, Repository
from model_build.source import all_models
from plan import golden
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
    if options.kind and (options.input or options.output):
        raise CommandError("--input and --output belong to --from: leave them out")
    with _new_folder(options.name, MODELS) as folder:
        if options.kind:
            _copy_template(options.kind, options.name, folder)
        else:
            new = config_for(options.file, options.input, options.output)
            version = folder / options.name / "1"
            version.mkdir(parents=True)
            shutil.copyfile(options.file, version / new.file_name)
            for path in external_files(options.file):
                shutil.copyfile(path, version / path.name)
            _write_config(version, new)
            _check_releases(folder, options.file)
    _report(MODELS / options.name)
    return 0


def _check_releases(folder: Path, file: Path) -> None:
    """Raise `CommandError` if no release serves the file; warn if the local Triton does not."""
    repository = Repository.read(folder)

    def problems(release: platform_facts.Release) -> list[str]:
        findings = errors(checks.findings(repository, checks.rules_for_release(release)))
        return [f"{file}: {finding.message}" for finding in findings]

    newest = platform_facts.releases()[0]
    if refusals := problems(newest):
        raise CommandError("; ".join(refusals))
    for problem in problems(platform_facts.release(RELEASE)):
        print(f"warning: {problem}", file=sys.stderr)


def run_config(options: argparse.Namespace) -> int:
    """Write the config.pbtxt of a model file that is in a model's folder without one.

    Also write a request, tests/golden.json, if the folder has none.
    """
    version = options.file.parent
    config = version.parent / CONFIG
    if not version.name.isdecimal() or not options.file.is_file():
        raise CommandError(
            f"{options.file}: write the path of a file such as models/NAME/NAME/1/model.onnx, or "
            "create a model with tritonsm new model NAME --from FILE"
        )
    if config.exists():
        raise CommandError(f"{config} already exists: change it, or delete it first")
    new = config_for(options.file, options.input, options.output)
    if new.file_name != options.file.name:
        raise CommandError(f"{options.file}: Triton opens {new.file_name}: rename the file to it")
    _write_config(version, new)
    _report(version.parent.parent)
    return 0


def _write_config(version: Path, new: NewConfig) -> None:
    """Write the configuration, and a request of zeros if the served model has none."""
    folder = version.parent.parent
    (version.parent / CONFIG).write_text(new.text, encoding="utf-8")
    path = folder / golden.FILE
    if version.parent.name == folder.name and not path.exists():
        signature = Signature.from_config(model_config.parse(new.text))
        inputs = {
            tensor.name: golden.InputTensor(
                datatype=tensor.datatype,
                shape=[max(size, 1) for size in tensor.shape],
                data=[example_value(tensor.datatype)],
            )
            for tensor in signature.inputs
        }
        path.parent.mkdir(exist_ok=True)
        path.write_text(golden.Golden(inputs=inputs).to_json(), encoding="utf-8")


def _report(folder: Path) -> None:
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        print(path)
    print(f"next: tritonsm try {folder}")


def write(name: str, kind: str, *, models: Path) -> Path:
    """Write the folder of a new model from a template, and return it."""
    with _new_folder(name, models) as folder:
        _copy_template(kind, name, folder)
    return models / name


@contextmanager
def _new_folder(name: str, models: Path) -> Iterator[Path]:
    """Return a folder that becomes that of the model when it is complete.

    Raise `CommandError` if the name is invalid or exists already.
    """
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        reason = error.errors()[0]["ctx"]["error"]
        raise CommandError(f"invalid model name: {reason}") from None
    folder = models / name
    if folder.exists():
        raise CommandError(f"{folder} already exists: choose another name, or delete it first")
    if name in [model.name for model in all_models(models)]:
        raise CommandError(f"{name} is already an alternative of a model: choose another name")
    with TemporaryDirectory(prefix=".new-", dir=models) as scratch:
        new = Path(scratch, name)
        yield new
        shutil.move(new, folder)


def _copy_template(kind: str, name: str, folder: Path) -> None:
    for path in sorted((TEMPLATES / kind).rglob("*")):
        target = folder / str(path.relative_to(TEMPLATES / kind)).replace(PLACEHOLDER, name)
        if path.is_file() and path.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text(encoding="utf-8").replace(PLACEHOLDER, name))
