"""A model's name is its directory's."""

import re
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")


def model_names(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`name` in config.pbtxt is the directory's name, or is left out.

    Triton refuses a model whose configured name differs from its directory, and the local one never
    ends loading some names with blanks and quotes.
    """
    for model in repository.models.values():
        if not _PLAIN.fullmatch(model.name):
            yield model.file(), "call the folder by letters, digits, . _ and - alone"
        if model.config.name and model.config.name != model.name:
            yield (
                model.at("name"),
                f'name is "{model.config.name}", the directory is {model.name}: write '
                f'name: "{model.name}"',
            )
