"""An archive serves one model."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import CONFIG, Repository


def one_entry(repository: Repository) -> Iterator[tuple[Place, str]]:
    """One model, or several of which exactly one is an ensemble.

    SageMaker gives Triton one name for an archive. Triton's front end maps it to the directory
    whose config.pbtxt says `platform: "ensemble"`, and without one to whichever directory the file
    system lists last.
    """
    models = repository.models
    ensembles = [model.name for model in models.values() if model.is_ensemble]
    if not models:
        yield repository.file(), f"has no model: add a folder with a {CONFIG}"
    elif len(models) > 1 and len(ensembles) != 1:
        found = (
            f"{len(ensembles)} ensembles ({', '.join(ensembles)})" if ensembles else "no ensemble"
        )
        yield (
            repository.file(),
            f"{len(models)} models and {found}: an archive of several models needs exactly one "
            'with platform: "ensemble", which is the one served',
        )
