"""A Triton model repository on disk: the directories that one archive holds."""

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from model_build import digest, model_config
from model_build.field_places import FieldPath, field_places, nearest_place
from model_build.findings import Finding, Place, RepositoryInvalid
from model_build.model_config import ModelConfig

CONFIG = "config.pbtxt"


@dataclass(frozen=True)
class Model:
    """A model directory and what its config.pbtxt says. `shown_as` is how findings call it."""

    directory: Path
    config: ModelConfig
    shown_as: Path

    @property
    def name(self) -> str:
        """The directory's name, which is the model's."""
        return self.directory.name

    @property
    def backend(self) -> str:
        """The backend's name, also where the configuration gives the older `platform`."""
        return model_config.backend_of(self.config)

    @property
    def is_ensemble(self) -> bool:
        """Whether this is an ensemble, in the one spelling that SageMaker's front end sees."""
        return bool(self.config.platform == "ensemble")

    @cached_property
    def versions(self) -> list[str]:
        """The names of the version folders, which are numbers from 1.

        An empty folder is none: neither git nor a deploy keeps it. An ensemble, which has no file,
        has version 1 without a folder.
        """
        paths = sorted(self.directory.iterdir())
        numbered = [
            path for path in paths if path.is_dir() and re.fullmatch("[1-9][0-9]*", path.name)
        ]
        names = [path.name for path in numbered if any(digest.files(path))]
        return names or (["1"] if self.is_ensemble else [])

    def relative_path(self, path: Path) -> str:
        """Return a path below the directory as text: `1/model.onnx`."""
        return os.path.relpath(path, self.directory)

    def field_place(self, *path: str | int) -> Place:
        """Return where a field of config.pbtxt stands: `field_place("input", 0, "dims")`.

        A field that is not written stands where the nearest one around it does.
        """
        place = nearest_place(self._places, path)
        return Place(self.shown_as / CONFIG, *place or ())

    def file_place(self, *parts: str) -> Place:
        """Return a path below the directory, as findings call it."""
        return Place(self.shown_as.joinpath(*parts))

    @cached_property
    def _places(self) -> dict[FieldPath, tuple[int, int]]:
        return field_places((self.directory / CONFIG).read_bytes().decode())


@dataclass(frozen=True)
class Repository:
    """The model directories below a folder, by name. `shown_as` is how findings call it."""

    folder: Path
    shown_as: Path
    models: dict[str, Model] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, *, shown_as: Path | None = None) -> Self:
        """Read every model directory. Raises `RepositoryInvalid` for configs that do not parse."""
        shown_as = folder if shown_as is None else shown_as
        models, unreadable = {}, []
        for path in sorted(folder.glob(f"*/{CONFIG}")):
            if not path.is_file():
                continue
            name = path.parent.name
            try:
                config = model_config.read(path)
            except model_config.NotParsed as error:
                place = Place(shown_as / name / CONFIG, error.line, error.column)
                unreadable.append(Finding("config_parses", place, error.reason))
            else:
                models[name] = Model(path.parent, config, shown_as / name)
        if unreadable:
            raise RepositoryInvalid(unreadable)
        return cls(folder, shown_as, models)

    def file_place(self, *parts: str) -> Place:
        """Return a path below the folder, as findings call it."""
        return Place(self.shown_as.joinpath(*parts))

    @property
    def stateful(self) -> Model | None:
        """A model with `sequence_batching`, None without one.

        An ensemble hands the sequence of its request on to such a step (server,
        docs/user_guide/ensemble_models.md).
        """
        return next(
            (model for model in self.models.values() if model.config.HasField("sequence_batching")),
            None,
        )

    @property
    def is_decoupled(self) -> bool:
        """Whether the entry model answers a request with any number of responses.

        An ensemble does where one of its steps does, whatever its own policy says (core,
        src/ensemble_utils.cc, ValidateEnsembleConfig).
        """
        steps = [
            self.models[step.model_name] for step in self.entry.config.ensemble_scheduling.step
        ]
        answering = steps or [self.entry]
        return any(model.config.model_transaction_policy.decoupled for model in answering)

    @property
    def entry(self) -> Model:
        """The model that SageMaker serves under the archive's name.

        It is the one ensemble, or the only model. Triton's SageMaker front end chooses the same
        way (server src/sagemaker_server.cc). Raises `KeyError` where there is no such choice;
        `checks` says so in words.
        """
        ensembles = [model for model in self.models.values() if model.is_ensemble]
        candidates = ensembles or list(self.models.values())
        if len(candidates) != 1:
            raise KeyError(
                f"{self.folder} has no one entry model: {[model.name for model in candidates]}"
            )
        return candidates[0]
