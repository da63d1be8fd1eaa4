"""Valid repositories, which cases change. Most have one model, `twice`, which doubles numbers.

Cases replace the comment `# FIELDS` of a config.pbtxt by more fields.
"""

from functools import partial

from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.checks.cases.case import Files

MODEL = """\
class TritonPythonModel:
    def execute(self, requests):
        return []
"""


def _config(header: str, footer: str = "# FIELDS", *, x: str = "x", y: str = "y") -> str:
    """Return a config.pbtxt with the input `x` and the output `y`."""
    return f"""\
{header}
max_batch_size: 8
input [ {{ name: "{x}" data_type: TYPE_FP32 dims: [ 2 ] }} ]
output [ {{ name: "{y}" data_type: TYPE_FP32 dims: [ 2 ] }} ]
{footer}
"""


PYTHON: Files = {
    "twice/config.pbtxt": _config('name: "twice"\nbackend: "python"', x="X", y="Y"),
    "twice/1/model.py": MODEL,
}

SEQUENCE: Files = {
    **PYTHON,
    "twice/config.pbtxt": _config(
        'backend: "python"',
        """\
sequence_batching {
  oldest { preferred_batch_size: [ 8 ] }
  control_input {
    name: "START"
    control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }
  }
  control_input {
    name: "ID"
    control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 }
  }
}""",
        x="X",
        y="Y",
    ),
}

WARM_UP: Files = {
    **PYTHON,
    "twice/1/model.py": """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "X") for request in requests]
        outputs = [pb_utils.Tensor("Y", tensor.as_numpy()) for tensor in inputs]
        return [pb_utils.InferenceResponse([output]) for output in outputs]
""",
    "twice/config.pbtxt": """\
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
model_warmup {
  name: "one"
  batch_size: 1
  inputs {
    key: "X"
    value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }
  }
}
""",
}

ONNX: Files = {
    "twice/config.pbtxt": _config('backend: "onnxruntime"'),
    "twice/1/model.onnx": partial(files.onnx, {"x": ["batch", 2]}, {"y": ["batch", 2]}),
}

TORCHSCRIPT: Files = {
    "twice/config.pbtxt": """\
platform: "pytorch_libtorch"
max_batch_size: 8
input [
  { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 2 ] },
  { name: "INPUT__1" data_type: TYPE_FP32 dims: [ 2 ] }
]
output [
  { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 2 ] },
  { name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 2 ] }
]
# FIELDS
""",
    "twice/1/model.pt": files.torchscript,
}

TENSORRT: Files = {
    "twice/config.pbtxt": _config(
        'platform: "tensorrt_plan"', 'instance_group { kind: KIND_GPU profile: [ "0" ] }'
    ),
    "twice/1/model.plan": "",
}

OPENVINO: Files = {
    "twice/config.pbtxt": _config('backend: "openvino"', "instance_group { kind: KIND_CPU }"),
    "twice/1/model.xml": "",
    "twice/1/model.bin": "",
}

FIL: Files = {
    "twice/config.pbtxt": """\
backend: "fil"
max_batch_size: 8
input [ { name: "input__0" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "output__0" data_type: TYPE_FP32 dims: [ 1 ] } ]
parameters { key: "model_type" value { string_value: "xgboost_json" } }
parameters { key: "output_class" value { string_value: "false" } }
# FIELDS
""",
    "twice/1/xgboost.json": '{"learner": {"learner_model_param": {"num_feature": "2"}}}',
}

TENSORFLOW: Files = {
    "twice/config.pbtxt": _config('platform: "tensorflow_graphdef"'),
    "twice/1/model.graphdef": "",
}
"""For releases up to 25.02."""

DALI: Files = {
    "pictures/config.pbtxt": """\
backend: "dali"
max_batch_size: 8
input [ { name: "DALI_INPUT_0" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "PIXELS" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
""",
    "pictures/1/model.dali": files.dali,
}

ENSEMBLE: Files = {
    "both/config.pbtxt": """\
platform: "ensemble"
input [ { name: "X" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [
  {
    model_name: "first"
    model_version: -1
    input_map { key: "A" value: "X" }
    output_map { key: "B" value: "M" }
  },
  {
    model_name: "second"
    model_version: -1
    input_map { key: "C" value: "M" }
    output_map { key: "D" value: "Y" }
  }
] }
# FIELDS
""",
    "first/config.pbtxt": """\
backend: "python"
input [ { name: "A" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "B" data_type: TYPE_INT64 dims: [ -1, 4 ] } ]
# FIELDS
""",
    "first/1/model.py": MODEL,
    "second/config.pbtxt": """\
backend: "python"
input [
  { name: "C" data_type: TYPE_INT64 dims: [ 3, 4 ] },
  { name: "hint" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
]
output [ { name: "D" data_type: TYPE_FP32 dims: [ 2 ] } ]
# FIELDS
""",
    "second/1/model.py": MODEL,
}
"""`first` computes M from X, `second` computes Y from M."""

RECIPE: Files = {
    "recipe.yaml": """\
description: Twice a number
files:
  twice/1/model.onnx:
    to: onnx
    source: export.py:twice
    opset: 18
    gate: { max_absolute_difference: 0.1 }
alternatives:
  torch:
    twice/1/model.pt:
      to: torchscript
      source: export.py:twice
      environment: pins.txt
      gate: { max_absolute_difference: 0.1 }
""",
    "export.py": "",
    "pins.txt": f"# only torch\ntorch==2.4.1 \\\n    --hash=sha256:{64 * '0'}\n",
    "twice/config.pbtxt": ONNX["twice/config.pbtxt"],
}

PACKAGES: Files = {
    **ENSEMBLE,
    "recipe.yaml": """\
description: An ensemble with packages
files:
  first/1/site-packages: { to: python-packages, requirements: pins.txt }
""",
    "pins.txt": f"tokenizers==0.20.3 --hash=sha256:{64 * '0'}\n",
    "first/1/model.py": "import tokenizers\n" + MODEL,
}
