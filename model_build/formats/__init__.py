"""Backends with the formats of their model files, one per module, registered automatically."""

import pkgutil
from importlib import import_module

from model_build.format import Format

FORMATS: tuple[Format, ...] = tuple(
    import_module(f"{__name__}.{module.name}").FORMAT for module in pkgutil.iter_modules(__path__)
)

BACKENDS: dict[str, Format] = {format_.backend: format_ for format_ in FORMATS}
"""Formats by the backend's name in config.pbtxt."""
