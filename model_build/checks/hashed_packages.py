"""Packages that a build installs are known by their hashes."""

from collections.abc import Iterator

from model_build.export.pip import missing_hashes
from model_build.findings import Place
from model_build.repository import Repository
from model_build.source import ModelSource


def hashed_packages(source: ModelSource, repository: Repository) -> Iterator[tuple[Place, str]]:
    """Every requirement of a step has a hash: builds install nothing else."""
    del repository  # requirements are beside the recipe
    files = {source.folder / name for _, _, step in source.steps() for name in step.pinned()}
    for file in sorted(files):
        if file.is_file():
            yield from missing_hashes(file)
