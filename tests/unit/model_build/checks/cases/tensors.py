"""Invalid declarations of inputs and outputs."""

from tests.unit.model_build.checks.cases.bases import PYTHON, TORCHSCRIPT
from tests.unit.model_build.checks.cases.case import case

CONFIG = "twice/config.pbtxt"
PACKAGE = {"twice/1/model.pt": None, "twice/1/model.pt2": ""}
INPUT = 'input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]\n'

# fmt: off
CASES = [
    # tensor_declarations
    case("no inputs", PYTHON, {CONFIG: {INPUT: ""}},
         "twice/config.pbtxt: warning: declares no input: add input [ { name [tensor_lists]"),
    case("two outputs with one name", PYTHON,
         {CONFIG: {"# FIELDS": 'output { name: "Y" data_type: TYPE_INT8 dims: 1 }'}},
         'twice/config.pbtxt:5:12: warning: output "Y" is declared 2 times [tensor_lists]',
         'twice/config.pbtxt:6:10: warning: output "Y" is declared 2 times [tensor_lists]'),
    case("tensors without a name, data type or dims", PYTHON,
         {CONFIG: {INPUT: 'input { data_type: TYPE_FP32 dims: [ 2 ] }\ninput { name: "X" dims: [ 2 '
           "] }\noutput { name: 'Z' data_type: TYPE_FP32 }\n"}},
         'twice/config.pbtxt:4:1: an input has no name: add name: "..." [tensor_declarations]',
         'twice/config.pbtxt:5:1: input "X" has no data type: add [tensor_declarations]',
         'twice/config.pbtxt:6:1: output "Z" has no dims: add dims: [ [tensor_declarations]'),
    case("dims of 0 and -2", PYTHON, {CONFIG: {INPUT: INPUT.replace("[ 2 ]", "[ 0, 2,\n  -2 ]")}},
         'twice/config.pbtxt:4:50: input "X" has a dim of 0: write a size [tensor_declarations]',
         'twice/config.pbtxt:5:3: input "X" has a dim of -2: write a size [tensor_declarations]'),
    # tensor_shapes
    case("reshape to other elements around a dynamic axis", PYTHON,
         {CONFIG: {INPUT: INPUT.replace("[ 2 ]", "[ 2, -1, 3 ] reshape { shape: [ -1, 6 ] }")}},
         'twice/config.pbtxt:4:61: "X" has dims [2, -1, 3] [tensor_shapes]'),
    case("scalar without a batch axis", PYTHON,
         {CONFIG: {"max_batch_size: 8": "max_batch_size: 0",
           INPUT: INPUT.replace("[ 2 ]", "[ 1 ] reshape { }")}},
         'twice/config.pbtxt:4:54: "X" has an empty reshape, which needs [tensor_shapes]'),
    # aoti_names
    case("AOTInductor package with other names", TORCHSCRIPT,
         {**PACKAGE, CONFIG: {"pytorch_libtorch": "torch_aoti", "INPUT__1": "RIGHT"}},
         'twice/config.pbtxt:5:5: warning: "RIGHT" is not a name in every release [aoti_names]'),
    # aoti_batches
    case("AOTInductor package of merged requests", TORCHSCRIPT,
         {**PACKAGE,
          CONFIG: {"pytorch_libtorch": "torch_aoti", "# FIELDS": "dynamic_batching { }"}},
         "twice/config.pbtxt:11:1: warning: up to 26.05, each caller [aoti_batches]"),
    # torchscript_strings
    case("TorchScript strings of merged requests", TORCHSCRIPT,
         {CONFIG: {'"OUTPUT__1" data_type: TYPE_FP32 dims: [ 2 ]': '"OUTPUT__1" data_type: '
           "TYPE_STRING dims: [ 1 ] reshape { }", "# FIELDS": "dynamic_batching { }"}},
         'twice/config.pbtxt:9:3: warning: output "OUTPUT__1" has strings [torchscript_strings]'),
    # torchscript_parameters
    case("misspelt parameter of the PyTorch backend", TORCHSCRIPT,
         {CONFIG: {"# FIELDS": 'parameters { key: "ENABLE_WEIGHTS_SHARING" value { string_value: '
           '"true" } }\nparameters { key: "inference_mode" value { string_value: ' '"true" } }'}},
         "twice/config.pbtxt:11:1: warning: the PyTorch backend [torchscript_parameters]",
         "twice/config.pbtxt:12:1: warning: the PyTorch backend [torchscript_parameters]"),
    # torchscript_types
    case("TorchScript input of a type that its backend does not have", TORCHSCRIPT,
         {CONFIG: {'"INPUT__0" data_type: TYPE_FP32': '"INPUT__0" data_type: TYPE_BF16'}},
         'twice/config.pbtxt:4:22: input "INPUT__0" is TYPE_BF16, which the [torchscript_types]'),
    # torchscript_names
    case("TorchScript output without a position", TORCHSCRIPT, {CONFIG: {"OUTPUT__1": "MASK"}},
         'twice/config.pbtxt:9:5: warning: "MASK" has no position, as [torchscript_names]'),
    case("two TorchScript outputs with one position", TORCHSCRIPT,
         {CONFIG: {"OUTPUT__1": "SCORES__0"}},
         "twice/config.pbtxt:7:1: warning: outputs have positions [0, 0]: [torchscript_names]"),
    # tensor_formats
    case("image format with two dims", PYTHON,
         {CONFIG: {'input [ { name: "X" ': 'input [ { format: FORMAT_NCHW name: "X" '}},
         'twice/config.pbtxt:4:11: input "X" has dims [2], but its format [tensor_formats]'),
]
# fmt: on
