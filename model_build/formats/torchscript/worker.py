"""A script that traces a PyTorch module into TorchScript, or compiles it with AOTInductor.

It runs in an environment with torch and without model_build, and reads a JSON request from stdin:
`to` (torchscript or torch-aoti), `source` (FILE.py:FUNCTION), `torch_model` (the file that defines
TorchModel, the return type of a source), `weights` (a folder or null), `seed`, `input_seed`,
`fractions` (the sizes to compare: 0 is the smallest, 1 the largest), `output_path`, and
`outputs_file`: an .npz file for the outputs of the module and of the file for seeded inputs, which
the builder compares.
"""

import io
import json
import os
import sys
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

os.environ["TQDM_DISABLE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch

_MACHINE_DEPENDENT = (".debug_pkl", "serialization_id")
"""Members of a TorchScript file that depend on paths of the exporting machine."""

COMPILER = """#!/bin/bash
exec g++ "${@/#-march=native/-march=x86-64-v3}"
"""
"""The compiler of AOTInductor, which writes -march=native (torch/_inductor/cpp_builder.py)."""


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
    path, seed = Path(request["output_path"]), request["input_seed"]
    if request["to"] == "torchscript":
        path.write_bytes(remove_paths(trace(model, input_seed=seed)))
        converted = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    else:
        compile_package(model, path, input_seed=seed)
        converted = torch._inductor.aoti_load_package(str(path))
    write_outputs({"original": model.module, "converted": converted}, model, request)


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


def compile_package(model: Any, path: Path, *, input_seed: int) -> None:
    """Compile the module for every x86-64 processor of SageMaker's instances.

    By default, the code is for the processor of the build, and for its number of cores.
    """
    dimensions = {
        name: torch.export.Dim(name, min=low, max=high)
        for name, (low, high) in model.axis_bounds().items()
    }
    shapes = [
        {position: dimensions[axis] for position, axis in enumerate(model.axes[name])}
        for name in model.inputs
    ]
    # torch.export makes a constant of a size of 1.
    sizes = {name: max(low, 2) for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(input_seed))
    with TemporaryDirectory() as scratch, torch.no_grad():
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
        compiler = Path(scratch, "g++")
        compiler.write_text(COMPILER)
        compiler.chmod(0o755)
        exported = torch.export.export(
            model.module,
            tuple(inputs[name] for name in model.inputs),
            dynamic_shapes=tuple(shapes),
        )
        torch._inductor.aoti_compile_and_package(
            exported,
            package_path=str(path),
            inductor_configs={
                "cpp.cxx": (None, str(compiler)),
                "cpp.simdlen": 256,  # AVX2
                "cpp.dynamic_threads": True,
                "cpp_cache_precompile_headers": False,  # they would be used once
                "aot_inductor.precompile_headers": False,
            },
        )


def write_outputs(modules: dict[str, Any], model: Any, request: dict[str, Any]) -> None:
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
