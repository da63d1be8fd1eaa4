"""Rules for the directories, names and version folders of a model repository."""

import os
import re

from model_build import digest
from model_build.findings import Problems, warning
from model_build.formats import BACKENDS
from model_build.model_config import PLATFORM_BACKENDS
from model_build.repository import CONFIG, VERSION_FOLDER, Model, Repository
from model_build.source import unconfigured_files

_MODEL_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_MISSPELLED_VERSION = re.compile(r"(?:v|version)?[-_. ]?[0-9][0-9.]*", re.IGNORECASE)


def archive_root(repository: Repository) -> Problems:
    """A config.pbtxt is directly in a model directory, not above it or below.

    Triton polls the directories at the top of the repository; SageMaker's `serve` stops the
    container if config.pbtxt is at the archive's root.
    """
    if (repository.folder / CONFIG).is_file():
        yield (
            repository.file_location(CONFIG),
            "config.pbtxt is at the root of the archive: move this file and the version folders "
            "into a folder with the model's name",
        )
    for path in sorted(repository.folder.glob(f"*/*/{CONFIG}")):
        parent, folder, _ = path.relative_to(repository.folder).parts
        if parent not in repository.models and not parent.startswith("."):
            yield (
                repository.file_location(parent, folder, CONFIG),
                f"the model is one folder too deep for Triton: move {folder}/ up, out of {parent}/",
            )


def no_links(repository: Repository) -> Problems:
    """No file is a symbolic link: the digest does not cover a target outside the folder."""
    for path in sorted(path for path in repository.folder.rglob("*") if path.is_symlink()):
        relative = path.relative_to(repository.folder)
        if not digest.is_ignored(relative):
            yield (
                repository.file_location(*relative.parts),
                "the file is a symbolic link: replace the link with the file itself",
            )


def one_entry(repository: Repository) -> Problems:
    """A repository has one model, or several models with exactly one ensemble.

    SageMaker gives Triton one name for an archive. Triton's SageMaker front end maps the name to
    the directory with `platform: "ensemble"`; without an ensemble, to the directory that the file
    system lists last.
    """
    models = repository.models
    ensembles = [model.name for model in models.values() if model.is_ensemble]
    if not models and not any(unconfigured_files(repository.folder)):
        yield repository.file_location(), f"the folder has no model: add a folder with a {CONFIG}"
    elif len(models) > 1 and len(ensembles) != 1:
        ensemble_count = "no ensemble"
        if ensembles:
            ensemble_count = f"{len(ensembles)} ensembles ({', '.join(ensembles)})"
        yield (
            repository.file_location(),
            f"{len(models)} models and {ensemble_count}: an archive of "
            'several models needs exactly one with platform: "ensemble", which is the served model',
        )


def configurations(repository: Repository) -> Problems:
    """A folder with a model file has a config.pbtxt.

    Triton could complete some configurations from the file, but clients, the catalog and the checks
    read config.pbtxt.
    """
    if not repository.models:
        yield from _unconfigured(repository)


@warning
def left_out_files(repository: Repository) -> Problems:
    """A model file beside other models has a config.pbtxt, or it is not in the archive."""
    if repository.models:
        yield from _unconfigured(repository)


def _unconfigured(repository: Repository) -> Problems:
    for path in unconfigured_files(repository.folder):
        parts = path.relative_to(repository.folder).parts
        location = repository.file_location(*parts)
        if len(parts) != 3 or not VERSION_FOLDER.fullmatch(parts[1]):
            name = {".onnx": "model.onnx", ".pt": "model.pt"}.get(path.suffix, path.name)
            place = repository.file_location(repository.folder.resolve().name, "1", name)
            yield (
                location,
                f"the file is in no model directory: move it to {place}, then write its "
                f"config.pbtxt with `tritonsm new config {place}`",
            )
        elif path.suffix in (".onnx", ".pt") or path.name in ("xgboost.json", "model.txt"):
            yield location, f"has no config.pbtxt: write it with `tritonsm new config {location}`"
        else:
            config = repository.file_location(parts[0], CONFIG)
            yield location, f"has no config.pbtxt: write {config} (docs/models.md, The folder)"


def model_names(model: Model) -> Problems:
    """`name` in config.pbtxt is absent or equal to the directory's name.

    Triton rejects a model whose configured name differs from its directory. Some names with spaces
    and quotes make a local Triton hang while loading.
    """
    if not _MODEL_NAME.fullmatch(model.name):
        yield model.file_location(), "write the folder's name with letters, digits, . _ and - only"
    if model.config.name and model.config.name != model.name:
        yield (
            model.field_location("name"),
            f'name is "{model.config.name}", the directory is {model.name}: write '
            f'name: "{model.name}"',
        )


@warning
def version_folders(model: Model) -> Problems:
    """A version folder's name is a number from 1, without leading zeros.

    Triton ignores folders such as `v1` and `01` without a message
    (docs/user_guide/model_repository.md).
    """
    for path in sorted(model.directory.iterdir()):
        is_valid = VERSION_FOLDER.fullmatch(path.name)
        is_misspelled = not is_valid and _MISSPELLED_VERSION.fullmatch(path.name)
        relative_path = path.relative_to(model.directory)
        if path.is_dir() and is_misspelled and not digest.is_ignored(relative_path):
            number = re.sub("[^0-9].*", "", path.name.lower().lstrip("version-_. ")).lstrip("0")
            yield (
                model.file_location(path.name),
                f"the folder's name is no version for Triton: rename the folder to {number or 1}",
            )


def label_files(model: Model) -> Problems:
    """The file of `label_filename` is in the model's directory: Triton reads it at the load.

    A file in a version folder may be one that the recipe generates.
    """
    for index, output in enumerate(model.config.output):
        name = output.label_filename
        in_version = name.partition("/")[0].isdecimal()
        if name and not in_version and not os.path.isfile(model.directory / name):
            yield (
                model.field_location("output", index, "label_filename"),
                f"{model.name}/{name} is missing: add the file, or remove label_filename",
            )


def version_policies(model: Model) -> Problems:
    """`version_policy` leaves a version to serve (core, model_repository_manager)."""
    policy = model.config.version_policy
    versions = ", ".join(model.versions)
    named = [str(version) for version in policy.specific.versions]
    if policy.HasField("specific") and model.versions and not {*named} & {*model.versions}:
        yield (
            model.field_location("version_policy"),
            f"names version {', '.join(named) or 'none'}, but the model has {versions}: write "
            "versions that it has, or remove version_policy",
        )
    if policy.HasField("latest") and not policy.latest.num_versions:
        yield (
            model.field_location("version_policy"),
            "serves the latest 0 versions: write num_versions: 1",
        )


def version_files(model: Model) -> Problems:
    """Each model except an ensemble has a version folder with the file that its backend opens."""
    if model.backend not in BACKENDS:
        return
    format_ = BACKENDS[model.backend]
    file = format_.model_file_name(model.config)
    if not model.versions and (model.directory / "1").is_dir():
        yield model.file_location("1"), f"the folder is empty: add {file}"
    elif not model.versions:
        yield model.file_location(), f"the model has no version: add a folder 1/ with {file}"
    for version in model.versions:
        folder = model.directory / version
        if not any((folder / name).exists() for name in (file, *format_.instead_of_file)):
            others = "".join(
                f', and {name} with platform: "{kind}"'
                for kind, name in format_.other_files.items()
                if kind in PLATFORM_BACKENDS and (folder / name).exists()
            )
            yield (
                model.file_location(version, file),
                f"the file is missing: the {model.backend} backend opens it{others}",
            )
