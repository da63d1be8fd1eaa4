"""Answers of the stand-ins for FIL and DALI, through Triton, against Treelite and DALI.

Those for ONNX Runtime and PyTorch are in local_sagemaker/tests/real/test_stand_ins.py.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from local_sagemaker.hosting import packages
from local_sagemaker.serving import ServingError, TritonServer
from local_sagemaker.tests.support.endpoint_caller import processes
from local_sagemaker.tests.support.raw_models import invoke, write_archive
from local_sagemaker.tests.support.waiting import eventually

Import = Callable[[str], None]
ROWS = np.array([[-1, 5], [0.5, 5], [1.5, np.nan]], np.float32)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Import:
    """A function that makes the packages of a stand-in importable."""

    def install_backend(backend: str) -> None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        folder = packages.install(packages.BACKENDS / backend / "requirements.txt", python=version)
        monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])

    return install_backend


def write_forest(path: Path, classes: int, postprocessor: str, parameters: str, size: int) -> Any:
    """Write an archive of a forest with two features; return the Treelite model."""
    import treelite.model_builder as builder

    task = "kBinaryClf" if classes == 1 else "kMultiClf"
    model = builder.ModelBuilder(
        threshold_type="float32",
        leaf_output_type="float32",
        metadata=builder.Metadata(
            num_feature=2,
            task_type=task,
            average_tree_output=False,
            num_target=1,
            num_class=[classes],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=classes, target_id=[0] * classes, class_id=[*range(classes)]
        ),
        postprocessor=builder.PostProcessorFunc(name=postprocessor),
        base_scores=[0.0] * classes,
    )
    for number in range(classes):
        model.start_tree()
        model.start_node(0)
        model.numerical_test(0, float(number), True, "<", 1, 2)
        model.end_node()
        for node, value in ((1, number + 0.7), (2, -number - 0.3)):
            model.start_node(node)
            model.leaf(value)
            model.end_node()
        model.end_tree()
    forest = model.commit()
    file = path.with_suffix(".tl")
    forest.serialize(file)
    config = f"""
backend: "fil"
max_batch_size: 8
input [ {{ name: "input__0" data_type: TYPE_FP32 dims: [ 2 ] }} ]
output [ {{ name: "output__0" data_type: TYPE_FP32 dims: [ {size} ] }} ]
parameters {{ key: "model_type" value {{ string_value: "treelite_checkpoint" }} }}
"""
    for key, text in (pair.split("=") for pair in parameters.split()):
        config += f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}\n'
    write_archive(path, config, {"checkpoint.tl": file.read_bytes()})
    return forest


@pytest.mark.parametrize(
    ("classes", "postprocessor", "parameters", "size"),
    [
        (1, "sigmoid", "output_class=false predict_proba=true", 2),
        (1, "sigmoid", "output_class=true threshold=0.5", 1),
        (1, "identity", "output_class=false", 1),
        (3, "multiclass_ova", "output_class=false predict_proba=true", 3),
        (3, "softmax", "output_class=true threshold=0.5", 1),
        (3, "multiclass_ova", "output_class=false", 3),
    ],
)
def test_fil_answers(
    archives: Path,
    server: TritonServer,
    install: Import,
    classes: int,
    postprocessor: str,
    parameters: str,
    size: int,
) -> None:
    install("fil")
    from treelite import gtil

    name = f"forest-{classes}-{parameters.replace(' ', '-').replace('=', '-')}"
    forest = write_forest(archives / f"{name}.tar.gz", classes, postprocessor, parameters, size)
    if classes == 3 and "predict_proba" in parameters:  # whatever the file says
        forest.get_header_accessor().set_field("postprocessor", "softmax")
    expected = gtil.predict(forest, ROWS)[:, 0].astype(np.float32)
    if classes == 1 and size == 2:
        expected = np.hstack([1 - expected, expected])
    elif "output_class=true" in parameters:
        expected = expected > 0.5 if classes == 1 else expected.argmax(1)
    answer = invoke(server, name, {"input__0": ROWS})["output__0"]
    # fil_backend removes axes of size 1 (squeeze_output in src/shared_state.h).
    assert answer.shape == ((3,) if size == 1 else (3, size))
    np.testing.assert_array_equal(answer, expected.reshape(answer.shape).astype(np.float32))


DALI_DTYPES = (
    *("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)


@pytest.mark.parametrize(
    ("parameters", "size", "message"),
    [
        ("predict_proba=true", 2, "parameter output_class must be true or false, not None"),
        ("output_class=true", 1, "Required parameter threshold not found in config"),
        ("output_class=yes", 1, "parameter output_class must be true or false, not yes"),
        ("output_class=false", 3, r"output__0 needs dims \[ 1 \]"),
    ],
)
def test_fil_refuses(
    archives: Path, server: TritonServer, install: Import, parameters: str, size: int, message: str
) -> None:
    install("fil")
    write_forest(archives / "refused.tar.gz", 1, "sigmoid", parameters, size)
    with pytest.raises(ServingError, match=message):
        server.load("refused.tar.gz")


def dali_threads(server: TritonServer) -> int:
    """Return the number of DALI's worker threads in the processes of a server."""
    return sum(
        thread.read_text().startswith("[DALI][TP")
        for process in processes(server.server.triton.log.parent)
        for thread in Path(f"/proc/{process}/task").glob("*/comm")
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of DALI
def test_dali_answers_of_each_datatype(
    archives: Path, server: TritonServer, install: Import
) -> None:
    install("dali")
    from nvidia.dali import fn, pipeline_def, types

    floats = {"float16": types.FLOAT16, "float32": types.FLOAT, "float64": types.FLOAT64}

    dtypes = [floats.get(name) or getattr(types, name.upper()) for name in DALI_DTYPES]

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, output_dtype=dtypes)  # type: ignore[untyped-decorator]
    def pipeline() -> Any:
        return tuple(
            fn.copy(fn.external_source(name=name, dtype=dtype, ndim=1))
            for name, dtype in zip(DALI_DTYPES, dtypes, strict=True)
        )

    content = pipeline().serialize()
    triton = {name: name.upper().replace("FLOAT", "FP") for name in DALI_DTYPES}
    inputs = ", ".join(
        f'{{ name: "{name}" data_type: TYPE_{kind} dims: [ -1 ] }}' for name, kind in triton.items()
    )
    outputs = inputs.replace('name: "', 'name: "OUT_')
    config = f'backend: "dali"\nmax_batch_size: 4\ninput [ {inputs} ]\noutput [ {outputs} ]\n'
    config += 'parameters { key: "num_threads" value { string_value: "3" } }\n'
    write_archive(archives / "dali-types.tar.gz", config, {"model.dali": content})
    earlier_threads = dali_threads(server)
    rows = {name: np.array([[0, 1, 0], [1, 1, 0]]).astype(name) for name in DALI_DTYPES}
    answer = invoke(server, "dali-types", rows)
    for name, row in rows.items():
        assert answer[f"OUT_{name}"].dtype == row.dtype
        np.testing.assert_array_equal(answer[f"OUT_{name}"], row)
    eventually(lambda: dali_threads(server) == earlier_threads + 3)
    empty = {name: row[:, :0] for name, row in rows.items()}
    assert all(array.shape == (2, 0) for array in invoke(server, "dali-types", empty).values())
    wrong = config.replace(
        '"OUT_float32" data_type: TYPE_FP32', '"OUT_float32" data_type: TYPE_FP64'
    )
    write_archive(archives / "dali-wrong.tar.gz", wrong, {"model.dali": content})
    with pytest.raises(ServingError, match="'OUT_float32', pipeline provides TYPE_FP32"):
        server.load("dali-wrong.tar.gz")
