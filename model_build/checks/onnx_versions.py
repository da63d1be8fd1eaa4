"""The release's ONNX Runtime reads the file and knows its operators."""

from collections.abc import Iterator
from functools import partial

import platform_facts
from model_build.checks.model_files.onnx_graph import read_graph
from model_build.findings import Place
from model_build.repository import Repository


def onnx_versions(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """An ONNX file's opset and IR version are none that the release's ONNX Runtime is too old for.

    It refuses others when it loads the file. What a release accepts is compared where it is known.
    """
    for model, path in repository.model_files("onnxruntime"):
        graph = read_graph(path)
        if graph is None:
            continue
        for field, what, found, how in (
            ("onnx_opset", "opset", graph.opset, "export with opset: {}"),
            ("onnx_ir", "IR version", graph.ir, "save it with ir_version = {}"),
        ):
            limit = getattr(release, field)
            if limit is None or found <= limit:
                continue
            newer = platform_facts.oldest_release(partial(_accepts, field, found))
            yield (
                model.file(model.inner(path)),
                f"has {what} {found}; ONNX Runtime {release.onnxruntime} of Triton {release.name} "
                f"knows up to {limit}: {how.format(limit)} or lower"
                + (f", or choose Triton {newer.name} or newer" if newer else ""),
            )


def _accepts(field: str, version: int, release: platform_facts.Release) -> bool:
    return (getattr(release, field) or 0) >= version
