"""Runs a TensorRT engine on torch's CUDA tensors, as the correctness gate needs it."""

from typing import TYPE_CHECKING, Any

from model_build import gate
from model_build.errors import BuildError
from model_build.torch_model import TorchModel

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
                context.set_input_shape(name, tuple(tensor.shape))
                context.set_tensor_address(name, tensor.data_ptr())
            made = {}
            for name in model.outputs:
                made[name] = torch.empty(
                    tuple(context.get_tensor_shape(name)),
                    dtype=_torch_type(trt, engine.get_tensor_dtype(name)),
                    device="cuda",
                )
                context.set_tensor_address(name, made[name].data_ptr())
            if not context.execute_async_v3(stream.cuda_stream):
                raise BuildError("TensorRT failed to run the engine: its errors stand above")
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


def _torch_type(trt: Any, data_type: Any) -> "torch.dtype":
    import torch

    types = {
        trt.DataType.FLOAT: torch.float32,
        trt.DataType.HALF: torch.float16,
        trt.DataType.INT32: torch.int32,
        trt.DataType.INT8: torch.int8,
        trt.DataType.BOOL: torch.bool,
    }
    if hasattr(trt.DataType, "INT64"):  # from version 10 on; 8.6 makes INT32 of it
        types[trt.DataType.INT64] = torch.int64
    return types[data_type]
