"""Pin the packages of a model, with hashes, for the Python versions that run the model.

These are the versions of the releases of all stages that serve the model, or else of all stages,
and that of the local Triton. For each requirements file of the recipe, such as requirements.txt,
requirements.in lists the packages; without it, hashes are added to the file itself.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

import platform_facts
from cli.errors import CommandError
from cli.parsers import add_command
from local_sagemaker import LocalSageMakerError
from local_sagemaker.prerequisites import find_triton
from model_build.commands.arguments import Commands, add_model
from model_build.export.pip import lock_command
from model_build.formats.python import MADE_FOR, PythonPackages
from model_build.formats.python.imports import PACKAGES
from model_build.recipe import FILE, Recipe
from model_build.repository import Repository
from model_build.source import ModelSource
from model_build.table import RecipeTable
from platform_facts.rules import checked_yaml
from platform_facts.rules.checked_yaml import YamlFile
from stages import StageConfig, UnknownStage, load_stage, stage_names

UV = Path(sys.executable).with_name("uv")
REQUIREMENTS = "requirements.txt"
FILES_KEY = re.compile(r"^files:[ \t]*(#.*)?\n", re.M)
"""The line of a recipe that is followed by its steps."""
PLATFORM = "x86_64-manylinux_2_28"
"""The newest platform whose wheels builds install (model_build/formats/python)."""
MADE = re.compile(rf"^{re.escape(MADE_FOR)} .*\n", re.M)
"""The comment of an earlier lock."""
NUMPY = "numpy<2"
"""The image's numpy is used; that of the local Triton is 1.26."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = ("lock models/flowers", "lock models/flowers --add scikit-learn --add pandas")
    parser = add_command(commands, "lock", run, __doc__, examples=examples)
    add_model(parser)
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        type=_parse_package,
        metavar="PACKAGE",
        help="add a package to requirements.in, and to the recipe a step that installs it",
    )
    parser.add_argument(
        "--to",
        metavar="DIRECTORY",
        help="the Python model of the folder to add the step for, if there are several",
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="VERSION",
        help="a Python version, such as 3.12, instead of those of the stages; repeatable",
    )


def run(options: argparse.Namespace) -> int:
    """Write the requirements files, and with `--add` the recipe; return the exit code."""
    source: ModelSource = options.model
    folder = source.folder
    texts = _add_packages(source, options.add, options.to) if options.add else {}
    recipe_file = YamlFile.read(folder / FILE, texts.get(FILE, "").encode() or _read_recipe(folder))
    if table := RecipeTable.read(recipe_file):
        steps = [step for name in table.rows for step in table.recipe(name).files.values()]
    else:
        recipe = recipe_file.validate(Recipe)
        files_of_models = (recipe.files, *recipe.alternatives.values())
        steps = [step for files in files_of_models for step in files.values()]
    files = {
        str(getattr(step, step.requirements_key)): isinstance(step, PythonPackages)
        for step in steps
        if step.requirements_key
    }
    if not files:
        raise CommandError(
            f"{folder / FILE}: has no step with packages: "
            f"{lock_command(folder, '--add', 'PACKAGE')}"
        )
    pythons = sorted(set(options.python) or _python_versions(source), key=Version)
    builder = f"{sys.version_info.major}.{sys.version_info.minor}"
    for name, for_triton in files.items():
        versions = pythons if for_triton else [builder]  # exports run in the builder's Python
        source_name, text = _source(folder, name, texts)
        pins = _resolve(text, versions, for_triton=for_triton)
        comments = MADE.sub("", "".join(re.findall(r"\A(?:#.*\n)+", _read(folder / name))))
        made = f"{MADE_FOR} {', '.join(versions)}, from {source_name}.\n" if for_triton else ""
        texts[name] = comments + made + "".join(f"{pin}\n" for _, pin in sorted(pins.items()))
        print(f"{folder / name}: {len(pins)} packages for Python {', '.join(versions)}")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def _parse_package(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        raise argparse.ArgumentTypeError(f"{text!r} is not a package: {reason}") from None
    if requirement.url:
        raise argparse.ArgumentTypeError(f"{text!r}: write a package of PyPI, not a URL")
    return str(requirement)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _read_recipe(folder: Path) -> bytes:
    if not (folder / FILE).is_file():
        raise CommandError(
            f"{folder} has no {FILE} with packages: {lock_command(folder, '--add', 'PACKAGE')}"
        )
    return (folder / FILE).read_bytes()


def _source(folder: Path, name: str, texts: dict[str, str]) -> tuple[str, str]:
    """Return the name and the text of what a requirements file is resolved from."""
    in_name = str(Path(name).with_suffix(".in"))
    for candidate in (in_name, name):
        if text := texts.get(candidate) or _read(folder / candidate):
            return candidate, text
    raise CommandError(
        f"{folder / in_name} does not exist: write a package in each line, or tritonsm lock "
        f"{folder} --add PACKAGE"
    )


def _add_packages(source: ModelSource, packages: Sequence[str], to: str | None) -> dict[str, str]:
    """Return name -> new text of requirements.in and of the recipe, if that has no step yet."""
    folder, texts = source.folder, dict[str, str]()
    python_models = {
        name: model
        for name, model in Repository.read(folder).models.items()
        if model.backend == "python"
    }
    if to is None and len(python_models) == 1:
        (to,) = python_models
    if to not in python_models:
        names = ", ".join(python_models) or "none"
        raise CommandError(f"{folder}: write --to with one of its Python models: {names}")
    steps = next(source.shared.models()).recipe.files
    requirements = next(
        (
            step.requirements
            for file, step in steps.items()
            if isinstance(step, PythonPackages) and file.startswith(f"{to}/")
        ),
        None,
    )
    if requirements is None:
        requirements = REQUIREMENTS if len(python_models) == 1 else f"requirements-{to}.txt"
        version = (python_models[to].versions or ["1"])[-1]
        step = f"{{ to: python-packages, requirements: {requirements} }}"
        line = f"  {to}/{version}/{PACKAGES}: {step}\n"
        recipe = _read(folder / FILE) or f"description: {source.name}  # Replace: the purpose\n"
        recipe, replaced = FILES_KEY.subn(lambda key: f"{key[0]}{line}", recipe.rstrip() + "\n")
        if not replaced and steps:
            raise CommandError(f"{folder / FILE}: add this line below files yourself:\n{line}")
        texts[FILE] = recipe if replaced else f"{recipe}files:\n{line}"
    source_name = str(Path(requirements).with_suffix(".in"))
    # Without a list of packages, those that are pinned are kept.
    pinned = re.findall(r"^[A-Za-z0-9][\w.-]*==[^\s;]+", _read(folder / requirements), re.M)
    listed = _read(folder / source_name).rstrip("\n").splitlines() or pinned
    texts[source_name] = "".join(f"{line}\n" for line in dict.fromkeys([*listed, *packages]))
    return texts


def _python_versions(source: ModelSource) -> set[str]:
    """Return the Python versions that run a model."""
    stages = list(_stages())
    serving = [stage for stage in stages if _serves(stage, source)]
    releases = {stage.release for stage in serving or stages}
    pythons = {platform_facts.release(release).python for release in releases}
    versions = {".".join(python.split(".")[:2]) for python in pythons}
    with suppress(LocalSageMakerError):  # no local Triton, as on macOS
        versions.add(find_triton().model_python.version)
    return versions


def _stages() -> Iterable[StageConfig]:
    for name in stage_names():
        try:
            yield load_stage(name)
        except (UnknownStage, checked_yaml.InvalidFile) as error:
            print(f"! stage {name} is left out: {error}", file=sys.stderr)


def _serves(stage: StageConfig, source: ModelSource) -> bool:
    names = {model for endpoint in stage.endpoints.values() for model in endpoint.models}
    folder = source.shared.model().name
    return not names.isdisjoint({folder, *(model.name for model in source.shared.models())})


def _resolve(text: str, pythons: Sequence[str], *, for_triton: bool) -> dict[str, str]:
    """Return package -> its pin with hashes, of wheels that exist for every Python version.

    The oldest version comes first, and its pins constrain the others. A package that only some
    versions need is installed for all. An export environment lists its dependencies itself, because
    it may leave some out.
    """
    pins: dict[str, str] = {}
    with TemporaryDirectory() as scratch:
        requirements, constraints = Path(scratch, "requirements.in"), Path(scratch, "constraints")
        requirements.write_text(text, encoding="utf-8")
        for python in pythons:
            lines = [pin.split(" ")[0] for pin in pins.values()]
            constraints.write_text("\n".join([*([NUMPY] if for_triton else []), *lines]))
            command = [str(UV), "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
            command += ["--generate-hashes", "--only-binary", ":all:"]
            # --python is the program that uv runs, --python-version what it resolves for.
            command += ["--python", sys.executable, "--python-version", python]
            command += ["--constraint", str(constraints)]
            if for_triton:
                command += ["--python-platform", PLATFORM, "--no-emit-package", "numpy"]
            else:
                command.append("--no-deps")
            output = _run_uv([*command, str(requirements)], python)
            blocks = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", output, flags=re.M))
            pins |= {block.partition("==")[0]: block.rstrip() for block in blocks if block.strip()}
    return pins


def _run_uv(command: list[str], python: str) -> str:
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CommandError(f"{UV} does not exist: make install") from None
    if finished.returncode:
        raise CommandError(
            f"no versions of these packages fit Python {python} together: change requirements.in, "
            "or choose --python, and releases that have it for the stages:\n"
            f"{finished.stderr.strip()}"
        )
    return finished.stdout
