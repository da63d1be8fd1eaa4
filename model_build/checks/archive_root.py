"""Model directories stand at the top of an archive."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import CONFIG, Repository


def archive_root(repository: Repository) -> Iterator[tuple[Place, str]]:
    """A config.pbtxt lies in a model directory, not beside it and not below one.

    Triton polls the directories at the top of the repository; SageMaker's `serve` ends the
    container where config.pbtxt is at the archive's root.
    """
    if (repository.folder / CONFIG).is_file():
        yield (
            repository.file(CONFIG),
            "lies at the root of the archive: move it and its version folders into a folder of "
            "the model's name",
        )
    for path in sorted(repository.folder.glob(f"*/*/{CONFIG}")):
        below = path.relative_to(repository.folder)
        if below.parts[0] not in repository.models and not below.parts[0].startswith("."):
            yield (
                repository.file(*below.parts),
                f"is one folder too deep for Triton: move {below.parts[1]}/ up, out of "
                f"{below.parts[0]}/",
            )
