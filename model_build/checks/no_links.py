"""A model consists of files."""

from collections.abc import Iterator

from model_build import digest
from model_build.findings import Place
from model_build.repository import Repository


def no_links(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Nothing is a symbolic link: its target may change, or lie outside, unseen by the digest."""
    for path in sorted(repository.folder.rglob("*")):
        relative = path.relative_to(repository.folder)
        if path.is_symlink() and not digest.is_ignored(relative):
            yield repository.file(*relative.parts), "is a symbolic link: put the file itself there"
