"""Compilation of engines with TensorRT's builder, for versions 10 and 11.

Networks are strongly typed: TensorRT 11 has no others, and no builder flags for FP16 and INT8. So
the ONNX files have the types FP16 and BF16, and Q/DQ nodes for INT8. TF32 is a way to compute with
FP32, and a flag.
"""

from pathlib import Path
from typing import Any

from .errors import StepError
from .job import AMPERE_PLUS, Job
from .logger import TensorRtLog

MIB = 1024 * 1024


def compile_engine(
    trt: Any, onnx_file: Path, job: Job, *, log: TensorRtLog, timing_cache: bytes = b""
) -> tuple[bytes, bytes]:
    """Return the serialized engine, and the timing cache after the compilation.

    `trt` is the module `tensorrt`. Raise `StepError` with the errors of the ONNX parser or of
    TensorRT.
    """
    builder = trt.Builder(log.logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    _parse_onnx(trt, network, log.logger, onnx_file)
    config = builder.create_builder_config()
    if job.precision == "fp32":
        config.clear_flag(trt.BuilderFlag.TF32)  # on by default, with a mantissa of 10 bits
    if job.precision == "tf32":
        config.set_flag(trt.BuilderFlag.TF32)
    _set_timing_cache(config, timing_cache, log)
    if job.workspace_mib:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, job.workspace_mib * MIB)
    if job.level == AMPERE_PLUS:
        config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.AMPERE_PLUS
    for profile in job.profiles:
        _add_profile(builder, config, profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise StepError(f"TensorRT made no engine{log.reason()}")
    return bytes(plan), bytes(config.get_timing_cache().serialize())


def load_engine(trt: Any, runtime: Any, plan: bytes, *, level: str, log: TensorRtLog) -> Any:
    """Return the engine of a plan; `runtime` must exist as long as the engine.

    Raise `StepError` if the engine lost its hardware compatibility level (pytorch/TensorRT#3941).
    """
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        raise StepError(f"TensorRT cannot load the compiled engine{log.reason()}")
    if level == AMPERE_PLUS:
        engine_level = engine.hardware_compatibility_level
        if engine_level != trt.HardwareCompatibilityLevel.AMPERE_PLUS:
            raise StepError(
                f"the engine has the hardware compatibility level {engine_level}, not "
                "AMPERE_PLUS: it would not run on the endpoint's GPU"
            )
    return engine


def _set_timing_cache(config: Any, content: bytes, log: TensorRtLog) -> None:
    """Let TensorRT reuse times, unless they are of another GPU or version, which it notices."""
    cache = config.create_timing_cache(content)
    if cache is not None and config.set_timing_cache(cache, False):
        return
    log.write("the timing cache is of another GPU or TensorRT, and is not used")
    config.set_timing_cache(config.create_timing_cache(b""), False)


def _add_profile(builder: Any, config: Any, profile: dict[str, dict[str, list[int]]]) -> None:
    shapes = builder.create_optimization_profile()
    try:
        for name, bounds in profile.items():
            shapes.set_shape(name, bounds["min"], bounds["opt"], bounds["max"])
        is_accepted = config.add_optimization_profile(shapes) >= 0
    except (ValueError, RuntimeError) as error:
        raise StepError(f"TensorRT refuses the optimization profile {profile}: {error}") from None
    if not is_accepted:
        raise StepError(
            f"TensorRT refuses the optimization profile {profile}: write shapes that the model's "
            "inputs can have, for every input"
        )


def _parse_onnx(trt: Any, network: Any, logger: Any, onnx_file: Path) -> None:
    """Parse the file into the network, which keeps the parser alive (pyOnnx.cpp, keep_alive)."""
    parser = trt.OnnxParser(network, logger)
    if parser.parse_from_file(str(onnx_file)):
        return
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    reasons = "; ".join(
        f"{_describe_node(error)}: {error.desc()} [{error.code()}, {error.file()}:{error.line()}]"
        for error in errors
    )
    raise StepError(
        f"TensorRT {trt.__version__} cannot parse the ONNX file: {reasons}. Change the model, or "
        "export it with another opset"
    )


def _describe_node(error: Any) -> str:
    """Return the node of a parser's error."""
    node = f"node {error.node()} {error.node_name()} ({error.node_operator()})"
    return node + "".join(f" in {function}" for function in error.local_function_stack())
