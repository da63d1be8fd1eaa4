from pathlib import Path
from typing import Any

import pytest

from model_build import BuildTarget
from model_build.formats.dali import Dali
from tests.unit.model_build.fakes import Lines, step_context

SOURCE_RULES = Path(__file__).with_name("cpu-2.4.0.dali").read_bytes()


@pytest.mark.parametrize(
    ("target", "moved"),
    [
        (BuildTarget(release="24.09"), False),
        (BuildTarget(release="25.09", compute_capability="8.6"), True),
    ],
)
def test_images_are_decoded_where_the_target_can(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    progress_lines: Lines,
    target: BuildTarget,
    moved: bool,
) -> None:
    calls: list[Any] = []

    def run_script(requirements: Path, worker: Path, order: dict[str, str], **named: Any) -> None:
        calls.append((requirements, worker, order, named))
        Path(order["output_path"]).write_bytes(SOURCE_RULES)

    monkeypatch.setattr("model_build.export.environments.run_script", run_script)
    monkeypatch.chdir(tmp_path)
    context = step_context(
        tmp_path, model_folder=Path("models/pictures"), target=target, progress=progress_lines
    )
    step = Dali(to="dali", source="pipeline.py:f", environment="pins.txt")
    step.make(tmp_path / "model.dali", context)
    ((requirements, worker, order, named),) = calls
    assert requirements == Path("models/pictures/pins.txt")
    assert worker.name == "worker.py"
    assert worker.is_file()
    assert order == {
        "source": f"{tmp_path}/models/pictures/pipeline.py:f",  # the worker runs elsewhere
        "output_path": str(tmp_path / "model.dali"),
        "weights": None,
        "seed": 0,
    }
    assert named == {"progress": progress_lines}
    assert (b"mixed" in (tmp_path / "model.dali").read_bytes()) == moved
