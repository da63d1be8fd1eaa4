"""Parameters of the PyTorch backend have values that it can read."""

from model_build.findings import Problems
from model_build.repository import Model

SWITCHES = {
    *("DISABLE_CUDNN", "DISABLE_OPTIMIZED_EXECUTION", "ENABLE_CACHE_CLEANING"),
    *("ENABLE_JIT_EXECUTOR", "ENABLE_JIT_PROFILING", "ENABLE_NVFUSER", "ENABLE_TENSOR_FUSER"),
    *("ENABLE_WEIGHT_SHARING", "INFERENCE_MODE"),
}
"""Source: triton-inference-server/pytorch_backend, README and src/pt/model_state.cc."""

COUNTS = ("INTER_OP_THREAD_COUNT", "INTRA_OP_THREAD_COUNT")


def pytorch_parameters(model: Model) -> Problems:
    """Switches are "true" or "false", thread counts whole numbers, and nothing is misspelt.

    Triton refuses other values when it loads the model, and ignores names that it does not know.
    """
    for name, parameter in sorted(model.config.parameters.items()):
        place, value = model.at("parameters", name), parameter.string_value
        if name in SWITCHES and value not in ("true", "false"):
            yield place, f'{name} is "{value}": write "true" or "false"'
        elif name in COUNTS and not value.isdecimal():
            yield place, f'{name} is "{value}": write a number of threads, 1 or more'
        elif name not in SWITCHES and name not in COUNTS and name.upper() in {*SWITCHES, *COUNTS}:
            yield place, f"{name} is not known: write {name.upper()}"
