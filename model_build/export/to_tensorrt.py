"""ONNX to a TensorRT plan, on this machine's GPU."""

import importlib
from pathlib import Path
from types import ModuleType

from model_build.errors import BuildError
from model_build.export import gate, to_onnx, torch_source
from model_build.export.engine_target import compatibility_level
from model_build.export.half_precision import to_half_precision
from model_build.export.nvidia_gpu import require_gpu
from model_build.export.step_context import StepContext
from model_build.export.tensorrt_compiler import compile_engine
from model_build.export.tensorrt_runner import engine_runner
from model_build.export.torch_model import TorchModel
from model_build.recipe import Engine, TensorRt
from platform_facts import ComputeCapability


def export(step: TensorRt, *, to: Path, context: StepContext) -> list[tuple[str, gate.GateReport]]:
    """Write the plan `to` and return how closely ONNX and engine answer like their origins.

    Raises `BuildError` where there is no GPU, or one that compiles nothing for the target's, or
    TensorRT refuses the model, and `GateFailed` as the ONNX export does.
    """
    gpu = require_gpu()
    assert context.target.compute_capability is not None
    served = ComputeCapability.parse(context.target.compute_capability)
    level = compatibility_level(builder=gpu.compute_capability, served=served)
    trt = _tensorrt(context)
    onnx_file = context.scratch / f"{to.parent.parent.name}.onnx"
    onnx_gate = to_onnx.export(step.onnx(), to=onnx_file, context=context)
    compiled_from = onnx_file
    if step.engine.precision == "fp16":
        compiled_from = onnx_file.with_suffix(".fp16.onnx")
        to_half_precision(onnx_file, compiled_from)

    cache_name = f"{gpu.name.replace(' ', '-')}-{trt.__version__}.cache"
    plan, timings = compile_engine(
        trt,
        compiled_from,
        step.engine,
        level=level,
        timings=context.timing_cache.load(cache_name),
        progress=context.progress,
    )
    context.timing_cache.store(cache_name, timings)
    to.write_bytes(plan)

    model = torch_source.load(step.source, context)
    report = gate.compare(
        gate.Form(name=to.name, run=engine_runner(trt, plan, model)),
        to_onnx.onnx_runtime(onnx_file, model),
        model,
        step.engine.gate,
        shapes=shapes_in(step.engine, model),
    )
    return [onnx_gate, ("engine and ONNX Runtime", report)]


def shapes_in(engine: Engine, model: TorchModel) -> list[gate.Sizes]:
    """Return the sizes of every profile: the smallest, the best and the largest."""
    return [
        {
            axis: getattr(profile[name], bound)[position]
            for name, axes in model.axes.items()
            for position, axis in enumerate(axes)
        }
        for profile in engine.profiles
        for bound in ("min", "opt", "max")
    ]


def _tensorrt(context: StepContext) -> ModuleType:
    """Return the module `tensorrt`. Raises `BuildError` where there is none, or not the release's.

    Plans load in the version that compiled them and in no other.
    """
    try:
        trt = importlib.import_module("tensorrt")
    except ImportError as error:
        raise BuildError(
            f"TensorRT cannot be imported ({error}): build in NVIDIA's image "
            f"nvcr.io/nvidia/pytorch:{context.release.builder_tag}, which has it"
        ) from None
    found = str(trt.__version__)
    expected = context.release.tensorrt
    if expected is None or found.split(".")[:2] == expected.split(".")[:2]:
        return trt
    said = (
        f"this machine has TensorRT {found}, Triton {context.release.name} has {expected}, which "
        "would refuse its plans: build in the image that pairs with the release (builder_tag in "
        "platform_facts/releases.toml)"
    )
    if "tensorrt" in context.release.unsourced:
        context.progress(f"warning: {said}; that version has no good source, so this goes on")
        return trt
    raise BuildError(said)
