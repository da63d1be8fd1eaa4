"""Reads the names of one TensorRT version out of its bindings, for recorded_api.py.

    LD_LIBRARY_PATH=STUBS PYTHONPATH=UNPACKED_WHEEL python record_api.py MODULE > api-VERSION.json

MODULE is `tensorrt` (a full wheel; Python 3.10 for 8.6.0) or `tensorrt_bindings` (the wheel
tensorrt-cu12-bindings of PyPI). The bindings import without a GPU and without TensorRT's libraries
where STUBS has empty libraries of their names (libnvinfer.so.10, libnvinfer_plugin.so.10 and
libnvonnxparser.so.10) that define the few C functions which the bindings name. Nothing is built or
run: only names, enum numbers and pybind11's signatures are read.
"""

import importlib
import json
import os
import re
import sys
from typing import Any

CLASSES = (
    *("ILogger", "Logger", "Builder", "IBuilderConfig", "INetworkDefinition"),
    *("NetworkDefinitionCreationFlag", "BuilderFlag", "MemoryPoolType", "OnnxParser"),
    *("ParserError", "IOptimizationProfile", "ITimingCache", "IProgressMonitor"),
    *("HardwareCompatibilityLevel", "IHostMemory", "Runtime", "ICudaEngine"),
    *("IExecutionContext", "DataType"),
)


def main(module_name: str) -> None:
    """Print the public API as JSON."""
    sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)  # not every symbol is there
    module = importlib.import_module(module_name)
    result = {name: _members(getattr(module, name)) for name in CLASSES if hasattr(module, name)}
    result["INetworkDefinition"] = {}  # of no interest, and large
    print(json.dumps(result, indent=1, sort_keys=True))


def _members(cls: Any) -> dict[str, int | str]:
    if entries := getattr(cls, "__members__", None):
        return {name: int(value) for name, value in entries.items()}
    names = [name for name in dir(cls) if not name.startswith("_") or name == "__init__"]
    return {name: _described(getattr(cls, name)) for name in names}


def _described(member: Any) -> str:
    if isinstance(member, property):
        return "property read-write" if member.fset else "property"
    lines = [line.strip() for line in (member.__doc__ or "").strip().splitlines()]
    numbered = [line for line in lines if re.match(r"\d+\. \w+\(", line)]
    signature = " | ".join(numbered) or (lines[0] if lines else "")
    return re.sub(r"tensorrt(_bindings)?\.tensorrt\.", "", signature)


main(sys.argv[1])
