"""A script that traces a PyTorch module into TorchScript.

It runs in an environment with torch and without model_build, and reads a JSON request from stdin:
`source` (FILE.py:FUNCTION), `torch_model` (the file that defines TorchModel, the return type of a
source), `weights` (a folder or null), `seed`, `input_seed`, `fractions` (the sizes to compare: 0 is
the smallest, 1 the largest), `output_path`, and `outputs_file`: an .npz file for the outputs of the
module and of the file for seeded inputs, which the builder compares.
"""

import io
import json
import os
import sys
import warnings
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TQDM_DISABLE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch

_MACHINE_DEPENDENT = (".debug_pkl", "serialization_id")
"""Members of a TorchScript file that depend on paths of the exporting machine."""


def main(request: dict[str, Any]) -> None:
    # Sources import this module as `model_build`.
    builder = load(request["torch_model"], "model_build")
    file, _, function = request["source"].rpartition(":")
    # torch writes the module's name into TorchScript: a fixed name makes the output reproducible.
    export_function = getattr(load(file, "model_source"), function)
    torch.manual_seed(request["seed"])
    model = export_function(request["weights"] and Path(request["weights"]))
    if not isinstance(model, builder.TorchModel):
        sys.exit("return a model_build.TorchModel")
    warnings.simplefilter("ignore")  # torch.jit is deprecated, but Triton needs it
    content = remove_paths(trace(model, input_seed=request["input_seed"]))
    Path(request["output_path"]).write_bytes(content)
    write_outputs(model, request)


def load(file: str, name: str) -> ModuleType:
    """Execute a file as the module `name`, without bytecode files."""
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    exec(compile(Path(file).read_bytes(), file, "exec", dont_inherit=True), module.__dict__)
    return module


def trace(model: Any, *, input_seed: int) -> bytes:
    inputs = model.sample(model.sizes_at(0), torch.Generator().manual_seed(input_seed))
    with torch.inference_mode():
        example = tuple(inputs[name] for name in model.inputs)
        traced = torch.jit.trace(model.module, example)  # type: ignore[no-untyped-call]
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    return buffer.getvalue()


def remove_paths(content: bytes) -> bytes:
    """Return the same zip without members that torch uses only in error messages."""
    stripped = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(stripped, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in source.namelist():
            if not name.endswith(_MACHINE_DEPENDENT):
                target.writestr(zipfile.ZipInfo(name), source.read(name))
    return stripped.getvalue()


def write_outputs(model: Any, request: dict[str, Any]) -> None:
    modules = {
        "original": model.module,
        "converted": torch.jit.load(request["output_path"], map_location="cpu"),  # type: ignore[no-untyped-call]
    }
    generator = torch.Generator().manual_seed(request["input_seed"])
    shapes = [model.sizes_at(fraction) for fraction in request["fractions"]]
    arrays = {"shapes": np.array(json.dumps(shapes))}
    for case, sizes in enumerate(shapes):
        inputs = model.sample(sizes, generator)
        for kind, module in modules.items():
            with torch.inference_mode():
                results = module(*(inputs[name] for name in model.inputs))
            results = results if isinstance(results, tuple) else (results,)
            for name, tensor in zip(model.outputs, results, strict=True):
                arrays[f"{case}/{kind}/{name}"] = tensor.numpy()
    np.savez(request["outputs_file"], **arrays)


main(json.load(sys.stdin))
