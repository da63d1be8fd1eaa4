"""Parameters of the PyTorch backend have values that it can read."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

SWITCHES = {
    "DISABLE_OPTIMIZED_EXECUTION": "runs TorchScript without its profiling optimizations",
    "INFERENCE_MODE": "runs without autograd's bookkeeping",
    "DISABLE_CUDNN": "runs without cuDNN",
    "ENABLE_NVFUSER": "fuses kernels with nvFuser, in releases up to 23.12 alone",
    "ENABLE_WEIGHT_SHARING": "lets the instances on one device share one copy of the weights",
    "ENABLE_CACHE_CLEANING": "frees cached GPU memory after every execution",
    "ENABLE_JIT_EXECUTOR": "uses TorchScript's graph executor",
    "ENABLE_JIT_PROFILING": "lets that executor profile the first calls",
    "ENABLE_TENSOR_FUSER": "fuses kernels with NNC, TorchScript's tensor expression fuser",
}
"""Switch -> what `true` does. Source: triton-inference-server/pytorch_backend, README and
src/pt/model_state.cc."""

COUNTS = ("INTER_OP_THREAD_COUNT", "INTRA_OP_THREAD_COUNT")


def pytorch_parameters(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Switches are "true" or "false", thread counts whole numbers, and nothing is misspelt.

    Triton refuses other values when it loads the model, and ignores names that it does not know.
    """
    for model in repository.models.values():
        if model.backend != "pytorch":
            continue
        for name, parameter in sorted(model.config.parameters.items()):
            place, value = model.at("parameters", name), parameter.string_value
            if name in SWITCHES and value not in ("true", "false"):
                yield place, f'{name} is "{value}": write "true" or "false"'
            elif name in COUNTS and not value.isdecimal():
                yield place, f'{name} is "{value}": write a number of threads, 1 or more'
            elif (
                name not in SWITCHES and name not in COUNTS and name.upper() in {*SWITCHES, *COUNTS}
            ):
                yield place, f"{name} is not known: write {name.upper()}"
