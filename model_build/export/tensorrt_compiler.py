"""TensorRT's builder, in the calls that versions 8.6, 10 and 11 have in common.

Where they differ: 8.6 has no strongly typed networks and takes FP16 as a builder flag; from 10 on
a network's own types count, and 11 has nothing else. So an FP16 engine is compiled from an FP16
ONNX file everywhere, and the flag is set where it exists and is needed.
"""

from pathlib import Path
from typing import Any

from model_build.errors import BuildError
from model_build.export.engine_target import Level
from model_build.progress import Progress
from model_build.recipe import Engine, Shapes

MIB = 1024 * 1024


def compile_engine(
    trt: Any,
    onnx_file: Path,
    engine: Engine,
    *,
    level: Level,
    timings: bytes,
    progress: Progress,
) -> tuple[bytes, bytes]:
    """Return the serialized engine and the timing cache that its compilation left.

    `trt` is the module `tensorrt`, `timings` a timing cache of the same GPU and version or nothing.
    Raises `BuildError` with every error of the ONNX parser, and where no engine comes out.
    """
    logger = _logger(trt, progress)
    builder = trt.Builder(logger)
    network = builder.create_network(_network_flags(trt))
    _parse(trt, network, logger, onnx_file)
    config = builder.create_builder_config()
    if engine.precision == "fp16" and not _is_strongly_typed(trt):
        config.set_flag(trt.BuilderFlag.FP16)
    if engine.precision == "fp32":
        config.clear_flag(trt.BuilderFlag.TF32)  # it rounds to 10 bits, and is on by default
    if engine.workspace_mib:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, engine.workspace_mib * MIB)
    if level == "ampere-plus":
        config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.AMPERE_PLUS
    for profile in engine.profiles:
        _add_profile(builder, config, profile)
    cache = config.create_timing_cache(timings)
    if cache is None or not config.set_timing_cache(cache, ignore_mismatch=False):
        progress("TensorRT: the timing cache is of another GPU or version: starting a new one")
        config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)
    if hasattr(trt, "IProgressMonitor"):
        config.progress_monitor = _monitor(trt, progress)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise BuildError(f"TensorRT made no engine of {onnx_file.name}: its errors are above")
    return bytes(plan), bytes(config.get_timing_cache().serialize())


def _network_flags(trt: Any) -> int:
    """Flags are shifted by their names: their numbers change between versions."""
    flags = trt.NetworkDefinitionCreationFlag
    chosen = flags.STRONGLY_TYPED if _is_strongly_typed(trt) else flags.EXPLICIT_BATCH
    return 1 << int(chosen)


def _is_strongly_typed(trt: Any) -> bool:
    """Whether networks can take every precision from the ONNX file."""
    return hasattr(trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED")


def _add_profile(builder: Any, config: Any, profile: dict[str, Shapes]) -> None:
    shapes = builder.create_optimization_profile()
    try:
        for name, bounds in profile.items():
            shapes.set_shape(name, bounds.min, bounds.opt, bounds.max)
        accepted = config.add_optimization_profile(shapes) >= 0
    except (ValueError, RuntimeError) as error:
        raise BuildError(f"TensorRT refuses the optimization profile {profile}: {error}") from None
    if not accepted:
        raise BuildError(
            f"TensorRT refuses the optimization profile {profile}: write shapes that the model's "
            "inputs can have, for every input"
        )


def _parse(trt: Any, network: Any, logger: Any, onnx_file: Path) -> None:
    parser = trt.OnnxParser(network, logger)
    if parser.parse_from_file(str(onnx_file)):
        return
    errors = [parser.get_error(index) for index in range(parser.num_errors)]
    said = "\n".join(
        f"  {_where(error)}: {error.desc()} [{error.code()}, {error.file()}:{error.line()}]"
        for error in errors
    )
    raise BuildError(
        f"TensorRT {trt.__version__} cannot parse {onnx_file.name}:\n{said}\n"
        "Mend the model, or export it with another opset"
    )


def _where(error: Any) -> str:
    """Return the node of a parser's error; versions before 10 know its number only."""
    where = f"node {error.node()}"
    if hasattr(error, "node_name"):
        where += f" {error.node_name()} ({error.node_operator()})"
        where += "".join(f" in {function}" for function in error.local_function_stack())
    return where


def _logger(trt: Any, progress: Progress) -> Any:
    class Logger(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            if severity <= trt.ILogger.Severity.WARNING:
                progress(f"TensorRT: {message}")

    return Logger()


def _monitor(trt: Any, progress: Progress) -> Any:
    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        """Says the outermost phases, and each tenth of them."""

        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self._steps: dict[str, int] = {}

        def phase_start(self, name: str, parent: str | None, steps: int) -> None:
            if parent is None:
                self._steps[name] = steps
                progress(f"TensorRT: {name}")

        def step_complete(self, name: str, step: int) -> bool:
            steps = self._steps.get(name, 0)
            if steps >= 10 and (step * 10 // steps) != ((step + 1) * 10 // steps):
                progress(f"TensorRT: {name} {(step + 1) * 10 // steps * 10} %")
            return True

        def phase_finish(self, name: str) -> None:
            self._steps.pop(name, None)

    return Monitor()
