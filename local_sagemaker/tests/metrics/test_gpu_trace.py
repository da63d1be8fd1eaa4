"""The file that says what GPUs do."""

import os
from pathlib import Path

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.metrics.gpu_trace import GpuTrace, Load
from local_sagemaker.settings import GPU_TRACE

HEADER = "seconds,endpoint,variant,utilization,memory\n"
EXAMPLE = Path(__file__).parents[2] / "docs" / "gpu_trace.csv"


def written(folder: Path, text: str) -> Path:
    file = folder / "trace.csv"
    file.write_text(text)
    return file


def test_a_line_is_in_force_until_the_next_and_the_last_one_stays(tmp_path: Path) -> None:
    lines = "60,text,only,95,50\n\n0, text, only, 40, 55.5\n30,other,only,1,2\n"
    trace = GpuTrace(written(tmp_path, HEADER + lines))
    assert trace.at("text", "only", 0) == Load(0, 40, 55.5)
    assert trace.at("text", "only", 59) == Load(0, 40, 55.5)
    assert trace.at("text", "only", 1e9) == Load(60, 95, 50)
    assert trace.at("other", "only", 29) is None
    assert trace.at("text", "another", 0) is None


def test_the_file_may_change_while_it_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, HEADER)
    trace = GpuTrace(file)
    assert trace.at("text", "only", 0) is None
    file.write_text(f"{HEADER}0,text,only,95,50\n")
    assert trace.at("text", "only", 0) == Load(0, 95, 50)
    file.write_text(f"{HEADER}0,text,only,none,50\n")
    assert trace.at("text", "only", 0) == Load(0, 95, 50)
    assert "utilization is 'none'" in caplog.text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "trace.csv:1: write the columns first: seconds,endpoint"),
        ("a,b\n", "trace.csv:1: write the columns first"),
        (f"{HEADER}1,text,only,2\n", "trace.csv:2: has 4 values"),
        (f"{HEADER}0,a,b,1,1\n-1,text,only,2,3\n", "trace.csv:3: seconds is '-1'"),
        (f"{HEADER}1,text,only,high,3\n", "trace.csv:2: utilization is 'high': write a number"),
        (f"{HEADER}1,text,only,2,inf\n", "trace.csv:2: memory is 'inf'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(LocalSageMakerError, match=fault):
        GpuTrace(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalSageMakerError, match=r"the GPU trace .*none\.csv cannot be read"):
        GpuTrace(tmp_path / "none.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(LocalSageMakerError, match="cannot be read"):
        GpuTrace(binary)


def test_the_variable_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GPU_TRACE, raising=False)
    assert GpuTrace.here() is None
    monkeypatch.setenv(GPU_TRACE, os.fspath(EXAMPLE))
    trace = GpuTrace.here()
    assert trace is not None
    assert trace.at("prod-text", "AllTraffic", 900) == Load(600, 95, 60)
