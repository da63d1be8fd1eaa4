"""config.pbtxt has as many tensors as the TorchScript file."""

import ast
import pickletools
import zipfile
import zlib
from pathlib import Path

from model_build.findings import Problems
from model_build.repository import Model

LARGEST = 50_000_000
"""Bytes of code, or of the pickle, that are read: weights are in files of their own."""


class NotTorchScript(Exception):
    """A file that torch.jit.save did not write."""


def torchscript_tensors(model: Model, path: Path) -> Problems:
    """Inputs and outputs are as many as `forward` takes and returns.

    TorchScript has neither types nor dims of tensors; arguments have names.
    """
    if model.config.platform == "torch_aoti":
        return
    file = model.inner(path)
    try:
        forward = _forward(path)
    except NotTorchScript as error:
        yield model.file(file), f"is not a TorchScript file: {error}"
        return
    if forward is None:
        yield model.file(file), "has no method forward, which Triton calls: trace it again"
        return
    arguments = [it.arg for it in forward.args.args if it.arg != "self"]
    declared = [it.name for it in model.config.input]
    by_position = all("__" in name for name in declared)
    if by_position and len(declared) != len(arguments):
        yield (
            model.at("input"),
            f"declares {len(declared)} inputs, forward in {file} takes {len(arguments)}: "
            f"{', '.join(arguments)}",
        )
    elif not by_position and len(arguments) > 1 and sorted(declared) != sorted(arguments):
        yield (
            model.at("input"),
            f"declares inputs {', '.join(declared)}, forward in {file} takes "
            f"{', '.join(arguments)}",
        )
    given = _number_of_outputs(forward)
    if given is not None and len(model.config.output) > given:
        yield (
            model.at("output"),
            f"declares {len(model.config.output)} outputs, forward in {file} returns {given}",
        )


def _forward(path: Path) -> ast.FunctionDef | None:
    """Return `forward` of the module in a TorchScript file, None where it has none.

    The file is a zip of code in a subset of Python, and a pickle that names the module's class
    (torch/csrc/jit/docs/serialization.md in pytorch): both are read, and neither is loaded, since
    torch runs what it loads. Raises `NotTorchScript`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            root = archive.namelist()[0].partition("/")[0]
            pickle = _member(archive, f"{root}/data.pkl")
            named = (it for code, it, _ in pickletools.genops(pickle) if code.name == "GLOBAL")
            module, _, name = str(next(named)).partition(" ")
            code = ast.parse(_member(archive, f"{root}/code/{module.replace('.', '/')}.py"))
    except (zipfile.BadZipFile, zlib.error, LookupError, OSError, RuntimeError, StopIteration,
            SyntaxError, ValueError) as error:  # fmt: skip
        raise NotTorchScript(str(error) or type(error).__name__) from None
    classes = {it.name: it for it in code.body if isinstance(it, ast.ClassDef)}
    if name not in classes:
        raise NotTorchScript(f"its code has no class {name}")
    methods = (it for it in classes[name].body if isinstance(it, ast.FunctionDef))
    return next((it for it in methods if it.name == "forward"), None)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise NotTorchScript(f"{name} has more than {LARGEST:,} bytes")
    return archive.read(name)


def _number_of_outputs(forward: ast.FunctionDef) -> int | None:
    """Return how many tensors `forward` returns; None where that is not fixed."""
    match forward.returns:
        case ast.Name("Tensor"):
            return 1
        case ast.Subscript(ast.Name("Tuple"), ast.Tuple(elements)):
            return len(elements)
        case ast.Subscript(ast.Name("Tuple")):
            return 1
    return None
