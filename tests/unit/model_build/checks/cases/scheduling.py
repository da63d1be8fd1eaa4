"""Invalid batch sizes, instance groups, warm-ups and backends."""

from tests.unit.model_build.checks.cases.bases import (
    ENSEMBLE,
    ONNX,
    OPENVINO,
    PYTHON,
    TENSORFLOW,
    TENSORRT,
    WARM_UP,
)
from tests.unit.model_build.checks.cases.case import case

CONFIG = "twice/config.pbtxt"
WARM_UP_DATA = "data_type: TYPE_FP32 dims: [ 2 ] zero_data: true"
LEVELS = "dynamic_batching {{\n  priority_levels: 2\n  {}\n}}"
ACCELERATOR = (
    "optimization {{ execution_accelerators {{\n  gpu_execution_accelerator {{ {} }}\n}} }}"
)

# fmt: off
CASES = [
    # Batch sizes
    case("negative max_batch_size", PYTHON, {CONFIG: {"max_batch_size: 8": "max_batch_size: -1"}},
         "twice/config.pbtxt:3:1: max_batch_size is -1: write the largest batch, [batch_sizes]"),
    case("dynamic batching without max_batch_size", PYTHON,
         {CONFIG: {"max_batch_size: 8": "max_batch_size: 0", "# FIELDS": "dynamic_batching { }"}},
         "twice/config.pbtxt:6:1: warning: dynamic_batching has no effect [unused_batching]"),
    case("preferred batch above max_batch_size", PYTHON,
         {CONFIG: {"# FIELDS": "dynamic_batching {\n  preferred_batch_size: [ 4, 16 ]\n}"}},
         "twice/config.pbtxt:7:30: preferred batch size 16: write a size from 1 [batch_sizes]"),
    # Response caches
    case("decoupled model with a response cache", PYTHON,
         {CONFIG: {"# FIELDS": "model_transaction_policy { decoupled: true }\n"
           "response_cache { enable: true }"}},
         "twice/config.pbtxt:7:1: Triton refuses ... with decoupled [response_caches]"),
    case("sequences with a response cache", PYTHON,
         {CONFIG: {"# FIELDS": "sequence_batching {}\nresponse_cache { enable: true }"}},
         "twice/config.pbtxt:7:1: Triton refuses ... with sequence [response_caches]"),
    # Instance groups
    case("pinned GPUs", PYTHON,
         {CONFIG: {"# FIELDS": "instance_group [\n  { gpus: [ 0 ] },\n  { kind: KIND_CPU },\n  { "
           "gpus: [ 1, 2 ] }\n]"}},
         "twice/config.pbtxt:7:5: warning: the instance group pins gpus [0]: [pinned_gpus]",
         "twice/config.pbtxt:9:5: warning: the instance group pins gpus [1, 2]: [pinned_gpus]"),
    case("OpenVINO on GPUs", OPENVINO, {CONFIG: {"KIND_CPU": "KIND_GPU"}},
         "twice/config.pbtxt:5:18: OpenVINO runs on CPUs only: write KIND_CPU [openvino_settings]"),
    case("TensorRT on CPUs", TENSORRT, {CONFIG: {"kind: KIND_GPU": "kind: KIND_CPU"}},
         "twice/config.pbtxt:5:18: TensorRT runs on GPUs only: write [tensorrt_settings]"),
    case("ensemble with settings of instances", ENSEMBLE,
         {"both/config.pbtxt": {"input [": "instance_group { count: 2 }\noptimization { priority: "
          "PRIORITY_MAX }\nmodel_warmup { name: 'w' batch_size: 1 inputs { key: 'X' value { "
          "data_type: TYPE_STRING dims: [ 1 ] zero_data: true } } }\ninput ["}},
         "both/config.pbtxt:2:1: an ensemble has no instances: remove [ensemble_instances]",
         "both/config.pbtxt:4:1: an ensemble has no instances: remove [ensemble_instances]",
         "both/config.pbtxt:3:1: an ensemble has no instances: remove [ensemble_instances]"),
    # Warm-ups
    case("warm-up with another input", WARM_UP, {CONFIG: {'key: "X"': 'key: "x"'}},
         'twice/config.pbtxt:5:1: "x" is not an input of the model: its inputs [model_warmups]',
         'twice/config.pbtxt:5:1: the sample has no data for input "X": add it [model_warmups]'),
    case("warm-up with another data type, other dims and no data", WARM_UP,
         {CONFIG: {WARM_UP_DATA: "data_type: TYPE_INT32 dims: [ 2, 2 ]"}},
         'twice/config.pbtxt:5:1: the sample of "X" is TYPE_INT32: write [model_warmups]',
         'twice/config.pbtxt:5:1: the sample of "X" has dims [2, 2]: write dims [model_warmups]',
         'twice/config.pbtxt:5:1: the sample of "X" has no data: add zero_data: [model_warmups]'),
    case("warm-up with too large a batch", WARM_UP, {CONFIG: {"batch_size: 1": "batch_size: 9"}},
         "twice/config.pbtxt:5:1: the sample has batch_size 9: write 8 or less [model_warmups]"),
    case("warm-up with a missing file", WARM_UP,
         {CONFIG: {WARM_UP_DATA: 'data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "raw"'}},
         'twice/config.pbtxt:5:1: the sample of "X" is in warmup/raw, which is [model_warmups]'),
    # Priorities
    case("default priority above the levels", PYTHON,
         {CONFIG: {"# FIELDS": LEVELS.format("default_priority_level: 3")}},
         "twice/config.pbtxt:8:3: default_priority_level is 3: write a level [priority_levels]"),
    case("queue policy above the levels", PYTHON,
         {CONFIG: {"# FIELDS": LEVELS.format("default_priority_level: 1\n"
                               "  priority_queue_policy { key: 3 value { max_queue_size: 4 } }")}},
         "twice/config.pbtxt:9:3: a queue policy has level 3: write a level [priority_levels]"),
    case("priorities that preserve the order", PYTHON,
         {CONFIG: {"# FIELDS": LEVELS.format(
             "default_priority_level: 1\n  preserve_ordering: true")}},
         "twice/config.pbtxt:9:3: preserve_ordering allows one priority [priority_levels]"),
    # Accelerators
    case("unknown accelerator", ONNX,
         {CONFIG: {"# FIELDS": ACCELERATOR.format('name: "tensorrtt"')}},
         'twice/config.pbtxt:6:3: "tensorrtt" is no accelerator of the [onnx_accelerators]'),
    case("unknown precision", ONNX,
         {CONFIG: {"# FIELDS": ACCELERATOR.format(
             'name: "tensorrt" parameters { key: "precision_mode" value: "FP8X" }')}},
         'twice/config.pbtxt:6:3: precision_mode "FP8X": write FP32 or FP16 [onnx_accelerators]'),
    # Backends
    case("TensorFlow in a release without it", TENSORFLOW, {},
         "twice/config.pbtxt:1:1: Triton 25.04 has no tensorflow backend; [release_backends]",
         release="25.04"),
]
# fmt: on
