"""An archive serves one model."""

from collections.abc import Iterator

from model_build.repository import CONFIG, Repository, is_ensemble


def one_entry(repository: Repository) -> Iterator[str]:
    """One model, or several of which exactly one is an ensemble.

    SageMaker gives Triton one name for an archive. Triton's front end maps it to the directory
    whose config.pbtxt says `platform: "ensemble"`, and without one to whichever directory the file
    system lists last.
    """
    ensembles = [name for name, config in repository.configs.items() if is_ensemble(config)]
    if not repository.configs:
        yield f"{repository.named()}: no model: add a folder with a {CONFIG}"
    elif len(repository.configs) > 1 and len(ensembles) != 1:
        found = (
            f"{len(ensembles)} ensembles ({', '.join(ensembles)})" if ensembles else "no ensemble"
        )
        yield (
            f"{repository.named()}: {len(repository.configs)} models and {found}: an archive of "
            'several models needs exactly one with platform: "ensemble", which is the one served'
        )
    for name, config in repository.configs.items():
        if config.backend == "ensemble" or (
            config.ensemble_scheduling.step and not config.platform
        ):
            yield (
                f'{repository.named(name, CONFIG)}: write platform: "ensemble" (SageMaker\'s '
                "front end looks for exactly that and does not see other spellings)"
            )
