"""Repositories in which nothing is wrong: the bases, and what may be written in other ways."""

from functools import partial

from tests.unit.model_build.checks.broken import files
from tests.unit.model_build.checks.broken.bases import (
    DALI,
    ENSEMBLE,
    MODEL,
    ONNX,
    OPENVINO,
    PACKING,
    PYTHON,
    RECIPE,
    SEQUENCE,
    TENSORFLOW,
    TENSORRT,
    TORCHSCRIPT,
    WARMED,
)
from tests.unit.model_build.checks.broken.case import Case, Files, Link

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
    "warm-up": WARMED,
    "ONNX": ONNX,
    "TorchScript": TORCHSCRIPT,
    "TensorRT": TENSORRT,
    "OpenVINO": OPENVINO,
    "DALI": DALI,
    "ensemble": ENSEMBLE,
    "recipe": RECIPE,
    "recipe with packages": PACKING,
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
"""What names a backend -> the file that it opens."""

ENVIRONMENT = """parameters {
  key: "EXECUTION_ENV_PATH"
  value { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" }
}"""
BESIDE: Files = {"twice/base.py": "", "twice/1/words.py": "", "twice/1/lines.cpython-312.so": ""}

CASES = [
    *(Case(f"a base: {name}", files_, {}, []) for name, files_ in BASES.items()),
    Case("an ensemble has an empty version folder", ENSEMBLE, {"both/1/": ""}, []),
    Case("TensorFlow in a release that has it", TENSORFLOW, {}, [], release="24.09"),
    *(
        Case(
            f"{file} for {named}",
            {CONFIG: named + (FIL_TENSORS if "fil" in named else TENSORS), f"twice/1/{file}": ""},
            {},
            [],
            release="24.09",
        )
        for named, file in FILES.items()
    ),
    # Layout
    Case("the name is left out", PYTHON, {CONFIG: {'name: "twice"\n': ""}}, []),
    Case(
        "what an editor and Python leave behind is no part of a model",
        PYTHON,
        {"twice/1/.cache": Link("/nowhere"), "twice/1/__pycache__/model.pyc": "", ".git/1/": ""},
        [],
    ),
    Case(
        "folders whose names are no numbers hold what a model needs",
        PYTHON,
        {"twice/data/words.txt": "", "twice/vocabulary/1/words.txt": ""},
        [],
    ),
    # Tensors
    Case(
        "a reshape keeps the elements",
        PYTHON,
        {
            CONFIG: {
                "# more": 'input { name: "Z" data_type: TYPE_INT8 dims: [ 2, -1, 6 ] '
                "reshape { shape: [ 1, 2, -1, 3, 2 ] } }"
            }
        },
        [],
    ),
    Case(
        "inputs of a TorchScript model are called as its arguments",
        TORCHSCRIPT,
        {CONFIG: {"INPUT__0": "y", "INPUT__1": "x"}},
        [],
    ),
    Case(
        "an ONNX file has more outputs, other sizes and an input with a value of its own",
        ONNX,
        {
            "twice/1/model.onnx": partial(
                files.onnx,
                {"x": ["n", "m"], "w": [1]},
                {"y": ["n", "m"], "z": ["n", "m"]},
                weights=["w"],
            )
        },
        [],
    ),
    Case(
        "an ONNX model that does not batch has all dims, and optional inputs",
        ONNX,
        {
            CONFIG: {
                "max_batch_size: 8\n": "",
                '"x" data_type: TYPE_FP32 dims: [': '"x" optional: true '
                "data_type: TYPE_FP32 dims: [ 4,",
                '"y" data_type: TYPE_FP32 dims: [': '"y" data_type: TYPE_FP32 dims: [ -1,',
            }
        },
        [],
    ),
    # Scheduling
    Case(
        "instances are on CPUs, or left to the server",
        PYTHON,
        {CONFIG: {"# more": "instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_GPU } ]"}},
        [],
    ),
    Case(
        "a model is decoupled",
        PYTHON,
        {CONFIG: {"# more": "model_transaction_policy { decoupled: true }"}},
        [],
    ),
    # Python models
    *(
        Case(
            f"a Python model imports {what}",
            PYTHON,
            {**BESIDE, "twice/1/model.py": code + MODEL},
            [],
        )
        for what, code in {
            "what every release has": "import json, numpy.linalg, distutils.util\n",
            "what may be missing": "try:\n    import cupy\nexcept ImportError:\n    cupy = 0\n",
            "what type checkers need": "if typing.TYPE_CHECKING:\n    import pandas\n",
            "modules beside it": "from .words import a\nimport words\nimport lines\n",
        }.items()
    ),
    Case(
        "a Python model imports what it has packed",
        PYTHON,
        {
            "twice/1/model.py": "import sklearn.svm\n" + MODEL,
            "twice/1/site-packages/sklearn/__init__.py": "import scipy",
        },
        [],
    ),
    Case(
        "a Python model has an environment of its own",
        PYTHON,
        {
            "twice/1/model.py": "import torch\n" + MODEL,
            CONFIG: {"# more": ENVIRONMENT},
            "twice/env.tar.gz": "",
        },
        [],
    ),
    *(
        Case(f"a Python model that {how}", PYTHON, {**BESIDE, "twice/1/model.py": text}, [])
        for how, text in {
            "imports its class": "from base import TritonPythonModel\n",
            "imports its class under another name": "from base import B as TritonPythonModel\n",
            "assigns its class": "import base\nTritonPythonModel = base.Model\n",
            "inherits its execute": "import base\nclass TritonPythonModel(base.Model): ...\n",
            "executes asynchronously": MODEL.replace("def execute", "async def execute"),
        }.items()
    ),
    # Ensembles
    Case(
        "the steps stand in another order",
        ENSEMBLE,
        {
            BOTH: {
                'model_name: "first"': 'model_name: "second"',
                'model_name: "second"': 'model_name: "first"',
                'key: "A" value: "X"': 'key: "C" value: "M"',
                'key: "C" value: "M"': 'key: "A" value: "X"',
                'key: "B" value: "M"': 'key: "D" value: "Y"',
                'key: "D" value: "Y"': 'key: "B" value: "M"',
            }
        },
        [],
    ),
    *(
        Case(f"a step takes [ 3, 4 ] of {dims}", ENSEMBLE, {FIRST: {"[ -1, 4 ]": dims}}, [])
        for dims in ("[ 3, 4 ]", "[ 3, -1 ]", "[ -1, -1 ]")
    ),
    Case(
        "a step spells the batch axis out of one that batches",
        ENSEMBLE,
        {
            FIRST: {"# more": "max_batch_size: 8", "[ -1, 4 ]": "[ 4 ]"},
            SECOND: {"[ 3, 4 ]": "[ -1, 4 ]"},
        },
        [],
    ),
    Case(
        "an ensemble takes smaller batches than its steps",
        ENSEMBLE,
        {
            BOTH: {"input [": "max_batch_size: 4\ninput ["},
            FIRST: {"# more": "max_batch_size: 8"},
            SECOND: {"# more": "max_batch_size: 8"},
        },
        [],
    ),
]
