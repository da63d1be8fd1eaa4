"""Runs at the start of a Python that has this folder on its path."""

import ctypes
from typing import Any

from driver_stand_in import DriverStandIn

_load = ctypes.CDLL


def _loaded(name: Any, *arguments: Any, **named: Any) -> Any:
    return DriverStandIn() if name == "libcuda.so.1" else _load(name, *arguments, **named)


ctypes.CDLL = _loaded  # type: ignore[assignment,misc]
