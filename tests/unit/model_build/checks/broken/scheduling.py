"""Batches, queues, sequences and instances that cannot be had."""

from tests.unit.model_build.checks.broken.bases import (
    DALI,
    ENSEMBLE,
    OPENVINO,
    PYTHON,
    TENSORFLOW,
    TENSORRT,
    WARMED,
)
from tests.unit.model_build.checks.broken.case import Case

CONFIG = "twice/config.pbtxt"

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
    # queue_policies
    # sequence_batching
    # response_cache
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
        "an ensemble has instances",
        ENSEMBLE,
        {"both/config.pbtxt": {"input [": "instance_group { count: 2 }\ninput ["}},
        [
            "both/config.pbtxt:2:1: ensembles run nothing themselves: remove it [instance_groups]",
        ],
    ),
    # execution_accelerators
    # model_warmups
    Case(
        "a warm-up is for another input",
        WARMED,
        {CONFIG: {'key: "X"': 'key: "x"'}},
        [
            'twice/config.pbtxt:5:1: "x" is not an input of the model: write one of X '
            "[model_warmups]",
            'twice/config.pbtxt:5:1: has no data for input "X": add it [model_warmups]',
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
