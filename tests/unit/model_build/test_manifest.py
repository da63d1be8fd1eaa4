import json

from model_build import BuildTarget
from model_build.archive import Archive
from model_build.build import Build
from model_build.export.gate import GateReport
from model_build.gpu_step.result import JobResult
from model_build.manifest import LoadRecord, Manifest, ManifestTensor, Signature, StoredSource
from model_build.source import ModelSource
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


def _manifest(write_configs: WriteConfigs) -> Manifest:
    repository = write_configs(a=f'platform: "ensemble" {TENSORS}', b='backend: "python"')
    build = Build(
        source=ModelSource(repository.folder),
        folder=repository.folder,
        name="both",
        digest="d" * 64,
        target=BuildTarget(release="25.09", compute_capability="8.6", python="3.11"),
        repository=repository,
        gates={
            "b/1/model.onnx": GateReport(
                max_absolute_difference=1e-6,
                max_relative_difference=1e-7,
                allowed=1e-5,
                shapes=[{"batch": 1}],
                output_tensors=[],
            )
        },
        engines={
            "b/1/model.plan": JobResult(
                job="j" * 64,
                plan_sha256="p",
                outputs=[],
                compiled_on={"gpu": "NVIDIA A10G"},
                latency_ms=[0.5],
            )
        },
    )
    return build.manifest(
        Archive(bytes=7, unpacked_bytes=9, sha256="e"),
        load=LoadRecord(triton="2.51.0", python="3.11", isolation="user", request="zeros"),
        checksum={"checksum": "abc=-2", "part_bytes": 5},
        source=StoredSource(model="bert", alternative="onnx"),
    )


def test_built_with_has_versions_of_the_build_packages(write_configs: WriteConfigs) -> None:
    built_with = _manifest(write_configs).built_with
    assert set(built_with) == {
        *("torch", "transformers", "onnx", "onnxscript", "onnxruntime", "isal")
    }
    assert all(version[0].isdigit() for version in built_with.values())


def test_manifest_without_source_is_read(write_configs: WriteConfigs) -> None:
    content = json.loads(_manifest(write_configs).json_bytes())
    del content["source"]
    assert Manifest.model_validate(content).source is None
