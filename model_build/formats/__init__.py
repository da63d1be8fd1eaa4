"""Formats of model files, one a module: a new one is found here by itself."""

import pkgutil
from importlib import import_module

from model_build.format import Format

FORMATS: tuple[Format, ...] = tuple(
    import_module(f"{__name__}.{module.name}").FORMAT for module in pkgutil.iter_modules(__path__)
)

BACKENDS: dict[str, Format] = {known.backend: known for known in FORMATS}
"""Formats by the name of the backend in config.pbtxt."""
