"""Traces a PyTorch module into TorchScript, in an environment that has the torch to write it.

It is run as a script, knows nothing of the package around it, and reads a JSON request from stdin:
`source` (FILE.py:FUNCTION), `torch_model` (the file that defines TorchModel, the return type of a
source), `weights` (a folder or null), `seed`, `input_seed`, `fractions` (the sizes to compare: 0 is
the smallest, 1 the largest), `output_path`, and `answers`: a .npz for what the module and the file
answer to seeded inputs, so that the builder can compare.
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

_OF_THIS_MACHINE = (".debug_pkl", "serialization_id")
"""Members of a TorchScript file that hold paths of the exporting machine, or follow from them."""


def main(request: dict[str, Any]) -> None:
    # Sources import this module as `model_build`.
    builder = load(request["torch_model"], "model_build")
    file, _, function = request["source"].rpartition(":")
    # torch writes the module's name into TorchScript: a fixed name makes the output reproducible.
    make = getattr(load(file, "model_source"), function)
    torch.manual_seed(request["seed"])
    model = make(request["weights"] and Path(request["weights"]))
    if not isinstance(model, builder.TorchModel):
        sys.exit("return a model_build.TorchModel")
    warnings.simplefilter("ignore")  # torch.jit is deprecated, but Triton needs it
    content = without_paths(trace(model, input_seed=request["input_seed"]))
    Path(request["output_path"]).write_bytes(content)
    write_answers(model, request)


def load(file: str, name: str) -> ModuleType:
    """Execute a file as the module `name`; no bytecode is read or written beside it."""
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


def without_paths(content: bytes) -> bytes:
    """Return the same zip without what torch needs for error messages only."""
    stripped = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(stripped, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in source.namelist():
            if not name.endswith(_OF_THIS_MACHINE):
                target.writestr(zipfile.ZipInfo(name), source.read(name))
    return stripped.getvalue()


def write_answers(model: Any, request: dict[str, Any]) -> None:
    forms = {
        "origin": model.module,
        "converted": torch.jit.load(request["output_path"], map_location="cpu"),  # type: ignore[no-untyped-call]
    }
    generator = torch.Generator().manual_seed(request["input_seed"])
    shapes = [model.sizes_at(fraction) for fraction in request["fractions"]]
    arrays = {"shapes": np.array(json.dumps(shapes))}
    for case, sizes in enumerate(shapes):
        inputs = model.sample(sizes, generator)
        for form, run in forms.items():
            with torch.inference_mode():
                answers = run(*(inputs[name] for name in model.inputs))
            answers = answers if isinstance(answers, tuple) else (answers,)
            for name, tensor in zip(model.outputs, answers, strict=True):
                arrays[f"{case}/{form}/{name}"] = tensor.numpy()
    np.savez(request["answers"], **arrays)


main(json.load(sys.stdin))
