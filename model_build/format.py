"""The description of a backend's model files, for the builder and the linter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from model_build.export.step import RecipeStep
from model_build.findings import Problems
from model_build.model_config import ModelConfig
from model_build.repository import Model
from platform_facts import Release


@dataclass(frozen=True, kw_only=True)
class Format:
    """A backend of Triton: the file that it opens, the steps that make the file, and its rules.

    Every module of `model_build.formats` defines one as `FORMAT`, which registers it. A rule is a
    function that yields the location and the message of each problem. Its docstring gives the
    reason; findings show its name.
    """

    backend: str
    """The backend's name in config.pbtxt."""
    file: str
    """The default name of the model file in a version folder."""
    other_files: Mapping[str, str] = field(default_factory=dict)
    """Other file names, by `platform` or the parameter `model_type`."""
    instead_of_file: tuple[str, ...] = ()
    """Files of which the backend makes the model file when it loads the model."""
    loads_in_builds: bool = True
    """Whether the Triton of builds, on a CPU, has the backend or a stand-in for it."""
    steps: tuple[type[RecipeStep], ...] = ()
    """The recipe steps, selected by `to:`."""
    config_rules: tuple[Callable[[Model], Problems], ...] = ()
    """Rules for source files: config.pbtxt and Python code."""
    model_rules: tuple[Callable[[Model], Problems], ...] = ()
    """Rules for a complete model directory."""
    file_rules: tuple[Callable[[Model, Path], Problems], ...] = ()
    """Rules for each file that the backend opens."""
    release_rules: tuple[Callable[[Release, Model, Path], Problems], ...] = ()
    """Rules for each file that the backend opens and the Triton release that serves it."""

    def model_file_name(self, config: ModelConfig) -> str:
        """Return the name of the file that the backend opens for a configuration."""
        kind = config.platform
        if not kind and "model_type" in config.parameters:
            kind = config.parameters["model_type"].string_value
        return str(config.default_model_filename or self.other_files.get(kind, self.file))
