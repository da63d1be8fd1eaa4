"""A model's name is its directory's."""

from collections.abc import Iterator

from model_build.repository import CONFIG, Repository


def model_names(repository: Repository) -> Iterator[str]:
    """`name` in config.pbtxt is the directory's name, or is left out.

    Triton refuses a model whose configured name differs from its directory.
    """
    for directory, config in repository.configs.items():
        if config.name and config.name != directory:
            yield (
                f'{repository.named(directory, CONFIG)}: name is "{config.name}", the directory '
                f'is {directory}: write name: "{directory}"'
            )
