"""A target has the backends of what people wrote whole."""

from collections.abc import Iterator
from dataclasses import replace

import platform_facts
from model_build.checks.release_backends import release_backends
from model_build.findings import Place
from model_build.repository import Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget


def target_backends(source: ModelSource, target: BuildTarget) -> Iterator[tuple[Place, str]]:
    """The models that no recipe makes another file for run on the target as they are.

    A TensorRT plan needs a GPU. Source: server docs/customization_guide/build.md, whose list of
    backends "available for a non-GPU / CPU-only build" has no tensorrt. It has no dali either, but
    DALI computes on CPUs too, and what AWS's CPU images carry is documented nowhere.
    """
    made = {path.partition("/")[0] for path, step in source.files.items() if step.backend}
    written = Repository.read(source.folder)
    as_they_are = {name: it for name, it in written.models.items() if name not in made}
    release = platform_facts.release(target.release)
    yield from release_backends(release, replace(written, models=as_they_are))
    for model in as_they_are.values():
        if model.backend == "tensorrt" and target.processor == "cpu":
            yield (
                model.at("backend" if model.config.backend else "platform"),
                "a TensorRT plan runs on GPUs only: serve it on an instance_type with a GPU, such "
                "as ml.g5.xlarge, or write a recipe that makes ONNX of it where there is none",
            )
