"""Runs a TensorRT engine on torch's CUDA tensors, as the correctness gate needs it."""

from typing import TYPE_CHECKING, Any

from model_build.errors import BuildError
from model_build.export import gate
from model_build.export.torch_model import TorchModel

if TYPE_CHECKING:
    import torch


def engine_runner(trt: Any, plan: bytes, model: TorchModel) -> gate.Run:
    """Return what runs a serialized engine; `trt` is the module `tensorrt`.

    Tensors are bound by name, which versions 8.5 to 11 do with the same calls. Raises `BuildError`
    when the engine cannot be loaded.
    """
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        raise BuildError("TensorRT cannot load the engine that it has just made")
    context = engine.create_execution_context()

    def run(inputs: "dict[str, torch.Tensor]") -> list[gate.Array]:
        import torch

        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            given = {name: tensor.cuda().contiguous() for name, tensor in inputs.items()}
            profile = _profile_for(engine, given)
            context.set_optimization_profile_async(profile, stream.cuda_stream)
            for name, tensor in given.items():
                _require(context.set_input_shape(name, tuple(tensor.shape)), name)
                _require(context.set_tensor_address(name, tensor.data_ptr()), name)
            made = {}
            for name in model.outputs:
                made[name] = torch.empty(
                    tuple(context.get_tensor_shape(name)),
                    dtype=_torch_type(trt, engine.get_tensor_dtype(name)),
                    device="cuda",
                )
                _require(context.set_tensor_address(name, made[name].data_ptr()), name)
            if not context.execute_async_v3(stream.cuda_stream):
                raise BuildError("TensorRT failed to run the engine: its errors are above")
            stream.synchronize()
        return [made[name].cpu().numpy() for name in model.outputs]

    return run


def _profile_for(engine: Any, inputs: "dict[str, torch.Tensor]") -> int:
    """Return the index of the first optimization profile that has the inputs' shapes."""
    for index in range(engine.num_optimization_profiles):
        if all(
            low <= size <= high
            for name, tensor in inputs.items()
            for smallest, _, largest in [engine.get_tensor_profile_shape(name, index)]
            for low, size, high in zip(smallest, tensor.shape, largest, strict=True)
        ):
            return index
    raise BuildError(
        f"no optimization profile has shapes {[list(it.shape) for it in inputs.values()]}"
    )


def _require(accepted: bool, name: str) -> None:
    if not accepted:
        raise BuildError(
            f'the engine has no tensor "{name}" of such a shape: name it in the recipe'
        )


def _torch_type(trt: Any, data_type: Any) -> "torch.dtype":
    import torch

    types = {
        "FLOAT": torch.float32,
        "HALF": torch.float16,
        "BF16": torch.bfloat16,
        "INT64": torch.int64,
        "INT32": torch.int32,
        "INT8": torch.int8,
        "UINT8": torch.uint8,
        "BOOL": torch.bool,
    }
    # Versions have different sets of types.
    return {getattr(trt.DataType, it): types[it] for it in types if hasattr(trt.DataType, it)}[
        data_type
    ]
