"""Files of the PyTorch backend, TorchScript and AOTInductor packages, and exports as either."""

import difflib
import platform
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from packaging.version import Version

import platform_facts
from model_build.errors import BuildError
from model_build.export import torch_model
from model_build.export.environment_step import EnvironmentStep
from model_build.export.gate import SEED, SIZE_FRACTIONS, GateCase, compare, read_outputs
from model_build.export.step import StepContext, StepOutput, Writer
from model_build.findings import Problems, warning
from model_build.format import Format
from model_build.model_config import type_name
from model_build.recipe_values import Gate
from model_build.repository import Model

AOTI_PLATFORM = "torch_aoti"
AOTI_SINCE = "26.03"
"""The first release that loads AOTInductor packages (pytorch_backend README.md; src/pt2/, which
r26.02 does not have)."""

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


class TorchStep(EnvironmentStep):
    """A file of a PyTorch model for the PyTorch backend.

    The function `source` gets the folder of the verified weights and returns a
    `model_build.TorchModel`. It runs with the packages of the file `environment`, since the
    release's torch must be able to read the file.
    """

    backend: ClassVar[str] = "pytorch"
    writer: ClassVar[Writer] = Writer(name="torch", packages="torch")
    worker: ClassVar[Path] = Path(__file__).with_name("worker.py")
    title: ClassVar[str]
    gate: Gate

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Export the module, write the file and compare its outputs with the module's."""
        file = context.scratch / f"{output_path.name}.npz"
        self.run(
            output_path,
            context,
            to=self.to,
            torch_model=torch_model.__file__,
            input_seed=SEED,
            fractions=SIZE_FRACTIONS,
            outputs_file=str(file),
        )
        shapes, tensors = read_outputs(file)
        cases = map(GateCase, shapes, tensors["converted"], tensors["original"])
        report = compare(cases, self.gate, converted_name=output_path.name, original_name="PyTorch")
        return StepOutput([(f"{self.title} and PyTorch", report)])


class TorchScript(TorchStep):
    """A traced TorchScript file, which depends only on the weights and on the packages."""

    title: ClassVar[str] = "TorchScript"
    to: Literal["torchscript"]


class TorchAoti(TorchStep):
    """A package of `torch.export` and AOTInductor: compiled code for x86-64 processors with AVX2.

    The compiled code calls torch's C functions only, whose binary interface newer versions keep
    (torch/csrc/inductor/aoti_torch/c/shim.h). It may contain names of temporary folders.
    """

    title: ClassVar[str] = "AOTInductor"
    to: Literal["torch-aoti"]

    def problems(self, file: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield a problem if the model has another platform, for which Triton opens model.pt."""
        del file
        if model.config.platform != AOTI_PLATFORM:
            message = f'Triton opens model.pt: write platform: "{AOTI_PLATFORM}" in config.pbtxt'
            yield ("to",), message

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Compile the module if this machine can."""
        if (sys.platform, platform.machine()) != ("linux", "x86_64") or not shutil.which("g++"):
            raise BuildError(
                f"{output_path.name}: AOTInductor compiles C++, for the machine that it runs on: "
                "build on Linux on x86-64 with g++ (apt-get install g++), or write to: torchscript"
            )
        return super().generate(output_path, context)


@warning
def torchscript_names(model: Model) -> Problems:
    """Either all inputs or no inputs are named NAME__0, NAME__1, ...; the same for outputs.

    TorchScript has no output names, and may have no input names: Triton takes the position from
    the name. If a name has no position, Triton uses the order in config.pbtxt without a message.
    Source: pytorch_backend src/pt/model_state.cc, GetNamingConvention.
    """
    if model.config.platform == AOTI_PLATFORM:
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
    if model.config.platform != AOTI_PLATFORM:
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


@warning
def aoti_names(model: Model) -> Problems:
    """Inputs and outputs of a package are INPUT__0, OUTPUT__0, ..., which every release reads.

    26.03 and 26.04 do not know the other form (ARGS[0], RESULT), and 26.05 refuses names of
    neither. Source: pytorch_backend src/pt2/model_instance_state.cc, ValidateInputs.
    """
    if model.config.platform != AOTI_PLATFORM:
        return
    for kind, names in (("input", r"INPUT__\d+"), ("output", r"OUTPUT__\d+")):
        for index, tensor in enumerate(getattr(model.config, kind)):
            if not re.fullmatch(names, tensor.name):
                yield (
                    model.field_location(kind, index, "name"),
                    f'"{tensor.name}" is not a name in every release with AOTInductor: write '
                    f"{kind.upper()}__ and the position from 0",
                )


@warning
def aoti_batches(model: Model) -> Problems:
    """A package is served without `dynamic_batching`.

    The backend returns the rows of all merged requests to each of them. Measured with
    pytorch_backend r26.05, built for the CPU; its README says that batches are not supported yet.
    """
    config = model.config
    if (
        config.platform == AOTI_PLATFORM
        and config.max_batch_size
        and config.HasField("dynamic_batching")
    ):
        yield (
            model.field_location("dynamic_batching"),
            "up to 26.05, each caller of a merged batch gets the rows of all callers: remove it, "
            "and write max_batch_size: 0 and dims that begin with -1",
        )


def torchscript_problem(path: Path) -> str | None:
    """Return why a file is not one of `torch.jit.save`, None if it is.

    Such a file is a zip file with constants.pkl, which a file of `torch.save` lacks
    (pytorch/pytorch, torch/csrc/jit/docs/serialization.md).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return "is not a TorchScript file: save it with torch.jit.save"
    if any(name.rpartition("/")[2] == "constants.pkl" for name in names):
        return None
    return (
        "was written by torch.save, and Triton needs a TorchScript file: save it with "
        "torch.jit.save, or let a recipe export it (tritonsm new model NAME --kind pytorch)"
    )


def torchscript_files(model: Model, path: Path) -> Problems:
    """A TorchScript file is a zip file of `torch.jit.save`."""
    if model.config.platform != AOTI_PLATFORM and (problem := torchscript_problem(path)):
        yield model.file_location(model.relative_path(path)), problem


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
    other_files={AOTI_PLATFORM: "model.pt2"},
    steps=(TorchScript, TorchAoti),
    config_rules=(
        torchscript_names,
        torchscript_types,
        torchscript_lists,
        torchscript_parameters,
        torchscript_strings,
        aoti_names,
        aoti_batches,
    ),
    file_rules=(torchscript_files,),
    release_rules=(torchscript_versions,),
)
