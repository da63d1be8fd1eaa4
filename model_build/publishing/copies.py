"""The same model under several names, as multi-model endpoints with many alike are tested."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from model_build import model_config
from model_build.build import Build
from model_build.repository import CONFIG, Repository


@contextmanager
def numbered(built: Build, number: str | None) -> Iterator[Build]:
    """Give the build once more, with `-NUMBER` behind the names of the model and all its parts.

    Without a number it is the build itself.
    Folders, configurations and an ensemble's steps are renamed: Triton's metrics tell models apart
    by name alone.
    """
    if number is None:
        yield built
        return
    with TemporaryDirectory(prefix=f"copy-{built.name}-") as scratch:
        folder = Path(scratch)
        names = {name: f"{name}-{number}" for name in built.repository.models}
        for name, model in built.repository.models.items():
            shutil.copytree(model.directory, folder / names[name], copy_function=_link)
            config = model_config.read(model.directory / CONFIG)
            if config.name:
                config.name = names[name]
            for step in config.ensemble_scheduling.step:
                step.model_name = names[step.model_name]
            (folder / names[name] / CONFIG).unlink()
            model_config.write(config, folder / names[name] / CONFIG)
        yield replace(
            built,
            folder=folder,
            repository=Repository.read(folder, shown_as=Path()),
            name=f"{built.name}-{number}",
        )


def _link(source: str, to: str) -> None:
    """Share a file's bytes on disk: copies of an engine are as large as the engine."""
    try:
        Path(to).hardlink_to(source)
    except OSError:  # another file system
        shutil.copyfile(source, to)
