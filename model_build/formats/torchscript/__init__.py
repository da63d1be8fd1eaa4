"""TorchScript files, and exports of PyTorch models as TorchScript."""

import difflib
import re
import zipfile
from pathlib import Path
from typing import ClassVar, Literal

from packaging.version import Version

import platform_facts
from model_build.export import torch_model
from model_build.export.environment_step import EnvironmentStep
from model_build.export.gate import SEED, SIZE_FRACTIONS, GateCase, compare, read_outputs
from model_build.export.step import StepContext, StepOutput, Writer
from model_build.findings import Problems, warning
from model_build.format import Format
from model_build.model_config import type_name
from model_build.recipe_values import Gate
from model_build.repository import Model

NAME_WITH_POSITION = re.compile(r".+?__(?P<index>[0-9]+)")

_ENTRY_VERSIONS = {"byteorder": Version("2.1")}
"""Name of an entry in the zip file -> the first PyTorch version that writes it (pytorch/pytorch,
docs/source/notes/serialization.rst)."""


_PARAMETERS = (
    "DISABLE_OPTIMIZED_EXECUTION",
    "INFERENCE_MODE",
    "DISABLE_CUDNN",
    "ENABLE_NVFUSER",
    "ENABLE_WEIGHT_SHARING",
    "ENABLE_CACHE_CLEANING",
    "ENABLE_JIT_EXECUTOR",
    "ENABLE_JIT_PROFILING",
    "ENABLE_TENSOR_FUSER",
    "INTER_OP_THREAD_COUNT",
    "INTRA_OP_THREAD_COUNT",
)
"""The parameters of the backend (pytorch_backend README.md, "Parameters")."""

_MISSING_TYPES = ("TYPE_BF16", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64")


class TorchScript(EnvironmentStep):
    """A traced TorchScript file of a PyTorch model.

    The function `source` gets the folder of the verified weights and returns a
    `model_build.TorchModel`. It runs with the packages of the file `environment`, since the
    release's torch must be able to read the file. The file depends only on the weights and on these
    packages.
    """

    backend: ClassVar[str] = "pytorch"
    writer: ClassVar[Writer] = Writer(name="torch", packages="torch")
    worker: ClassVar[Path] = Path(__file__).with_name("worker.py")
    to: Literal["torchscript"]
    gate: Gate

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Trace the module, write the file and compare its outputs with the module's."""
        file = context.scratch / f"{output_path.name}.npz"
        self.run(
            output_path,
            context,
            torch_model=torch_model.__file__,
            input_seed=SEED,
            fractions=SIZE_FRACTIONS,
            outputs_file=str(file),
        )
        shapes, tensors = read_outputs(file)
        cases = map(GateCase, shapes, tensors["converted"], tensors["original"])
        report = compare(cases, self.gate, converted_name=output_path.name, original_name="PyTorch")
        return StepOutput([("TorchScript and PyTorch", report)])


@warning
def torchscript_names(model: Model) -> Problems:
    """Either all inputs or no inputs are named NAME__0, NAME__1, ...; the same for outputs.

    TorchScript has no output names, and may have no input names: Triton takes the position from
    the name. If a name has no position, Triton uses the order in config.pbtxt without a message.
    Source: pytorch_backend src/pt/model_state.cc, GetNamingConvention.
    """
    if model.config.platform == "torch_aoti":
        return
    for kind in ("input", "output"):
        tensors = getattr(model.config, kind)
        matches = [NAME_WITH_POSITION.fullmatch(tensor.name) for tensor in tensors]
        for index, (tensor, match) in enumerate(zip(tensors, matches, strict=True)):
            if match is None and any(matches):
                yield (
                    model.field_location(kind, index, "name"),
                    f'"{tensor.name}" has no position, as others have: write '
                    f"{kind.upper()}__{index}",
                )
        positions = sorted(int(match["index"]) for match in matches if match)
        expected = list(range(len(matches))) if kind == "input" else sorted(set(positions))
        if all(matches) and positions != expected:
            yield (
                model.field_location(kind),
                f"{kind}s have positions {positions}: number them from 0, each once",
            )


def torchscript_types(model: Model) -> Problems:
    """No input or output is BF16 or of unsigned integers of more than 8 bits.

    Source: pytorch_backend src/libtorch_utils.cc, ModelConfigDataTypeToTorchType.
    """
    for kind in ("input", "output"):
        for index, tensor in enumerate(getattr(model.config, kind)):
            name = type_name(tensor.data_type)
            if name in _MISSING_TYPES:
                yield (
                    model.field_location(kind, index, "data_type"),
                    f'{kind} "{tensor.name}" is {name}, which the PyTorch backend does not have: '
                    "convert it in the module, and write another type",
                )


def torchscript_lists(model: Model) -> Problems:
    """A TorchScript model declares an input and an output.

    Source: pytorch_backend src/pt/model_state.cc (ValidateInputs, ValidateOutputs).
    """
    if model.config.platform != "torch_aoti":
        for kind in ("input", "output"):
            if not getattr(model.config, kind):
                yield (
                    model.field_location(),
                    f"declares no {kind}, and a TorchScript file has no names that Triton could "
                    f"take: add {kind} [ {{ name data_type dims }} ]",
                )


@warning
def torchscript_parameters(model: Model) -> Problems:
    """No parameter is a misspelt one of the backend, which ignores those that it does not know.

    Other names are accepted. Source: pytorch_backend src/pt/model_state.cc, ParseParameters.
    """
    for name in sorted(model.config.parameters):
        similar_names = difflib.get_close_matches(name.upper(), _PARAMETERS, n=1, cutoff=0.8)
        if similar_names and name not in _PARAMETERS:
            yield (
                model.field_location("parameters", name),
                f'the PyTorch backend ignores the parameter "{name}": write {similar_names[0]}',
            )


@warning
def torchscript_strings(model: Model) -> Problems:
    """A model with string outputs merges no requests.

    The C++ backend gives every request of a merged batch the first rows of its strings (read at
    r24.09: pytorch_backend src/libtorch.cc, ReadOutputTensors and SetStringBuffer; not seen running
    here, where a stand-in serves).
    """
    if not model.config.HasField("dynamic_batching") or not model.config.max_batch_size:
        return
    for index, tensor in enumerate(model.config.output):
        if type_name(tensor.data_type) == "TYPE_STRING":
            yield (
                model.field_location("output", index),
                f'output "{tensor.name}" has strings, and the PyTorch backend of Triton 24.09 '
                "gives each request of a merged batch those of the first request: remove "
                "dynamic_batching, or return numbers",
            )


def torchscript_files(model: Model, path: Path) -> Problems:
    """A TorchScript file is a zip file (pytorch/pytorch, torch/csrc/jit/docs/serialization.md)."""
    if model.config.platform != "torch_aoti" and not zipfile.is_zipfile(path):
        yield (
            model.file_location(model.relative_path(path)),
            "is not a TorchScript file: build or copy it again",
        )


@warning
def torchscript_versions(release: platform_facts.Release, model: Model, path: Path) -> Problems:
    """No entry of a TorchScript file shows that it was written by a newer PyTorch than Triton has.

    PyTorch may not be able to read files of newer versions. Files do not contain their version
    (pytorch/pytorch#33307), so this rule detects only some. In a recipe with `to: torchscript`, the
    version is pinned.
    """
    if release.torch is None or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        entries = {name.rpartition("/")[2] for name in archive.namelist()}
    for entry in entries & _ENTRY_VERSIONS.keys():
        first = _ENTRY_VERSIONS[entry]
        if Version(release.torch) < first:
            yield (
                model.file_location(model.relative_path(path)),
                f"was written by PyTorch {first} or newer, Triton {release.name} has "
                f"{release.torch}, which may not load it: export it with that or an older version, "
                "or choose a newer release",
            )


FORMAT = Format(
    backend="pytorch",
    file="model.pt",
    other_files={"torch_aoti": "model.pt2"},
    steps=(TorchScript,),
    config_rules=(
        torchscript_names,
        torchscript_types,
        torchscript_lists,
        torchscript_parameters,
        torchscript_strings,
    ),
    file_rules=(torchscript_files,),
    release_rules=(torchscript_versions,),
)
