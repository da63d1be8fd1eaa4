from model_build.manifest import ManifestTensor, Signature
from tests.unit.model_build.conftest import WriteConfigs

TENSORS = """
input [ { name: "X" data_type: TYPE_STRING dims: [ 1 ] } ]
output [
  { name: "Y" data_type: TYPE_FP32 dims: [ -1, 3 ] },
  { name: "Z" data_type: TYPE_INT64 dims: [ ] }
]
"""


def test_shape_with_batching_starts_with_the_batch_axis(write_configs: WriteConfigs) -> None:
    configs = write_configs(a=f"max_batch_size: 4 {TENSORS}", b=TENSORS).models
    batched, single = (Signature.from_config(configs[name].config) for name in "ab")
    assert batched == Signature(
        inputs=[ManifestTensor(name="X", datatype="BYTES", shape=[-1, 1])],
        outputs=[
            ManifestTensor(name="Y", datatype="FP32", shape=[-1, -1, 3]),
            ManifestTensor(name="Z", datatype="INT64", shape=[-1]),
        ],
        max_batch_size=4,
    )
    assert single.max_batch_size == 0
    assert [tensor.shape for tensor in single.outputs] == [[-1, 3], []]
