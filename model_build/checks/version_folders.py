"""Versions are folders called by a number."""

import re
from collections.abc import Iterator

from model_build import digest
from model_build.findings import Place
from model_build.repository import Repository

_NEARLY = re.compile(r"(?:v|version)?[-_. ]?[0-9][0-9.]*", re.IGNORECASE)


def version_folders(repository: Repository) -> Iterator[tuple[Place, str]]:
    """A version folder's name is a number from 1 up, without leading zeros.

    Triton skips folders that do not begin with a digit, and ones that begin with a zero
    (docs/user_guide/model_repository.md), so that a folder `v1` is silently no version.
    """
    for model in repository.models.values():
        for path in sorted(model.directory.iterdir()):
            wrong = not re.fullmatch("[1-9][0-9]*", path.name) and _NEARLY.fullmatch(path.name)
            if path.is_dir() and wrong and not digest.is_ignored(path.relative_to(model.directory)):
                number = re.sub("[^0-9].*", "", path.name.lower().lstrip("version-_. ")).lstrip("0")
                yield (
                    model.file(path.name),
                    f"is not a version for Triton: call the folder {number or 1}",
                )
