"""Warm-up requests are ones that the model takes."""

import os
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Model, Repository


def model_warmups(repository: Repository) -> Iterator[tuple[Place, str]]:
    """A warm-up sample has every input, and no batch beyond `max_batch_size`.

    Without its warm-up a model would be loaded all the same, and its first callers would wait.
    """
    for model in repository.models.values():
        for index in range(len(model.config.model_warmup)):
            yield from _findings(model, index)


def _findings(model: Model, index: int) -> Iterator[tuple[Place, str]]:
    sample = model.config.model_warmup[index]
    place = model.at("model_warmup", index)
    inputs = {tensor.name: tensor for tensor in model.config.input}
    if sample.batch_size > max(model.config.max_batch_size, 1):
        yield place, f"batch_size {sample.batch_size} is above the model's max_batch_size"
    for name in sorted(sample.inputs.keys() - inputs.keys()):
        yield place, f'"{name}" is not an input of the model: write one of {", ".join(inputs)}'
    for name in sorted(inputs.keys() - sample.inputs.keys()):
        if not inputs[name].optional:
            yield place, f'gives nothing for input "{name}"'
    for name, given in sorted(sample.inputs.items()):
        if -1 in given.dims or not given.dims:
            yield place, f'input "{name}" needs dims of numbers: a sample has one shape'
        if name in inputs and given.data_type != inputs[name].data_type:
            yield place, f'input "{name}" is not of the data_type that the model takes'
        file = given.input_data_file
        if file and not os.path.isfile(model.directory / "warmup" / file):
            yield place, f"input_data_file {file} is not in the folder warmup/"
