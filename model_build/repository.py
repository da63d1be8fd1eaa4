"""A Triton model repository on disk: the model directories of one archive."""

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from model_build import digest, model_config
from model_build.field_locations import FieldPath, field_locations, nearest_location
from model_build.findings import Finding, Location, RepositoryInvalid
from model_build.model_config import ModelConfig

CONFIG = "config.pbtxt"
VERSION_FOLDER = re.compile("[1-9][0-9]*")
"""Names of version folders (server, docs/user_guide/model_repository.md, "Model Versions")."""
IMPLIED_BACKENDS = {
    "model.savedmodel": "tensorflow",
    "model.graphdef": "tensorflow",
    "model.plan": "tensorrt",
    "model.onnx": "onnxruntime",
    "model.xml": "openvino",
    "model.pt": "pytorch",
    "model.py": "python",
}
"""The backend that Triton takes for a file, in its order."""


@dataclass(frozen=True)
class Model:
    """A model directory with its parsed config.pbtxt; findings show the path `display_path`."""

    directory: Path
    config: ModelConfig
    display_path: Path

    @property
    def name(self) -> str:
        """The model's name: that of its directory."""
        return self.directory.name

    @property
    def backend(self) -> str:
        """The backend's name, also for configurations with the older `platform`, or without both.

        Triton then takes the backend from the name of the file (core src/model_config_utils.cc,
        AutoCompleteBackendFields).
        """
        return model_config.backend_of(self.config) or self._implied_backend

    @cached_property
    def _implied_backend(self) -> str:
        name = self.config.default_model_filename
        files = {name} if name else {p.name for v in self.versions[:1] for p in self._files(v)}
        return next((backend for file, backend in IMPLIED_BACKENDS.items() if file in files), "")

    def _files(self, version: str) -> list[Path]:
        folder = self.directory / version
        return [*folder.iterdir()] if folder.is_dir() else []

    @property
    def is_ensemble(self) -> bool:
        """Whether `platform` is "ensemble", the only spelling that SageMaker's front end knows."""
        return bool(self.config.platform == "ensemble")

    @cached_property
    def versions(self) -> list[str]:
        """The names of the version folders, which are numbers from 1.

        Empty folders are ignored: neither git nor a deploy keeps them. An ensemble has version 1
        even without a folder.
        """
        paths = sorted(self.directory.iterdir())
        numbered = [path for path in paths if path.is_dir() and VERSION_FOLDER.fullmatch(path.name)]
        names = [path.name for path in numbered if any(digest.model_files(path))]
        return names or (["1"] if self.is_ensemble else [])

    def relative_path(self, path: Path) -> str:
        """Return a path relative to the directory, such as `1/model.onnx`."""
        return os.path.relpath(path, self.directory)

    def field_location(self, *path: str | int) -> Location:
        """Return the location of a field of config.pbtxt, such as ("input", 0, "dims").

        An absent field has the location of its nearest parent.
        """
        location = nearest_location(self._locations, path)
        return Location(self.display_path / CONFIG, *location or ())

    def file_location(self, *parts: str) -> Location:
        """Return the location of a file in the directory, given the parts of its path."""
        return Location(self.display_path.joinpath(*parts))

    @cached_property
    def _locations(self) -> dict[FieldPath, tuple[int, int]]:
        """Line and column of each field of config.pbtxt."""
        return field_locations(model_config.read_text(self.directory / CONFIG))


@dataclass(frozen=True)
class Repository:
    """The model directories of a folder, by name; findings show the path `display_path`."""

    folder: Path
    display_path: Path
    models: dict[str, Model] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, *, display_path: Path | None = None) -> Self:
        """Return the repository. Raise `RepositoryInvalid` for syntax errors in config.pbtxt."""
        display_path = folder if display_path is None else display_path
        models, findings = {}, []
        for path in sorted(folder.glob(f"*/{CONFIG}")):
            if not path.is_file():
                continue
            name = path.parent.name
            try:
                config = model_config.read(path)
            except model_config.NotParsed as error:
                location = Location(display_path / name / CONFIG, error.line, error.column)
                findings.append(Finding("config_parses", location, error.reason))
            else:
                models[name] = Model(path.parent, config, display_path / name)
        if findings:
            raise RepositoryInvalid(findings)
        return cls(folder, display_path, models)

    def file_location(self, *parts: str) -> Location:
        """Return the location of a file in the folder, given the parts of its path."""
        return Location(self.display_path.joinpath(*parts))

    @property
    def backends(self) -> dict[str, str]:
        """The backend of each model that is not an ensemble."""
        models = self.models.items()
        return {name: model.backend for name, model in models if not model.is_ensemble}

    @property
    def stateful(self) -> Model | None:
        """A model with `sequence_batching`, or None.

        An ensemble passes the sequence id of its request to its steps (server,
        docs/user_guide/ensemble_models.md).
        """
        return next(
            (model for model in self.models.values() if model.config.HasField("sequence_batching")),
            None,
        )

    @property
    def is_decoupled(self) -> bool:
        """Whether a request to the entry model can have any number of responses.

        An ensemble is decoupled if one of its steps is, regardless of its own policy (core,
        src/ensemble_utils.cc, ValidateEnsembleConfig).
        """
        steps = [
            self.models[step.model_name] for step in self.entry.config.ensemble_scheduling.step
        ]
        models = steps or [self.entry]
        return any(model.config.model_transaction_policy.decoupled for model in models)

    @property
    def entry(self) -> Model:
        """The model that SageMaker serves: the only ensemble, or the only model.

        Triton's SageMaker front end chooses in the same way (server src/sagemaker_server.cc).
        Raise `KeyError` if there are several candidates or none, which `checks` report first.
        """
        ensembles = [model for model in self.models.values() if model.is_ensemble]
        candidates = ensembles or list(self.models.values())
        if len(candidates) != 1:
            raise KeyError(
                f"{self.folder} has no one entry model: {[model.name for model in candidates]}"
            )
        return candidates[0]
