"""Text of a config.pbtxt for a model file, from what the file declares."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from google.protobuf import text_encoding

from model_build.errors import BuildError
from model_build.file_tensors import FileTensor
from model_build.formats.fil.tree_model import read_tree_model
from model_build.formats.onnx.graph import read_graph
from model_build.formats.torchscript import torchscript_problem
from model_build.model_config import DATA_TYPES

MAX_BATCH_SIZE = 4
"""What Triton completes for a model with a batch axis (server,
docs/user_guide/model_configuration.md, "Default Max Batch Size and Dynamic Batcher")."""
MAX_ROWS = 32768
"""The value of the examples in fil_backend, docs/model_config.md."""
FORMATS = "model.onnx, model.pt (TorchScript), model.json (XGBoost) or model.txt (LightGBM)"
TENSOR = "NAME:TYPE:SHAPE, such as X:FP32:-1,3,224,224 (a first -1 is the batch)"
_TENSOR = re.compile(r"(?P<name>[^:]+):(?P<type>\w+):(?P<shape>(-1|\d+)(,(-1|\d+))*)?")
_BATCHED_SCALAR = "dims: [ 1 ] reshape { shape: [ ] }"
"""Without batches, Triton refuses an empty reshape (core, src/model_config_utils.cc)."""


_PICKLE = (
    "is a pickle, which Python code loads: tritonsm new model NAME --kind python, and load the "
    "file in initialize() of its model.py (docs/models.md, Pickles)"
)
_OTHER_FILES = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    ".safetensors": "has weights without a model: tritonsm new model NAME --kind pytorch, and load "
    "them in its export.py",
    ".pt2": "is loaded by Triton only if AOTInductor made it: let a recipe export the module "
    "(docs/recipes.md, AOTInductor packages)",
    ".ubj": "cannot be read for its tensors: save the model as model.json",
}
"""What to do with a file that does not declare its tensors, by suffix."""


class NewConfig(NamedTuple):
    """A configuration's text, and the name that Triton opens the file by."""

    text: str
    file_name: str


def parse_tensor(text: str) -> FileTensor:
    """Return the tensor of an option such as `X:FP32:-1,4`. Raise `ValueError`."""
    match = _TENSOR.fullmatch(text)
    data_type = f"TYPE_{match['type'].upper()}".replace("BYTES", "STRING") if match else ""
    if match is None or data_type not in DATA_TYPES:
        types = ", ".join(name.removeprefix("TYPE_") for name in DATA_TYPES)
        raise ValueError(f"{text!r}: write {TENSOR}; types are {types}")
    shape = [int(size) for size in (match["shape"] or "").split(",") if size]
    return FileTensor(match["name"], data_type, shape)


def config_for(
    path: Path, inputs: Sequence[FileTensor] = (), outputs: Sequence[FileTensor] = ()
) -> NewConfig:
    """Return the configuration of a model file; `inputs` and `outputs` replace what it declares.

    Raise `BuildError` if the file is not a model, or does not declare its tensors.
    """
    writers = {".onnx": _onnx, ".pt": _torchscript, ".json": _trees, ".txt": _trees}
    if not path.is_file():
        raise BuildError(f"{path}: no such file: write the path of {FORMATS}")
    if advice := _OTHER_FILES.get(path.suffix):
        raise BuildError(f"{path}: {advice}")
    if path.suffix not in writers:
        raise BuildError(f"{path}: cannot be read for its tensors: write the path of {FORMATS}")
    return writers[path.suffix](path, list(inputs), list(outputs))


def external_files(path: Path) -> list[Path]:
    """Return the files beside an ONNX file that have its weights."""
    if path.suffix != ".onnx":
        return []
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    tensors = onnx.load(path, load_external_data=False).graph.initializer
    names = {ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor)}
    files = [path.parent / name for name in sorted(names)]
    for file in files:
        if file.parent != path.parent or not file.is_file():
            raise BuildError(f"{path}: its weights are in {file}: copy this file beside it")
        if file.is_symlink():  # a downloaded model may name a secret as its weights
            raise BuildError(f"{path}: its weights are a link, {file}: copy both files: cp -L")
    return files


def _onnx(path: Path, inputs: list[FileTensor], outputs: list[FileTensor]) -> NewConfig:
    graph = read_graph(path)
    if graph is None:
        raise BuildError(f"{path}: is not an ONNX file: export it again")
    declared = {tensor.name: tensor for tensor in (*inputs, *outputs)}
    required = [tensor for tensor in graph.inputs if not tensor.optional]
    signature = []
    for option, tensors in (("--input", required), ("--output", graph.outputs)):
        known = []
        for file_tensor in tensors:
            tensor = declared.pop(file_tensor.name, file_tensor)
            if tensor.data_type == "UNDEFINED":  # Triton refuses the file, whatever is configured
                raise BuildError(
                    f"{path}: {tensor.name} is not a tensor: export the model with tensors only "
                    "(of skl2onnx: options={'zipmap': False})"
                )
            if tensor.dims is None or tensor.data_type not in DATA_TYPES:
                raise BuildError(
                    f"{path}: {tensor.name} has no shape or type that Triton knows: add {option} "
                    f"{TENSOR}"
                )
            known.append(tensor)
        signature.append(known)
    if declared:
        names = ", ".join(tensor.name for tensor in (*required, *graph.outputs))
        raise BuildError(f"{path}: has no tensor {', '.join(declared)}: it has {names}")
    return NewConfig(_batched(path, "onnxruntime", *signature), "model.onnx")


def _torchscript(path: Path, inputs: list[FileTensor], outputs: list[FileTensor]) -> NewConfig:
    if problem := torchscript_problem(path):
        raise BuildError(f"{path}: {problem}")
    if not (inputs and outputs):
        raise BuildError(
            f"{path}: TorchScript declares no types or shapes: add --input {TENSOR} for each "
            "argument of forward, in their order, and --output OUTPUT__0:TYPE:SHAPE and so on for "
            "each result"
        )
    return NewConfig(_batched(path, "pytorch", inputs, outputs), "model.pt")


def _trees(path: Path, inputs: list[FileTensor], outputs: list[FileTensor]) -> NewConfig:
    trees = read_tree_model(path)
    if trees.features is None:
        library = "a LightGBM model: save it with booster.save_model('model.txt')"
        if path.suffix == ".json":
            library = "an XGBoost model: save it with booster.save_model('model.json')"
        raise BuildError(f"{path}: is not {library}")
    if inputs or outputs:
        raise BuildError(f"{path}: declares its tensors: leave --input and --output out")
    is_xgboost = path.suffix == ".json"
    parameters = {
        "model_type": "xgboost_json" if is_xgboost else "lightgbm",
        # Of two classes, the score of the second: with predict_proba, the number of columns depends
        # on the release (docs/models.md).
        "output_class": "false",
    }
    if trees.classes > 1:
        parameters |= {"output_class": "true", "threshold": "0.5", "predict_proba": "true"}
    lines = [
        'backend: "fil"',
        f"max_batch_size: {MAX_ROWS}",
        *_tensors("input", [FileTensor("input__0", "TYPE_FP32", [trees.features])]),
        *_tensors("output", [FileTensor("output__0", "TYPE_FP32", [trees.classes])]),
        *(
            f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}'
            for key, value in parameters.items()
        ),
        "dynamic_batching { }",
    ]
    return NewConfig("\n".join([*lines, ""]), "xgboost.json" if is_xgboost else "model.txt")


def _batched(path: Path, backend: str, inputs: list[FileTensor], outputs: list[FileTensor]) -> str:
    """Return a configuration, with a batch axis if the first axis of each tensor is dynamic.

    Triton completes configurations in the same way (onnxruntime_backend, src/onnxruntime.cc,
    AutoCompleteMaxBatch), but it also batches over first axes of different names.
    """
    tensors = [*inputs, *outputs]
    for tensor in tensors:
        if 0 in (tensor.dims or ()):
            raise BuildError(
                f'{path}: "{tensor.name}" has an axis of size 0, which Triton does not serve: '
                "export it with another shape"
            )
    first_axes = {tensor.first_axis for tensor in tensors} - {""}
    reason = "not every first axis is dynamic"
    if len(first_axes) > 1:
        reason = f"the first axes differ ({', '.join(sorted(map(repr, first_axes)))})"
    has_batches = len(first_axes) < 2 and all(
        list(tensor.dims or ())[:1] == [-1] for tensor in tensors
    )
    if has_batches:
        inputs, outputs = (
            [FileTensor(tensor.name, tensor.data_type, (tensor.dims or ())[1:]) for tensor in group]
            for group in (inputs, outputs)
        )
    lines = [
        f'backend: "{backend}"',
        f"max_batch_size: {MAX_BATCH_SIZE}  # the most rows of a request; dims leave that axis out"
        if has_batches
        else f"max_batch_size: 0  # {reason}: no batches",
        *_tensors("input", inputs, scalar=_BATCHED_SCALAR if has_batches else "dims: [ 1 ]"),
        *_tensors("output", outputs, scalar=_BATCHED_SCALAR if has_batches else "dims: [ 1 ]"),
        *(["dynamic_batching { }"] if has_batches else []),
    ]
    return "\n".join([*lines, ""])


def _tensors(kind: str, tensors: Sequence[FileTensor], scalar: str = _BATCHED_SCALAR) -> list[str]:
    rows = []
    for tensor in tensors:
        dims = f"dims: [ {', '.join(map(str, tensor.dims or ()))} ]"
        if not tensor.dims:  # Triton allows no empty dims
            dims = scalar
        name = text_encoding.CEscape(tensor.name, as_utf8=True)
        rows.append(f'  {{ name: "{name}" data_type: {tensor.data_type} {dims} }}')
    return [f"{kind} [", ",\n".join(rows), "]"]
