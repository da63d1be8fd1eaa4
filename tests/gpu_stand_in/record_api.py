"""Record the API of one TensorRT version from its bindings, for recorded_api.py.

    LD_LIBRARY_PATH=STUBS PYTHONPATH=UNPACKED_WHEEL python record_api.py MODULE > api-VERSION.json

MODULE is `tensorrt` (a full wheel) or `tensorrt_bindings` (the wheel tensorrt-cu12-bindings of
PyPI). The bindings can be imported without a GPU and without the TensorRT
libraries if STUBS contains empty libraries of the same names (libnvinfer.so.10,
libnvinfer_plugin.so.10, libnvonnxparser.so.10) that define the C functions used by the bindings.
Only names, enum numbers and pybind11 signatures are read; nothing is built or run.
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
    sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)  # the stubs lack symbols
    module = importlib.import_module(module_name)
    result = {name: _members(getattr(module, name)) for name in CLASSES if hasattr(module, name)}
    result["INetworkDefinition"] = {}  # large and not used
    print(json.dumps(result, indent=1, sort_keys=True))


def _members(cls: Any) -> dict[str, int | str]:
    if entries := getattr(cls, "__members__", None):
        return {name: int(value) for name, value in entries.items()}
    names = [name for name in dir(cls) if not name.startswith("_") or name == "__init__"]
    return {name: _description(getattr(cls, name)) for name in names}


def _description(member: Any) -> str:
    if isinstance(member, property):
        return "property read-write" if member.fset else "property"
    lines = [line.strip() for line in (member.__doc__ or "").strip().splitlines()]
    numbered = [line for line in lines if re.match(r"\d+\. \w+\(", line)]
    signature = " | ".join(numbered) or (lines[0] if lines else "")
    return re.sub(r"tensorrt(_bindings)?\.tensorrt\.", "", signature)


main(sys.argv[1])
