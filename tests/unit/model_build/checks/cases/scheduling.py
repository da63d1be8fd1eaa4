"""Invalid batch sizes, instance groups, warm-ups and backends."""

from tests.unit.model_build.checks.cases.bases import (
    DALI,
    ENSEMBLE,
    OPENVINO,
    PYTHON,
    TENSORFLOW,
    TENSORRT,
    WARM_UP,
)
from tests.unit.model_build.checks.cases.case import case

CONFIG = "twice/config.pbtxt"

CASES = [
    # Batch sizes
    case(
        "negative max_batch_size",
        PYTHON,
        {CONFIG: {"max_batch_size: 8": "max_batch_size: -1"}},
        "twice/config.pbtxt:3:1: max_batch_size is -1: write the largest batch, or 0 for a "
        "model that does not batch [batch_sizes]",
    ),
    case(
        "DALI without batching",
        DALI,
        {"pictures/config.pbtxt": {"max_batch_size: 8\n": ""}},
        "pictures/config.pbtxt: DALI pipelines run batches: set max_batch_size to 1 or more "
        "[dali_settings]",
    ),
    case(
        "dynamic batching without max_batch_size",
        PYTHON,
        {CONFIG: {"max_batch_size: 8": "max_batch_size: 0", "# FIELDS": "dynamic_batching { }"}},
        "twice/config.pbtxt:6:1: warning: dynamic_batching has no effect with max_batch_size 0: "
        "remove dynamic_batching, or set max_batch_size [unused_batching]",
    ),
    case(
        "preferred batch above max_batch_size",
        PYTHON,
        {CONFIG: {"# FIELDS": "dynamic_batching {\n  preferred_batch_size: [ 4, 16 ]\n}"}},
        "twice/config.pbtxt:7:30: preferred batch size 16: write a size from 1 to 8, "
        "which is max_batch_size [batch_sizes]",
    ),
    # Instance groups
    case(
        "pinned GPUs",
        PYTHON,
        {
            CONFIG: {
                "# FIELDS": "instance_group [\n  { gpus: [ 0 ] },\n  { kind: KIND_CPU },\n"
                "  { gpus: [ 1, 2 ] }\n]"
            }
        },
        "twice/config.pbtxt:7:5: warning: the instance group pins gpus [0]: remove gpus "
        "[pinned_gpus]",
        "twice/config.pbtxt:9:5: warning: the instance group pins gpus [1, 2]: remove gpus "
        "[pinned_gpus]",
    ),
    case(
        "OpenVINO on GPUs",
        OPENVINO,
        {CONFIG: {"KIND_CPU": "KIND_GPU"}},
        "twice/config.pbtxt:5:18: OpenVINO runs on CPUs only: write KIND_CPU [openvino_settings]",
    ),
    case(
        "TensorRT on CPUs",
        TENSORRT,
        {CONFIG: {"kind: KIND_GPU": "kind: KIND_CPU"}},
        "twice/config.pbtxt:5:18: TensorRT runs on GPUs only: write KIND_GPU (for CPU "
        "instances, recipes make the ONNX file) [tensorrt_settings]",
    ),
    case(
        "ensemble with instances",
        ENSEMBLE,
        {"both/config.pbtxt": {"input [": "instance_group { count: 2 }\ninput ["}},
        "both/config.pbtxt:2:1: an ensemble has no instances: remove instance_group "
        "[ensemble_instances]",
    ),
    # Warm-ups
    case(
        "warm-up with another input",
        WARM_UP,
        {CONFIG: {'key: "X"': 'key: "x"'}},
        'twice/config.pbtxt:5:1: "x" is not an input of the model: its inputs are X '
        "[model_warmups]",
        'twice/config.pbtxt:5:1: the sample has no data for input "X": add it [model_warmups]',
    ),
    # Backends
    case(
        "TensorFlow in a release without it",
        TENSORFLOW,
        {},
        "twice/config.pbtxt:1:1: Triton 25.04 has no tensorflow backend; 25.02 was the "
        "last with it: export the model as ONNX, or choose an older release "
        "[release_backends]",
        release="25.04",
    ),
]
