"""Optimization profiles serve the requests that config.pbtxt lets in."""

from collections.abc import Iterator

from model_build.engines.engine_job import Engine
from model_build.repository import Model


def profile_problems(model: Model, engine: Engine) -> Iterator[str]:
    """Yield what is wrong unless every profile has every input, with its fixed dims.

    One has to reach `max_batch_size`: Triton refuses an engine whose profiles take smaller batches
    than its configuration, and a request outside all profiles fails.
    """
    batch = [-1] if model.config.max_batch_size else []
    shapes = {tensor.name: [*batch, *tensor.dims] for tensor in model.config.input}
    for profile in engine.profiles:
        if profile.keys() != shapes.keys():
            yield f"a profile has {', '.join(profile)}: write the inputs {', '.join(shapes)}"
            return
        for name, bounds in profile.items():
            for sizes in (bounds.min, bounds.opt, bounds.max):
                fits = len(sizes) == len(shapes[name]) and all(
                    axis in (-1, size) for size, axis in zip(sizes, shapes[name], strict=True)
                )
                if not fits:
                    yield f'profile shape {sizes} of "{name}" does not fit {shapes[name]}'
    if not batch:
        return
    for limit, word in ((model.config.max_batch_size, "largest"), (1, "smallest")):
        reached = any(
            all(shape.min[0] <= limit <= shape.max[0] for shape in profile.values())
            for profile in engine.profiles
        )
        if not reached:
            yield f"no profile takes a batch of {limit}, the {word} that clients may send"
