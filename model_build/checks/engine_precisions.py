"""The rule for the precisions of engines."""

import platform_facts
from model_build import recipe
from model_build.findings import Location, Problems
from model_build.formats.tensorrt import TensorRt
from model_build.source import ModelSource
from model_build.target import BuildTarget, newer_release_hint
from platform_facts import Release
from platform_facts.rules import checked_yaml


def engine_precisions(source: ModelSource, target: BuildTarget) -> Problems:
    """The release's TensorRT has the precision of each engine.

    Networks with BF16 can be built from TensorRT 10 on: tests/gpu_stand_in records that the
    bindings of 8.6 have neither this type nor strongly typed networks, and those of 10 both.
    """
    release = platform_facts.release(target.release)
    for keys, file, step in source.steps():
        _, target_step = recipe.step_for_target(file, step, target)
        if isinstance(target_step, TensorRt) and target_step.engine.precision == "bf16":
            if _has_bf16(release):
                continue
            path = source.folder / recipe.FILE
            yield (
                Location(path, checked_yaml.line_of(path, *keys, file, "engine", "precision")),
                f"{file}: TensorRT {release.tensorrt} of Triton {release.name} has no BF16: write "
                f"`precision: fp16`{newer_release_hint(_has_bf16)}",
            )


def _has_bf16(release: Release) -> bool:
    return release.tensorrt is not None and int(release.tensorrt.split(".")[0]) >= 10
