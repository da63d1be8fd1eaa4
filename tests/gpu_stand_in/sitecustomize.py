"""Replacement of the CUDA driver library, run at the start of Python."""

import ctypes
from typing import Any

from driver_stand_in import DriverStandIn

_load = ctypes.CDLL


def _load_library(name: Any, *arguments: Any, **named: Any) -> Any:
    return DriverStandIn() if name == "libcuda.so.1" else _load(name, *arguments, **named)


ctypes.CDLL = _load_library  # type: ignore[assignment,misc]
