"""ONNX to a TensorRT plan, which the GPU step compiles."""

import shutil
from functools import cache
from pathlib import Path

from model_build.engines import engine_job
from model_build.engines.compatibility import compatibility_level
from model_build.engines.engine_job import Arrays
from model_build.engines.engine_result import EngineResult
from model_build.export import gate, to_onnx, torch_source
from model_build.export.half_precision import to_half_precision
from model_build.export.step_context import StepContext
from model_build.export.torch_model import TorchModel
from model_build.gpu_step.result import Result
from model_build.recipe import Engine, TensorRt
from platform_facts import ComputeCapability


def export(
    step: TensorRt, *, to: Path, context: StepContext
) -> tuple[list[tuple[str, gate.GateReport]], Result]:
    """Write the plan `to`; return how closely ONNX and engine answer like their origins.

    The engine is compiled where the context's engines are, and judged here by its gate. Raises
    `BuildError` where there is no GPU, or one that compiles nothing for the target's, or TensorRT
    refuses the model, and `GateFailed` as the ONNX export does.
    """
    assert context.target.compute_capability is not None
    served = ComputeCapability.parse(context.target.compute_capability)
    builder = context.engines.gpu.compute_capability()
    level = compatibility_level(builder=builder, served=served, release=context.release)
    folder = context.scratch / f"engine-of-{to.parent.parent.name}"
    folder.mkdir()
    onnx_file = folder / "exported.onnx"
    onnx_gate = to_onnx.export(step.onnx(), to=onnx_file, context=context)
    compiled_from = onnx_file
    if step.engine.precision == "fp16":
        compiled_from = folder / "half-precision.onnx"
        to_half_precision(onnx_file, compiled_from)

    model = torch_source.load(step.source, context)
    shapes = shapes_in(step.engine, model)
    cases: list[Arrays] = [
        {name: inputs[name].numpy() for name in model.inputs}
        for inputs in gate.sampled(model, shapes)
    ]
    job = engine_job.write(
        folder / "job",
        onnx_file=compiled_from,
        engine=step.engine,
        level=level,
        compute_capability=builder,
        release=context.release,
        cases=cases,
        outputs=model.outputs,
    )
    onnx_answers = cache(lambda: to_onnx.answers(onnx_file, cases, model.outputs))

    def judge(result: EngineResult) -> gate.GateReport:
        differences = gate.Differences(to.name, "ONNX Runtime")
        for sizes, ours, theirs in zip(shapes, result.answers(), onnx_answers(), strict=True):
            for name in model.outputs:
                differences.add(ours[name], theirs[name], output=name, inputs=str(sizes))
        return differences.report(step.engine.gate, shapes=shapes)

    result, report = context.engines.provide(
        job, scratch=folder, judge=judge, progress=context.progress
    )
    shutil.copyfile(result.plan, to)
    return [onnx_gate, ("engine and ONNX Runtime", report)], result.result


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
