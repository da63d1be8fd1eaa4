"""Comparison of a model's outputs with config.pbtxt."""

from collections.abc import Iterable, Iterator

from model_build.export.gate import OutputTensor
from model_build.findings import Finding
from model_build.formats.torchscript import BY_POSITION
from model_build.model_config import data_type, dims_match
from model_build.repository import Model


def declared_outputs(
    model: Model,
    answer: Iterable[OutputTensor],
    *,
    batch: int | None = None,
    backend: str | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each declared output that is missing or has another type or shape.

    `batch` is the batch size of the request, None for any. `backend` is set if `answer` comes from
    the model file itself and not from Triton: then `reshape` is not applied, and TorchScript
    outputs are matched by position. With `max_batch_size`, outputs have the batch axis in front of
    the dims (triton-inference-server/server, docs/user_guide/model_configuration.md, "Maximum Batch
    Size").
    """
    outputs = list(answer)
    answers = {output.name: output for output in outputs}
    batches = model.config.max_batch_size > 0
    for index, declared in enumerate(model.config.output):
        output = answers.get(declared.name)
        if backend == "pytorch":
            match = BY_POSITION.fullmatch(declared.name)
            output = outputs[int(match["index"]) if match else index]
        if output is None:
            yield Finding(
                declared_outputs.__name__,
                model.field_place("output", index, "name"),
                f'output "{declared.name}" is missing in the answer, which has '
                f"{', '.join(answers) or 'none'}: return it, or remove it here",
            )
            continue
        datatype = data_type(declared.data_type)
        # tritonclient returns BF16 as FP32: numpy has no BF16.
        if output.datatype != datatype and (datatype, output.datatype) != ("BF16", "FP32"):
            yield Finding(
                declared_outputs.__name__,
                model.field_place("output", index, "data_type"),
                f'output "{declared.name}" is declared {datatype}, the answer has '
                f"{output.datatype}: make them equal",
            )
        is_reshaped = backend and declared.HasField("reshape")
        dims = list(declared.reshape.shape if is_reshaped else declared.dims)
        shape = [batch or -1, *dims] if batches else dims
        if not dims_match(shape, output.shape):
            yield Finding(
                declared_outputs.__name__,
                model.field_place("output", index, "dims"),
                f'output "{declared.name}" is declared {shape}'
                + (" with the batch axis" if batches else "")
                + f", the answer has shape {list(output.shape)}: change dims, or the answer",
            )
