"""Execution accelerators are ones that the backend has."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

_KNOWN = {
    "onnxruntime": {
        "gpu_execution_accelerator": ("cuda", "tensorrt"),
        "cpu_execution_accelerator": ("openvino",),
    },
    "tensorflow": {
        "gpu_execution_accelerator": ("tensorrt", "gpu_io", "auto_mixed_precision"),
        "cpu_execution_accelerator": (),
    },
}
PRECISIONS = ("FP32", "FP16", "INT8", "BF16")


def execution_accelerators(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`optimization.execution_accelerators` names what the model's backend can use.

    Sources: onnxruntime_backend README (Optimization), tensorflow_backend README.
    """
    for model in repository.models.values():
        chosen = model.config.optimization.execution_accelerators
        known = _KNOWN.get(model.backend, {})
        for kind in ("gpu_execution_accelerator", "cpu_execution_accelerator"):
            for index, accelerator in enumerate(getattr(chosen, kind)):
                if accelerator.name in known.get(kind, ()):
                    precision = accelerator.parameters.get("precision_mode")
                    if precision is not None and precision not in PRECISIONS:
                        yield (
                            model.at("optimization", "execution_accelerators", kind, index),
                            f'precision_mode is "{precision}": write {", ".join(PRECISIONS)}',
                        )
                    continue
                offer = ", ".join(known.get(kind, ())) or "none: remove it"
                yield (
                    model.at("optimization", "execution_accelerators", kind, index),
                    f'"{accelerator.name}" is not a {kind} of the {model.backend} backend; it has '
                    f"{offer}",
                )
