"""Valid repositories: the bases and their variants."""

from functools import partial

from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.checks.cases.bases import (
    DALI,
    ENSEMBLE,
    MODEL,
    ONNX,
    OPENVINO,
    PACKAGES,
    PYTHON,
    RECIPE,
    SEQUENCE,
    TENSORFLOW,
    TENSORRT,
    TORCHSCRIPT,
    WARM_UP,
)
from tests.unit.model_build.checks.cases.case import Files, Link, case

BOTH, FIRST, SECOND = (f"{name}/config.pbtxt" for name in ("both", "first", "second"))
CONFIG = "twice/config.pbtxt"
TENSORS = """
max_batch_size: 8
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""

BASES = {
    "Python": PYTHON,
    "sequences": SEQUENCE,
    "warm-up": WARM_UP,
    "ONNX": ONNX,
    "TorchScript": TORCHSCRIPT,
    "TensorRT": TENSORRT,
    "OpenVINO": OPENVINO,
    "DALI": DALI,
    "ensemble": ENSEMBLE,
    "recipe": RECIPE,
    "recipe with packages": PACKAGES,
}
FIL_TENSORS = (
    TENSORS.replace("INPUT__0", "input__0").replace("OUTPUT__0", "output__0")
    + 'parameters { key: "output_class" value { string_value: "false" } }\n'
)
FILES = {
    'platform: "tensorrt_plan"': "model.plan",
    'backend: "tensorrt"': "model.plan",
    'backend: "tensorrt" default_model_filename: "twice.plan"': "twice.plan",
    'platform: "torch_aoti"': "model.pt2",
    'backend: "fil"': "xgboost.model",
    'backend: "fil" default_model_filename: "trees.json"': "trees.json",
    **{
        f'backend: "fil" parameters {{ key: "model_type" value {{ string_value: "{kind}"}} }}': file
        for kind, file in (
            ("xgboost", "xgboost.model"),
            ("xgboost_json", "xgboost.json"),
            ("lightgbm", "model.txt"),
            ("treelite_checkpoint", "checkpoint.tl"),
        )
    },
    'backend: "openvino" default_model_filename: "model.onnx"': "model.onnx",
    'platform: "tensorflow_graphdef"': "model.graphdef",
    'platform: "tensorflow_savedmodel"': "model.savedmodel/saved_model.pb",
    'backend: "tensorflow" platform: "tensorflow_savedmodel"': "model.savedmodel/saved_model.pb",
}
"""Lines of config.pbtxt -> the model file of the backend."""

ENVIRONMENT = """parameters {
  key: "EXECUTION_ENV_PATH"
  value { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" }
}"""
BASE = MODEL + "class B(TritonPythonModel): ...\nclass Model(TritonPythonModel): ...\n"
MODULES: Files = {
    "twice/base.py": BASE,
    "twice/1/words.py": "a = 1\n",
    "twice/1/lines.cpython-312.so": "",
}

CONTROL = (
    'control_input {{ name: "{0}" control {{ kind: CONTROL_SEQUENCE_{0} '
    "fp32_false_true: [ 0, 1 ] }} }}"
)
SHAPES: dict[str, tuple[str, files.Shapes, files.Shapes]] = {
    "controls": (
        f"sequence_batching {{ {CONTROL.format('START')} {CONTROL.format('READY')} }}",
        {"START": ["n", 1], "READY": ["n", 1]},
        {},
    ),
    "a state": (
        'sequence_batching { state { input_name: "S" output_name: "S_OUT" data_type: TYPE_FP32 '
        "dims: [ 2 ] } }",
        {"S": ["n", 2]},
        {"S_OUT": ["n", 2]},
    ),
    "a batch input": (
        'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "COUNT" data_type: TYPE_FP32 '
        'source_input: "x" }',
        {"COUNT": ["m"]},
        {},
    ),
}
"""Tensors of an ONNX file that config.pbtxt declares elsewhere: fields, inputs, outputs."""

# fmt: off
CASES = [
    *(case(f"base: {name}", files_, {}) for name, files_ in BASES.items()),
    case("ensemble with an empty version folder", ENSEMBLE, {"both/1/": ""}),
    case("TensorFlow in a release with it", TENSORFLOW, {}, release="24.09"),
    *(case(f"{file} for {lines}", {CONFIG: lines + (FIL_TENSORS if "fil" in lines else TENSORS),
                                   f"twice/1/{file}": ""}, {}, release="24.09")
      for lines, file in FILES.items()),
    # Layout
    case("config without a name", PYTHON, {CONFIG: {'name: "twice"\n': ""}}),
    case("files of editors and Python", PYTHON,
         {"twice/1/.cache": Link("/missing"), "twice/1/__pycache__/model.pyc": "", ".git/1/": ""}),
    case("data folders", PYTHON, {"twice/data/words.txt": "", "twice/vocabulary/1/words.txt": ""}),
    # Tensors
    case("reshape to the same elements", PYTHON,
         {CONFIG: {"# FIELDS": 'input { name: "Z" data_type: TYPE_INT8 dims: [ 2, -1, 6 ] '
           "reshape { shape: [ 1, 2, -1, 3, 2 ] } }"}}),
    case("parameter that only a TorchScript model's own code reads", TORCHSCRIPT,
         {CONFIG: {"# FIELDS": 'parameters { key: "THRESHOLD" value { string_value: "1" } }'}}),
    case("TorchScript inputs with the names of the arguments", TORCHSCRIPT,
         {CONFIG: {"INPUT__0": "y", "INPUT__1": "x"}}),
    case("ONNX file with more outputs, dynamic sizes and an input with a default", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"x": ["n", "m"], "w": [1]},
                                        {"y": ["n", 2], "z": ["n", "m"]}, weights=["w"])}),
    case("ONNX model without batching, with an optional input", ONNX,
         {CONFIG: {"max_batch_size: 8\n": "",
           "dims: [ 2 ] } ]\noutput": 'dims: [ 4, 2 ] }, { name: "w" optional: true '
           "data_type: TYPE_FP32 dims: [ 1 ] } ]\noutput",
           '"y" data_type: TYPE_FP32 dims: [': '"y" data_type: TYPE_FP32 dims: [ -1,'},
          "twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2], "w": [1]}, {"y": ["n", 2]},
                                       weights=["w"])}),
    *(case(f"ONNX model with {kind}", ONNX,
           {CONFIG: {"# FIELDS": fields},
            "twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2], **inputs},
                                          {"y": ["n", 2], **outputs})})
      for kind, (fields, inputs, outputs) in SHAPES.items()),
    case("DALI pipeline without batches", DALI,
         {"pictures/config.pbtxt": {"max_batch_size: 8\n": ""}}),
    case("DALI pipeline that Triton serializes", DALI,
         {"pictures/1/model.dali": None, "pictures/1/dali.py": "# autoserialize\n"}),
    # Scheduling
    case("response cache", PYTHON, {CONFIG: {"# FIELDS": "response_cache { enable: true }"}}),
    case("decoupled model", PYTHON,
         {CONFIG: {"# FIELDS": "model_transaction_policy { decoupled: true }"}}),
    # Python models
    *(case(f"Python model that imports {imports}", PYTHON,
           {**MODULES, "twice/1/model.py": code + MODEL})
      for imports, code in {
          "modules of every release": "import json, numpy.linalg, distutils.util\n",
          "an optional package": "try:\n    import cupy\nexcept ImportError:\n    cupy = 0\n",
          "a package for type checkers": "import typing\nif typing.TYPE_CHECKING: import pandas\n",
          "its own modules": "from .words import a\nimport words\nimport lines\n",
      }.items()),
    case("Python model that imports its packages", PYTHON,
         {"twice/1/model.py": "import sklearn.svm\n" + MODEL,
          "twice/1/site-packages/sklearn/__init__.py": "import scipy"}),
    case("Python model with an environment", PYTHON,
         {"twice/1/model.py": "import torch\n" + MODEL, CONFIG: {"# FIELDS": ENVIRONMENT},
          "twice/env.tar.gz": ""}),
    *(case(f"Python model that {variant}", PYTHON, {**MODULES, "twice/1/model.py": text})
      for variant, text in {
          "imports its class": "from base import TritonPythonModel\n",
          "imports its class under another name": "from base import B as TritonPythonModel\n",
          "assigns its class": "import base\nTritonPythonModel = base.Model\n",
          "inherits its execute": "import base\nclass TritonPythonModel(base.Model): ...\n",
          "executes asynchronously": MODEL.replace("def execute", "async def execute"),
      }.items()),
    case("Python model beside a client", PYTHON,
         {"twice/client.py": "import tritonclient\n", "twice/1/words.py": "import json\n"}),
    # Ensembles
    case("ensemble that reshapes its output", ENSEMBLE,
         {BOTH: {"dims: [ -1 ]": "dims: [ 2 ] reshape { shape: [ 1, 2 ] }"},
          SECOND: {"dims: [ 2 ]": "dims: [ 1, 2 ]"}}),
    case("steps in another order", ENSEMBLE,
         {BOTH: {'"first"': '"second"', '"second"': '"first"',
                 '"A" value: "X"': '"C" value: "M"', '"C" value: "M"': '"A" value: "X"',
                 '"B" value: "M"': '"D" value: "Y"', '"D" value: "Y"': '"B" value: "M"'}}),
    *(case(f"step with [ 3, 4 ] after {dims}", ENSEMBLE, {FIRST: {"[ -1, 4 ]": dims}})
      for dims in ("[ 3, 4 ]", "[ 3, -1 ]", "[ -1, -1 ]")),
    case("step with an explicit batch axis after one that batches", ENSEMBLE,
         {FIRST: {"# FIELDS": "max_batch_size: 8", "[ -1, 4 ]": "[ 4 ]"},
          SECOND: {"[ 3, 4 ]": "[ -1, 4 ]"}}),
    case("ensemble with smaller batches than its steps", ENSEMBLE,
         {BOTH: {"input [": "max_batch_size: 4\ninput ["}, FIRST: {"# FIELDS": "max_batch_size: 8"},
          SECOND: {"# FIELDS": "max_batch_size: 8"}}),
]
# fmt: on
