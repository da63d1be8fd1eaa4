"""TensorRT plans, which the GPU step compiles from ONNX files."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

from model_build.engines import engine_job
from model_build.engines.compatibility import compatibility_level
from model_build.engines.engine_job import Engine
from model_build.engines.engine_result import EngineResult
from model_build.export import torch_source
from model_build.export.gate import GateCase, GateReport, Sizes, compare
from model_build.export.step import RecipeStep, StepContext, StepOutput
from model_build.export.torch_model import TorchModel
from model_build.findings import Problems
from model_build.format import Format
from model_build.formats.onnx import Onnx, Opset
from model_build.formats.onnx.export import run_onnx, sample_arrays
from model_build.formats.tensorrt.precisions import to_bfloat16, to_half_precision, to_int8
from model_build.formats.tensorrt.profiles import profile_problems
from model_build.model_config import KIND
from model_build.recipe_values import Gate, Source
from model_build.repository import Model
from model_build.target import BuildTarget
from platform_facts import ComputeCapability


class TensorRt(RecipeStep):
    """A TensorRT plan, compiled from the ONNX file of the step `Onnx`.

    For CPU targets, the step makes the ONNX file.
    """

    backend: ClassVar[str] = "tensorrt"
    is_cacheable: ClassVar[bool] = False
    to: Literal["tensorrt"]
    source: Source
    opset: Opset
    gate: Gate
    engine: Engine

    def onnx(self) -> Onnx:
        """Return the step for the ONNX file."""
        return Onnx(to="onnx", source=self.source, opset=self.opset, gate=self.gate)

    def for_target(self, target: BuildTarget) -> RecipeStep:
        """Return this step, or the step for the ONNX file."""
        return self.onnx() if target.processor == "cpu" else self

    def problems(self, file: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield problems of the optimization profiles."""
        del file
        for message in profile_problems(model, self.engine):
            yield ("engine", "profiles"), message

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Write the plan and compare its outputs with ONNX Runtime.

        Raise `BuildError` if there is no GPU, the GPU cannot compile for the target's GPU, or
        TensorRT rejects the model.
        """
        assert context.target.compute_capability is not None
        target_gpu = ComputeCapability.parse(context.target.compute_capability)
        builder = context.engines.gpu.compute_capability()
        level = compatibility_level(
            builder_gpu=builder, target_gpu=target_gpu, release=context.release
        )
        folder = context.scratch / f"engine-of-{output_path.parent.parent.name}"
        folder.mkdir()
        onnx_file = folder / "exported.onnx"
        gates = self.onnx().generate(onnx_file, context).gates
        model = torch_source.load(self.source, context)
        shapes = profile_sizes(self.engine, model)
        inputs = list(sample_arrays(model, shapes))
        compiled_onnx = folder / "compiled.onnx"
        match self.engine.precision:
            case "fp16":
                to_half_precision(onnx_file, compiled_onnx)
            case "bf16":
                to_bfloat16(onnx_file, compiled_onnx)
            case "int8":
                to_int8(onnx_file, compiled_onnx, inputs)
            case _:
                compiled_onnx = onnx_file
        job = engine_job.write_job(
            folder / "job",
            onnx_file=compiled_onnx,
            engine=self.engine,
            hardware_compatibility_level=level,
            compute_capability=builder,
            release=context.release,
            cases=inputs,
            outputs=model.outputs,
        )
        onnx_outputs = cache(lambda: list(run_onnx(onnx_file, inputs, model.outputs)))

        def check_outputs(result: EngineResult) -> GateReport:
            cases = map(GateCase, shapes, result.outputs(), onnx_outputs())
            names = {"converted_name": output_path.name, "original_name": "ONNX Runtime"}
            return compare(cases, self.engine.gate, **names)

        result, report = context.engines.provide(
            job, scratch=folder, check_outputs=check_outputs, progress=context.progress
        )
        for sizes, latency in zip(shapes, result.result.latency_ms, strict=False):
            gpu = result.result.compiled_on.get("gpu", "")
            context.progress(f"{output_path.name} for {sizes}: {latency:.3f} ms on {gpu}")
        shutil.copyfile(result.plan, output_path)
        return StepOutput([*gates, ("engine and ONNX Runtime", report)], result.result)


def profile_sizes(engine: Engine, model: TorchModel) -> list[Sizes]:
    """Return the min, opt and max sizes of every profile."""
    return [
        {
            axis: getattr(profile[name], bound)[position]
            for name, axes in model.axes.items()
            for position, axis in enumerate(axes)
        }
        for profile in engine.profiles
        for bound in ("min", "opt", "max")
    ]


def tensorrt_settings(model: Model) -> Problems:
    """TensorRT runs on GPUs only."""
    for index, group in enumerate(model.config.instance_group):
        if group.kind == KIND.KIND_CPU:
            yield (
                model.field_location("instance_group", index, "kind"),
                "TensorRT runs on GPUs only: write KIND_GPU (for CPU instances, recipes "
                "make the ONNX file)",
            )


FORMAT = Format(
    backend="tensorrt",
    file="model.plan",
    loads_in_builds=False,
    steps=(TensorRt,),
    config_rules=(tensorrt_settings,),
)
