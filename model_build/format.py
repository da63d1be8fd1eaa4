"""A format of model files, for the builder and the linter."""

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
    """A backend of Triton with the file that it opens, the steps that make it, and its rules.

    Every module of `model_build.formats` has one, called `FORMAT`; nothing else lists them. A rule
    is a function whose docstring says why, and whose name findings cite. It yields a place and a
    message for each thing wrong.
    """

    backend: str
    """The name in config.pbtxt."""
    file: str
    """The file in a version folder."""
    other_files: Mapping[str, str] = field(default_factory=dict)
    """`platform`, or the parameter `model_type` -> the file that is opened instead."""
    steps: tuple[type[RecipeStep], ...] = ()
    """The values of `to:` in a recipe."""
    config_rules: tuple[Callable[[Model], Problems], ...] = ()
    """About hand-written files: config.pbtxt and sources."""
    model_rules: tuple[Callable[[Model], Problems], ...] = ()
    """About a complete model directory."""
    file_rules: tuple[Callable[[Model, Path], Problems], ...] = ()
    """About each file that the backend opens."""
    release_rules: tuple[Callable[[Release, Model, Path], Problems], ...] = ()
    """About each such file and the release that serves it."""

    def file_of(self, config: ModelConfig) -> str:
        """Return the name of the file that the backend opens for a configuration."""
        kind = config.platform
        if not kind and "model_type" in config.parameters:
            kind = config.parameters["model_type"].string_value
        return str(config.default_model_filename or self.other_files.get(kind, self.file))
