"""A model's name is its directory's."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def model_names(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`name` in config.pbtxt is the directory's name, or is left out.

    Triton refuses a model whose configured name differs from its directory.
    """
    for model in repository.models.values():
        if model.config.name and model.config.name != model.name:
            yield (
                model.at("name"),
                f'name is "{model.config.name}", the directory is {model.name}: write '
                f'name: "{model.name}"',
            )
