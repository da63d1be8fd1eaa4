"""Invalid model files and parameters, by backend."""

from functools import partial

from tests.unit.model_build.checks.cases import files
from tests.unit.model_build.checks.cases.bases import DALI, FIL, MODEL, ONNX, PYTHON, TORCHSCRIPT
from tests.unit.model_build.checks.cases.case import case

CONFIG = "twice/config.pbtxt"
EXECUTE_WITHOUT_RETURN = """\
class TritonPythonModel:
    def execute(self, requests):
        def respond(request):
            return request

        responses = [respond(request) for request in requests]
"""
XGBOOST = '{"learner": {"learner_model_param": {"num_feature": %s}}}'

# fmt: off
CASES = [
    # python_imports
    case("Python model that imports a missing package", PYTHON,
         {"twice/1/model.py": "import numpy\ntry:\n  import cupy\nfinally:\n  import os\n" + MODEL,
          "twice/1/words.py": "def first():\n    from sklearn.svm import SVC\nimport sklearn\n"},
         "twice/1/model.py:3:3: imports cupy ... --to twice --add PACKAGE`, [python_imports]",
         "twice/1/words.py:2:5: imports sklearn ... --to twice --add [python_imports]"),
    # python_models
    case("Python model with a syntax error", PYTHON,
         {"twice/1/model.py": "class TritonPythonModel:\n    def execute(self, requests)\n"},
         "twice/1/model.py:2:32: does not parse: expected ':' [python_models]"),
    case("Python model with a null byte", PYTHON,
         {"twice/1/model.py": b'class TritonPythonModel:\x00'},
         "twice/1/model.py: does not parse: source code string cannot contain [python_models]"),
    case("Python model without TritonPythonModel", PYTHON,
         {"twice/1/model.py": {"TritonPythonModel": "TritonModel"}},
         "twice/1/model.py: has no class TritonPythonModel, which Triton's [python_models]"),
    case("Python model without execute", PYTHON,
         {"twice/1/model.py": {"class": "import json\n\n\nclass", "execute": "run"}},
         "twice/1/model.py:4:1: TritonPythonModel has no method execute(self, [python_models]"),
    case("Python model whose execute forgets its responses", PYTHON,
         {"twice/1/model.py": EXECUTE_WITHOUT_RETURN},
         "twice/1/model.py:2:5: execute returns None, and Triton never answers [python_models]"),
    # bls_calls
    case("Python model that calls another model by a fixed name", PYTHON,
         {"twice/1/model.py": MODEL + "import triton_python_backend_utils as utils\n"
          "NAME = 'inner'\ndef call():\n    utils.InferenceRequest(model_name=NAME)\n"
          "    return utils.InferenceRequest(\n        model_name='inner', inputs=[])\n"},
         'twice/1/model.py:8:12: calls model "inner" by a fixed name [bls_calls]'),
    # onnx_tensors: lists that Triton completes
    case("ONNX model without outputs that gets a batch axis", ONNX,
         {CONFIG: {'output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]\n': "",
                   "max_batch_size: 8": "max_batch_size: 0",
                   '"x" data_type: TYPE_FP32 dims: [': '"x" data_type: TYPE_FP32 dims: [ -1,'}},
         "twice/config.pbtxt: warning: declares no output: add output [ { name data_type dims } ] "
         "[tensor_lists]",
         'twice/config.pbtxt:3:42: input "x" has dims [-1, 2], 1/model.onnx has [2] behind the '
         "batch axis [onnx_tensors]"),
    # torchscript_lists
    case("TorchScript model without outputs", TORCHSCRIPT,
         {CONFIG: {"output [\n": "#\n",
                   '{ name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 2 ] },': "#",
                   '{ name: "OUTPUT__1" data_type: TYPE_FP32 dims: [ 2 ] }\n]': "#"}},
         "twice/config.pbtxt: warning: declares no output: add output [ { name data_type dims } ] "
         "[tensor_lists]",
         "twice/config.pbtxt: declares no output, and a TorchScript file has no names that Triton "
         "could take: add output [ { name data_type dims } ] [torchscript_lists]"),
    # onnx_bf16
    case("ONNX file with BF16 before Triton 26.03", ONNX,
         {"twice/config.pbtxt": {'"x" data_type: TYPE_FP32': '"x" data_type: TYPE_BF16',
           '"y" data_type: TYPE_FP32': '"y" data_type: TYPE_BF16'},
          "twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2]}, {"y": ["n", 2]},
                                       types={"x": "BFLOAT16", "y": "BFLOAT16"})},
         'twice/1/model.onnx: "x" is BF16 ... or choose Triton 26.03 or newer [onnx_bf16]',
         'twice/1/model.onnx: "y" is BF16 ... or choose Triton 26.03 or newer [onnx_bf16]'),
    # onnx_tensors
    case("Git LFS pointer as model.onnx", ONNX,
         {"twice/1/model.onnx": "version https://git-lfs.github.com/spec/v1\n"},
         "twice/1/model.onnx: is not an ONNX file: build or copy it again [onnx_tensors]"),
    case("ONNX file with another input", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"X": ["n", 2]}, {"y": ["n", 2]})},
         'twice/config.pbtxt:3:11: 1/model.onnx has no input "x"; it has X [onnx_tensors]',
         'twice/config.pbtxt:3:1: 1/model.onnx needs an input "X": declare it [onnx_tensors]'),
    case("ONNX file with other types and sizes", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"x": ["n", 3]}, {"y": ["n", "m"]},
                                        types={"x": "INT64", "y": "INT64"})},
         'twice/config.pbtxt:3:21: input "x" is TYPE_INT64 in 1/model.onnx [onnx_tensors]',
         'twice/config.pbtxt:3:42: input "x" has dims [2], 1/model.onnx has [3] [onnx_tensors]',
         'twice/config.pbtxt:4:22: output "y" is TYPE_INT64 in 1/model.onnx [onnx_tensors]',
         'twice/config.pbtxt:4:43: output "y" has dims [2], 1/model.onnx has [onnx_tensors]'),
    case("ONNX input with a value in the file", ONNX,
         {CONFIG: {"max_batch_size: 8": "max_batch_size: 0",
           '"x" data_type: TYPE_FP32 dims: [ 2 ] }': '"x" data_type: TYPE_FP32 dims: [ 1 ] '
           '}, { name: "w" data_type: TYPE_FP32 dims: [ 1 ] }',
           '"y" data_type: TYPE_FP32 dims: [ 2 ]': '"y" data_type: TYPE_FP32 dims: [ 1 ]'},
          "twice/1/model.onnx": partial(files.onnx, {"x": [1], "w": [1]}, {"y": [1]},
                                       weights=["w"])},
         'twice/config.pbtxt:3:57: input "w" has a value in 1/model.onnx: write [onnx_tensors]'),
    case("optional ONNX input without a value in the file", ONNX,
         {CONFIG: {"max_batch_size: 8": "max_batch_size: 0",
           '"x" data_type: TYPE_FP32 dims: [': '"x" optional: true data_type: TYPE_FP32 '
           "dims: [ -1,",
           '"y" data_type: TYPE_FP32 dims: [': '"y" data_type: TYPE_FP32 dims: [ -1,'}},
         'twice/config.pbtxt:3:9: input "x" has no value in 1/model.onnx: remove [onnx_tensors]'),
    case("optional ONNX input of a model that batches", ONNX,
         {CONFIG: {'"x" data_type': '"x" optional: true data_type'}},
         'twice/config.pbtxt:3:9: input "x" is optional, which needs [onnx_tensors]'),
    case("ONNX file without an axis of size 1", ONNX,
         {CONFIG: {'"y" data_type: TYPE_FP32 dims: [ 2 ]': '"y" data_type: TYPE_FP32 dims: [ 1 ]'},
          "twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2]}, {"y": ["n"]})},
         'twice/config.pbtxt:4:43: output "y" has dims [1] ... add reshape { [onnx_tensors]'),
    case("ONNX file with a fixed batch size", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"x": [1, 2]}, {"y": ["n", 2]})},
         'twice/config.pbtxt:3:42: input "x" is [1, 2] in 1/model.onnx [onnx_tensors]'),
    case("ONNX file with other dims in version 2", ONNX,
         {"twice/2/model.onnx": partial(files.onnx, {"x": ["n", 2, 2]}, {"y": ["n", 2]})},
         'twice/config.pbtxt:3:42: input "x" has dims [2], 2/model.onnx has [2, [onnx_tensors]'),
    # onnx_versions
    case("ONNX file with a newer opset than the release", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2]}, {"y": ["n", 2]}, opset=20)},
         "twice/1/model.onnx: has opset 20 [onnx_versions]", release="24.01"),
    case("ONNX file with a newer IR version than the release", ONNX,
         {"twice/1/model.onnx": partial(files.onnx, {"x": ["n", 2]}, {"y": ["n", 2]}, ir=10)},
         "twice/1/model.onnx: has IR version 10; ONNX Runtime 1.16.3 of Triton [onnx_versions]",
         release="24.01"),
    # torchscript_files
    case("model.pt without TorchScript", TORCHSCRIPT, {"twice/1/model.pt": "PK"},
         "twice/1/model.pt: is not a TorchScript file: save it [torchscript_files]"),
    # torchscript_versions
    case("TorchScript file newer than the release", TORCHSCRIPT, {},
         "twice/1/model.pt: warning: was written by PyTorch 2.1 or newer [torchscript_versions]",
         release="23.03"),
    # fil_settings
    case("FIL with invalid tensors and parameters", FIL,
         {CONFIG: {'"input__0" data_type: TYPE_FP32': '"X" data_type: TYPE_FP64',
           "max_batch_size: 8\n": "", "xgboost_json": "xgboost_yaml", '"false"': '"yes"'},
          "twice/1/xgboost.json": None, "twice/1/xgboost.model": ""},
         "twice/config.pbtxt: FIL needs 1 or more: write 32768, for example [fil_settings]",
         'twice/config.pbtxt:2:11: FIL calls its input "input__0": write this name [fil_settings]',
         "twice/config.pbtxt:2:21: FIL computes in FP32: write TYPE_FP32 [fil_settings]",
         'twice/config.pbtxt:4:1: model_type is "xgboost_yaml": write xgboost, [fil_settings]',
         'twice/config.pbtxt:5:1: output_class is "yes": write true, false [fil_settings]'),
    case("FIL without a required parameter", FIL,
         {CONFIG: {'key: "output_class"': 'key: "predict_proba"'}},
         'twice/config.pbtxt:5:1: FIL needs output_class: add parameters { key: [fil_settings]'),
    case("FIL classifier without a threshold", FIL,
         {CONFIG: {'string_value: "false"': 'string_value: "true"'}},
         'twice/config.pbtxt:5:1: FIL needs threshold: add parameters { key: [fil_settings]'),
    *(case(f"XGBoost {version} file newer than Triton {release}", FIL,
           {"twice/1/xgboost.json": {'{"learner"': f'{{"version": [{version}], "learner"'}},
           f"twice/1/xgboost.json: ... Treelite {treelite} of ... Triton {newer} [fil_versions]",
           release=release)
      for version, release, treelite, newer in (("3, 1, 0", "25.09", "4.4.1", "26.03"),
                                                ("1, 7, 6", "24.01", "3.9.1", "24.03"))),
    case("XGBoost UBJSON in a release without it", FIL,
         {CONFIG: {"xgboost_json": "xgboost_ubj"}, "twice/1/xgboost.json": None,
          "twice/1/xgboost.ubj": ""},
         "twice/config.pbtxt:5:1: Triton 24.09 has no xgboost_ubj: write [fil_versions]",
         release="24.09"),
    case("XGBoost file with another number of features", FIL, {CONFIG: {"[ 2 ]": "[ 4 ]"}},
         "twice/config.pbtxt:3:49: has 4 features, 1/xgboost.json has 2: write [ [fil_features]"),
    case("LightGBM file with another number of features", FIL,
         {CONFIG: {"xgboost_json": "lightgbm"}, "twice/1/xgboost.json": None,
          "twice/1/model.txt": "tree\nversion=v4\nmax_feature_idx=3\n"},
         "twice/config.pbtxt:3:49: has 2 features, 1/model.txt has 4: write [ 4 ] [fil_features]"),
    # fil_trees
    case("linear XGBoost model", FIL,
         {"twice/1/xgboost.json": XGBOOST % '"2"}, "gradient_booster": {"name": "gblinear"'},
         "twice/1/xgboost.json: is a linear model (gblinear), FIL serves trees: [fil_trees]"),
    case("XGBoost model with two targets", FIL,
         {"twice/1/xgboost.json": XGBOOST % '"2", "num_target": "2"'},
         "twice/1/xgboost.json: has 2 targets, FIL serves one: train a model for [fil_trees]"),
    # dali_tensors
    case("model.dali without a pipeline", DALI, {"pictures/1/model.dali": "pipeline"},
         "pictures/1/model.dali: is not a serialized DALI pipeline [dali_tensors]"),
    case("DALI pipeline with another source", DALI,
         {"pictures/config.pbtxt": {"DALI_INPUT_0": "IMAGE"}},
         "pictures/config.pbtxt:3:1: declares inputs IMAGE; the external sources [dali_tensors]"),
    case("DALI pipeline with fewer outputs", DALI,
         {"pictures/config.pbtxt":
          {"output [": 'output { name: "SIZE" data_type: TYPE_INT64 dims: 2 }\noutput ['}},
         "pictures/config.pbtxt:4:1: declares 2 outputs, 1/model.dali has 1 [dali_tensors]"),
]
# fmt: on
