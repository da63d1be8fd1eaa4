"""The files of stages: `stages/NAME.yaml`."""

import difflib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from platform_facts.rules import checked_yaml

Model = TypeVar("Model", bound=BaseModel)


class UnknownStage(LookupError):
    """A stage has no readable file, or an invalid name."""


def stage_names(folder: Path) -> list[str]:
    """Return the names of all stages, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def read_stage(name: str, folder: Path, schema: type[Model]) -> Model:
    """Return the file of a stage as a `schema`.

    Raise `UnknownStage` with the existing names, or `checked_yaml.InvalidFile` with every error
    of the file.
    """
    names = stage_names(folder)
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        raise UnknownStage(
            f"no stage {name!r}: {guess}stages are {', '.join(names) or 'none'} (one YAML file "
            f"each in {folder.name}/)"
        )
    path = Path(folder.name, f"{name}.yaml")
    try:
        return checked_yaml.parse(path, (folder / path.name).read_bytes(), schema)
    except OSError as error:  # for example a folder or a broken link
        raise UnknownStage(
            f"{path} cannot be read: {error.strerror}: write a file there, or delete it"
        ) from None
