"""Batches, queues, sequences and instances that cannot be had."""

from tests.unit.model_build.checks.broken.bases import (
    DALI,
    ENSEMBLE,
    ONNX,
    OPENVINO,
    PYTHON,
    SEQUENCE,
    TENSORFLOW,
    TENSORRT,
    WARMED,
)
from tests.unit.model_build.checks.broken.case import Case

CONFIG = "twice/config.pbtxt"
LONG = "x" * 300

CASES = [
    # batch_sizes
    Case(
        "the largest batch is negative",
        PYTHON,
        {CONFIG: {"max_batch_size: 8": "max_batch_size: -1"}},
        [
            "twice/config.pbtxt:3:1: is -1: write the largest batch, or 0 for a model that "
            "does not batch [batch_sizes]",
        ],
    ),
    Case(
        "a DALI pipeline does not batch",
        DALI,
        {"pictures/config.pbtxt": {"max_batch_size: 8\n": ""}},
        [
            "pictures/config.pbtxt: DALI pipelines run batches: write 1 or more [dali_settings]",
        ],
    ),
    Case(
        "a model that does not batch is to make batches",
        PYTHON,
        {CONFIG: {"max_batch_size: 8": "max_batch_size: 0", "# more": "dynamic_batching { }"}},
        [
            "twice/config.pbtxt:6:1: makes no batches of a model with max_batch_size 0: "
            "remove it, or set max_batch_size [batch_sizes]",
        ],
    ),
    Case(
        "a preferred batch is larger than the largest",
        PYTHON,
        {CONFIG: {"# more": "dynamic_batching {\n  preferred_batch_size: [ 4, 16 ]\n}"}},
        [
            "twice/config.pbtxt:7:30: prefers batches of 16: write 1 to max_batch_size (8) "
            "[batch_sizes]",
        ],
    ),
    Case(
        "preferred batches are empty",
        PYTHON,
        {CONFIG: {"# more": "dynamic_batching { preferred_batch_size: 0 }"}},
        [
            "twice/config.pbtxt:6:20: prefers batches of 0: write 1 to max_batch_size (8) "
            "[batch_sizes]",
        ],
    ),
    Case(
        "a preferred batch of sequences is larger than the largest",
        SEQUENCE,
        {CONFIG: {"preferred_batch_size: [ 8 ]": "preferred_batch_size: [ 9 ]"}},
        [
            "twice/config.pbtxt:7:36: prefers batches of 9: write 1 to max_batch_size (8) "
            "[batch_sizes]",
        ],
    ),
    # queue_policies
    Case(
        "there are priority levels, and none is the default",
        PYTHON,
        {CONFIG: {"# more": "dynamic_batching { priority_levels: 2 }"}},
        [
            "twice/config.pbtxt:6:1: default_priority_level is 0 of 2 levels: write 1 to 2 "
            "[queue_policies]",
        ],
    ),
    Case(
        "a priority level that is not there has a policy",
        PYTHON,
        {
            CONFIG: {
                "# more": "dynamic_batching { priority_levels: 2 default_priority_level: 1\n"
                "  priority_queue_policy { key: 3 value { max_queue_size: 1 } } }"
            }
        },
        [
            "twice/config.pbtxt:7:3: priority_queue_policy for level 3: there are 2 "
            "priority_levels [queue_policies]",
        ],
    ),
    Case(
        "the order is to be kept across priority levels",
        PYTHON,
        {
            CONFIG: {
                "# more": "dynamic_batching { priority_levels: 2 default_priority_level: 2\n"
                "  preserve_ordering: true }"
            }
        },
        [
            "twice/config.pbtxt:7:3: keeps no order across 2 priority_levels: remove one of "
            "them [queue_policies]",
        ],
    ),
    Case(
        "the order is to be kept, and late requests are to wait longer",
        PYTHON,
        {
            CONFIG: {
                "# more": "dynamic_batching {\n  preserve_ordering: true\n  default_queue_policy "
                "{ timeout_action: DELAY default_timeout_microseconds: 9 }\n}"
            }
        },
        [
            "twice/config.pbtxt:7:3: keeps no order where a timeout_action is DELAY: write "
            "REJECT, or remove one [queue_policies]",
        ],
    ),
    # sequence_batching
    Case(
        "a control input has no name",
        SEQUENCE,
        {CONFIG: {'    name: "START"\n': ""}},
        [
            "twice/config.pbtxt:8:3: a control input has no name [sequence_batching]",
        ],
    ),
    Case(
        "two control inputs have one name",
        SEQUENCE,
        {CONFIG: {'name: "ID"': 'name: "START"'}},
        [
            'twice/config.pbtxt:8:3: control input "START" has several kinds: give it one '
            "[sequence_batching]",
            'twice/config.pbtxt:12:3: control input "START" has several kinds: give it one '
            "[sequence_batching]",
        ],
    ),
    Case(
        "a control is given twice",
        SEQUENCE,
        {
            CONFIG: {
                "kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64": (
                    "kind: CONTROL_SEQUENCE_START bool_false_true: [ false, true ]"
                )
            }
        },
        [
            "twice/config.pbtxt:12:3: CONTROL_SEQUENCE_START is given twice: keep one "
            "[sequence_batching]",
        ],
    ),
    Case(
        "a control has one value",
        SEQUENCE,
        {CONFIG: {"[ 0, 1 ]": "[ 1 ]"}},
        [
            "twice/config.pbtxt:8:3: CONTROL_SEQUENCE_START needs one pair of values: write "
            "int32_false_true: [ 0, 1 ], or fp32_ or bool_false_true [sequence_batching]",
        ],
    ),
    Case(
        "a correlation id has a false and a true value",
        SEQUENCE,
        {CONFIG: {"data_type: TYPE_UINT64": "int32_false_true: [ 0, 1 ] data_type: TYPE_UINT64"}},
        [
            "twice/config.pbtxt:12:3: CONTROL_SEQUENCE_CORRID has no false and true value: "
            "remove them [sequence_batching]",
        ],
    ),
    # response_cache
    Case(
        "the answers of a stateful model are to be cached",
        SEQUENCE,
        {CONFIG: {"max_batch_size: 8": "max_batch_size: 8\nresponse_cache { enable: true }"}},
        [
            "twice/config.pbtxt:4:1: cannot cache the answers of a model with "
            "sequence_batching: remove one of them [response_cache]",
        ],
    ),
    Case(
        "the responses of a decoupled model are to be cached",
        PYTHON,
        {
            CONFIG: {
                "# more": "model_transaction_policy { decoupled: true }\n"
                "response_cache { enable: true }"
            }
        },
        [
            "twice/config.pbtxt:7:1: cannot cache the answers of a model with decoupled: true: "
            "remove one of them [response_cache]",
        ],
    ),
    # instance_groups
    Case(
        "GPUs are pinned, in the first group and in the third",
        PYTHON,
        {
            CONFIG: {
                "# more": "instance_group [\n  { gpus: [ 0 ] },\n  { kind: KIND_CPU },\n"
                "  { gpus: [ 1, 2 ] }\n]"
            }
        },
        [
            "twice/config.pbtxt:7:5: pins gpus [0]: remove gpus [instance_groups]",
            "twice/config.pbtxt:9:5: pins gpus [1, 2]: remove gpus [instance_groups]",
        ],
    ),
    Case(
        "a number of instances is negative",
        PYTHON,
        {CONFIG: {"# more": "instance_group { count: -1 }"}},
        [
            "twice/config.pbtxt:6:18: count is -1: write 1 or more [instance_groups]",
        ],
    ),
    Case(
        "an instance is to run on an NVDLA core",
        PYTHON,
        {CONFIG: {"# more": "instance_group { secondary_devices { device_id: 1 } }"}},
        [
            "twice/config.pbtxt:6:18: SageMaker's GPUs have no NVDLA cores: remove "
            "secondary_devices [instance_groups]",
        ],
    ),
    Case(
        "OpenVINO is to run on GPUs",
        OPENVINO,
        {CONFIG: {"KIND_CPU": "KIND_GPU"}},
        [
            "twice/config.pbtxt:5:18: OpenVINO runs on CPUs only: write KIND_CPU "
            "[openvino_settings]",
        ],
    ),
    Case(
        "TensorRT is to run on CPUs",
        TENSORRT,
        {CONFIG: {"kind: KIND_GPU": "kind: KIND_CPU"}},
        [
            "twice/config.pbtxt:5:18: TensorRT runs on GPUs only: write KIND_GPU (CPU targets "
            "get ONNX) [tensorrt_settings]",
        ],
    ),
    Case(
        "an optimization profile is called by a name",
        TENSORRT,
        {CONFIG: {'"0"': '"small"'}},
        [
            "twice/config.pbtxt:5:33: names an optimization profile by its index: write a "
            "number in quotes [instance_groups]",
        ],
    ),
    Case(
        "an ONNX model has an optimization profile",
        ONNX,
        {CONFIG: {"# more": 'instance_group { profile: "0" }'}},
        [
            "twice/config.pbtxt:5:18: optimization profiles are TensorRT's: remove profile "
            "[instance_groups]",
        ],
    ),
    Case(
        "an ensemble has instances",
        ENSEMBLE,
        {"both/config.pbtxt": {"input [": "instance_group { count: 2 }\ninput ["}},
        [
            "both/config.pbtxt:2:1: ensembles run nothing themselves: remove it [instance_groups]",
        ],
    ),
    # execution_accelerators
    Case(
        "a Python model has an accelerator",
        PYTHON,
        {
            CONFIG: {
                "# more": "optimization { execution_accelerators {\n"
                '  gpu_execution_accelerator { name: "tensorrt" }\n} }'
            }
        },
        [
            'twice/config.pbtxt:7:3: "tensorrt" is not a gpu_execution_accelerator of the python '
            "backend; it has none: remove it [execution_accelerators]",
        ],
    ),
    Case(
        "an accelerator of GPUs is to run on CPUs",
        ONNX,
        {
            CONFIG: {
                "# more": "optimization { execution_accelerators {\n"
                '  cpu_execution_accelerator { name: "tensorrt" }\n} }'
            }
        },
        [
            'twice/config.pbtxt:6:3: "tensorrt" is not a cpu_execution_accelerator of the '
            "onnxruntime backend; it has openvino [execution_accelerators]",
        ],
    ),
    Case(
        "a precision is none",
        ONNX,
        {
            CONFIG: {
                "# more": "optimization { execution_accelerators { gpu_execution_accelerator {\n"
                '  name: "tensorrt" parameters { key: "precision_mode" value: "HALF" }\n} } }'
            }
        },
        [
            'twice/config.pbtxt:5:41: precision_mode is "HALF": write FP32, FP16, INT8, BF16 '
            "[execution_accelerators]",
        ],
    ),
    # model_warmups
    Case(
        "a warm-up has a larger batch than the largest",
        WARMED,
        {CONFIG: {"  batch_size: 8": "  batch_size: 16"}},
        [
            "twice/config.pbtxt:5:1: batch_size 16 is above the model's max_batch_size "
            "[model_warmups]",
        ],
    ),
    Case(
        "a warm-up is for another input",
        WARMED,
        {CONFIG: {'key: "X"': 'key: "x"'}},
        [
            'twice/config.pbtxt:5:1: "x" is not an input of the model: write one of X '
            "[model_warmups]",
            'twice/config.pbtxt:5:1: gives nothing for input "X" [model_warmups]',
        ],
    ),
    Case(
        "a warm-up has a variable size",
        WARMED,
        {CONFIG: {"[ 2 ] zero_data": "[ -1 ] zero_data"}},
        [
            'twice/config.pbtxt:5:1: input "X" needs dims of numbers: a sample has one shape '
            "[model_warmups]",
        ],
    ),
    Case(
        "a warm-up has another data type",
        WARMED,
        {CONFIG: {"value { data_type: TYPE_FP32": "value { data_type: TYPE_FP16"}},
        [
            'twice/config.pbtxt:5:1: input "X" is not of the data_type that the model takes '
            "[model_warmups]",
        ],
    ),
    Case(
        "a warm-up's data has a name that no file can have",
        WARMED,
        {CONFIG: {"zero_data: true": f'input_data_file: "{LONG}"'}},
        [
            f"twice/config.pbtxt:5:1: input_data_file {LONG} is not in the folder warmup/ "
            "[model_warmups]"
        ],
    ),
    Case(
        "a warm-up's data is not there",
        WARMED,
        {CONFIG: {"zero_data: true": 'input_data_file: "one.bin"'}, "twice/one.bin": ""},
        [
            "twice/config.pbtxt:5:1: input_data_file one.bin is not in the folder warmup/ "
            "[model_warmups]",
        ],
    ),
    # release_backends
    Case(
        "the release has no TensorFlow",
        TENSORFLOW,
        {},
        [
            "twice/config.pbtxt:1:1: Triton 25.04 has no tensorflow backend; 25.02 was the "
            "last with it: export the model as ONNX, or choose an older release "
            "[release_backends]",
        ],
        release="25.04",
    ),
    Case(
        "the release has no TensorFlow, which is named as the backend",
        TENSORFLOW,
        {CONFIG: {"# more": 'backend: "tensorflow"'}},
        [
            "twice/config.pbtxt:5:1: Triton 25.09 has no tensorflow backend; 25.02 was the "
            "last with it: export the model as ONNX, or choose an older release "
            "[release_backends]",
        ],
    ),
]
