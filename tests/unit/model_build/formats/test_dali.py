from pathlib import Path
from typing import Any

import pytest

from model_build import BuildTarget
from model_build.formats.dali import Dali
from tests.unit.model_build.fakes import ProgressLines, step_context

CPU_PIPELINE = Path(__file__).with_name("cpu-2.4.0.dali").read_bytes()


@pytest.mark.parametrize(
    ("target", "is_on_gpu"),
    [
        (BuildTarget(release="24.09"), False),
        (BuildTarget(release="25.09", compute_capability="8.6"), True),
    ],
)
def test_decoder_runs_on_the_gpu_of_the_target(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    progress_lines: ProgressLines,
    target: BuildTarget,
    *,
    is_on_gpu: bool,
) -> None:
    calls: list[Any] = []

    def run_script(
        requirements: Path, worker: Path, parameters: dict[str, str], **options: Any
    ) -> None:
        calls.append((requirements, worker, parameters, options))
        Path(parameters["output_path"]).write_bytes(CPU_PIPELINE)

    monkeypatch.setattr("model_build.export.environments.run_script", run_script)
    monkeypatch.chdir(tmp_path)
    context = step_context(
        tmp_path, model_folder=Path("models/pictures"), target=target, progress=progress_lines
    )
    step = Dali(to="dali", source="pipeline.py:f", environment="pins.txt")
    step.generate(tmp_path / "model.dali", context)
    ((requirements, worker, parameters, options),) = calls
    assert requirements == Path("models/pictures/pins.txt")
    assert worker.name == "worker.py"
    assert worker.is_file()
    assert parameters == {  # absolute paths: the worker has another working directory
        "source": f"{tmp_path}/models/pictures/pipeline.py:f",
        "output_path": str(tmp_path / "model.dali"),
        "weights": None,
        "seed": 0,
    }
    assert options == {"progress": progress_lines}
    assert (b"mixed" in (tmp_path / "model.dali").read_bytes()) == is_on_gpu
