"""Comparison of optimization profiles with config.pbtxt."""

from collections.abc import Iterator

from model_build.engines.engine_job import Engine
from model_build.model_config import dims_match
from model_build.repository import Model


def profile_problems(model: Model, engine: Engine) -> Iterator[str]:
    """Yield problems: every profile needs all inputs with their fixed dims.

    The profiles must include the batch sizes 1 and `max_batch_size`: Triton rejects engines with
    smaller batches than the configuration, and requests outside all profiles fail.
    """
    batch = [-1] if model.config.max_batch_size else []
    shapes = {tensor.name: [*batch, *tensor.dims] for tensor in model.config.input}
    for profile in engine.profiles:
        if profile.keys() != shapes.keys():
            yield f"a profile has {', '.join(profile)}: write the inputs {', '.join(shapes)}"
            return
        for name, bounds in profile.items():
            for sizes in (bounds.min, bounds.opt, bounds.max):
                if not dims_match(shapes[name], sizes):
                    yield f'profile shape {sizes} of "{name}" does not fit {shapes[name]}'
    if not batch:
        return
    for batch_size, description in ((model.config.max_batch_size, "largest"), (1, "smallest")):
        is_included = any(
            all(shape.min[0] <= batch_size <= shape.max[0] for shape in profile.values())
            for profile in engine.profiles
        )
        if not is_included:
            yield (
                f"no profile takes a batch of {batch_size}, the {description} that clients may send"
            )
