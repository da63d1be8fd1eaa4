"""Rules for the backends of models, releases and build targets."""

from collections.abc import Collection

import platform_facts
from model_build.findings import Problems, warning
from model_build.formats import BACKENDS
from model_build.formats.torchscript import AOTI_PLATFORM, AOTI_SINCE, TorchAoti
from model_build.model_config import PLATFORM_BACKENDS
from model_build.recipe import backends_by_directory, step_for_target
from model_build.repository import Model
from model_build.source import ModelSource
from model_build.target import BuildTarget

OTHER_BACKENDS = ("identity", "repeat", "square")
"""Further backends of NVIDIA's build (server, build.py); whether AWS's image has them is unknown.
"""


AWS_BACKENDS = frozenset({*BACKENDS, *OTHER_BACKENDS})
"""The backends that AWS's images have, had or may have; `release_backends` compares releases."""
_LINES = ", ".join(f'backend: "{name}"' for name in sorted(BACKENDS))


def known_backends(model: Model) -> Problems:
    """`backend` or `platform` names a backend; they do not contradict each other."""
    config = model.config
    fix = f"write one of {_LINES}"
    if config.backend == "ensemble" or (config.ensemble_scheduling.step and not config.platform):
        yield (
            model.field_location("backend" if config.backend else "ensemble_scheduling"),
            'write platform: "ensemble" (SageMaker\'s front end looks for exactly that and does '
            "not see other spellings)",
        )
    elif not model.backend:
        yield model.field_location(), f"the configuration names no backend: {fix}"
    elif config.platform and config.platform not in PLATFORM_BACKENDS:
        yield (
            model.field_location("platform"),
            f'"{config.platform}" is not a platform of Triton: remove it and {fix}',
        )
    elif (
        config.backend in BACKENDS
        and config.platform
        and PLATFORM_BACKENDS[config.platform] != config.backend
    ):
        yield (
            model.field_location("platform"),
            f'platform "{config.platform}" is not of backend "{config.backend}": remove platform',
        )


def _is_in_archive(model: Model) -> bool:
    """Return whether the archive has the model's backend."""
    own = f"libtriton_{model.config.backend}.so"
    folders = (model.directory, *(model.directory / version for version in model.versions))
    return any((folder / own).is_file() for folder in folders)


@warning
def implied_backends(model: Model) -> Problems:
    """A backend that only the file's name implies, or that AWS's image lacks or may lack."""
    config = model.config
    if not config.backend and not config.platform and model.backend:
        yield (
            model.field_location(),
            f"names no backend; Triton takes {model.backend} for its file: write backend: "
            f'"{model.backend}"',
        )
    elif config.backend in OTHER_BACKENDS:
        yield (
            model.field_location("backend"),
            f'"{config.backend}" is in images of NVIDIA, perhaps not of AWS: try it on AWS first',
        )
    elif not (config.backend in ("", "ensemble", *BACKENDS) or _is_in_archive(model)):
        yield (
            model.field_location("backend"),
            f'"{config.backend}" is not a backend of AWS\'s image: write one of {_LINES}, put '
            f"libtriton_{config.backend}.so beside the model, or give the endpoint an image that "
            "has it (docs/stages.md)",
        )


def release_backends(release: platform_facts.Release, model: Model) -> Problems:
    """Every model's backend is in the release's image (platform_facts/releases.toml)."""
    if model.backend in BACKENDS and model.backend not in release.backends:
        last_release = platform_facts.backend(model.backend).last_release
        yield (
            model.field_location("backend" if model.config.backend else "platform"),
            f"Triton {release.name} has no {model.backend} backend; {last_release} was the last "
            "with it: "
            "export the model as ONNX, or choose an older release",
        )


def image_backends(
    available: Collection[str], source: ModelSource, target: BuildTarget
) -> Problems:
    """The image of the endpoint has the backend of every model that does not bring its own.

    A model file of a recipe has the backend of the step for the target.
    """
    steps = dict(step_for_target(path, step, target) for path, step in source.files.items())
    generated = backends_by_directory(steps)
    for name, model in source.shared.repository.models.items():
        backend = generated.get(name, model.backend)
        if not (model.is_ensemble or backend in available or _is_in_archive(model)):
            yield (
                model.field_location("backend"),
                f'the endpoint\'s image has no backend "{backend}": write another one, or give '
                "the endpoint an image that has it, and list it in image.backends",
            )


def target_backends(source: ModelSource, target: BuildTarget) -> Problems:
    """The target supports the backends of models whose file no recipe step generates.

    A TensorRT plan needs a GPU. Source: server docs/customization_guide/build.md, whose list of
    backends "available for a non-GPU / CPU-only build" has no tensorrt. It has no dali either, but
    DALI also runs on CPUs, and AWS does not document the backends of its CPU images.
    """
    generated = backends_by_directory(source.files)
    release = platform_facts.release(target.release)
    for name, model in source.shared.repository.models.items():
        if name in generated:
            continue
        yield from release_backends(release, model)
        if model.backend == "tensorrt" and target.processor == "cpu":
            yield (
                model.field_location("backend" if model.config.backend else "platform"),
                "a TensorRT plan runs on GPUs only: serve it on an instance_type with a GPU, such "
                "as ml.g5.xlarge, or write a recipe that makes an ONNX file for CPUs",
            )


def aoti_targets(source: ModelSource, target: BuildTarget) -> Problems:
    """The release loads AOTInductor packages, and no step compiles one for a GPU.

    AOTInductor compiles code for a GPU on a GPU, and builds run on CPUs.
    """
    generated = backends_by_directory(source.files)
    compiled = {
        path.partition("/")[0] for path, step in source.files.items() if isinstance(step, TorchAoti)
    }
    for name, model in source.shared.repository.models.items():
        if model.config.platform != AOTI_PLATFORM or generated.get(name, "pytorch") != "pytorch":
            continue
        if target.release < AOTI_SINCE:  # both are YY.MM
            problem = (
                f"Triton {target.release} does not load AOTInductor packages: choose Triton "
                f"{AOTI_SINCE} or newer"
            )
        elif target.processor == "cuda" and name in compiled:
            problem = (
                "a package for a GPU is compiled on that GPU, and the recipe's is for CPUs: serve "
                "it on an instance_type without a GPU"
            )
        else:
            continue
        yield (
            model.field_location("platform"),
            f'{problem}, or make a TorchScript file for platform: "pytorch_libtorch"',
        )
