"""The README's commands with a new stage and new models, on the local SageMaker."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import output_of, run_program

ROOT = Path(__file__).parents[1]
STAGE = "my-first"
ENDPOINTS = {"flowers": ["iris"], "nets": ["net", "net-onnx"], "words": ["letters"]}
"""Endpoints with their models: scikit-learn, PyTorch in two formats, and an ensemble."""
MODELS = {"iris": "python", "net": "pytorch", "letters": "repository"}
SCORE = "models/letters/letters-score/1/model.py"


@dataclass(frozen=True)
class Clone:
    """A copy of this repository."""

    path: Path

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run `tritonsm` and return its stdout and stderr."""
        return output_of(
            "./tritonsm", *arguments, code=code, cwd=self.path, env={**os.environ, "NO_COLOR": "1"}
        )

    def invoke(self, endpoint: str, model: str, *options: str) -> dict[str, list[float]]:
        """Return the output values of a deployed model, by name."""
        response = self.run("invoke", STAGE, endpoint, model, "--local", "--json", *options)
        outputs = json.loads(response)["outputs"]
        return {name: output["data"] for name, output in outputs.items()}


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A copy like after `git clone` and `make install`."""
    files = run_program("git", "ls-files", "-z", cwd=ROOT)
    for name in files.stdout.split("\0")[:-1]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    for name in (".venv", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    return Clone(tmp_path)


@pytest.fixture
def local_sagemaker(clone: Clone) -> Iterator[None]:
    try:
        clone.run("up")
        yield
    finally:  # also after Ctrl-C in `up`
        clone.run("down")


def test_demo_compares_minilm_with_transformers(clone: Clone) -> None:
    assert "Triton against PyTorch" in clone.run("demo")


def test_new_models_are_deployed_changed_rolled_back_and_destroyed(
    clone: Clone, local_sagemaker: None
) -> None:
    for name, kind in MODELS.items():
        assert f"next: tritonsm try models/{name}" in clone.run(
            "new", "model", name, "--kind", kind
        )
    assert "3 models, 0 errors, 0 warnings" in clone.run(
        "lint", *(f"models/{name}" for name in MODELS)
    )
    endpoints = [f"--endpoint={name}={','.join(models)}" for name, models in ENDPOINTS.items()]
    clone.run("new", "stage", STAGE, "--from", "local", *endpoints)

    clone.run("deploy", STAGE, "--local")
    status = clone.run("status", STAGE, "--local")
    for name, models in ENDPOINTS.items():
        assert f"{STAGE}-{name}" in status
        for model in models:
            clone.run("invoke", STAGE, name, model, "--local")
    first_outputs = clone.invoke("words", "letters", "--input", "TEXT=yes")
    assert first_outputs == {"SCORE": pytest.approx([1 / 3])}

    score_file = clone.path / SCORE
    score_file.write_text(score_file.read_text().replace("aeiou", "aeiouy"))
    diff = clone.run("diff", STAGE, "--local")
    assert f"Stack {STAGE}-words" in diff
    assert diff.count("There were no differences") == len(ENDPOINTS) + 1  # models and catalog, too
    clone.run("deploy", STAGE, "--local")
    assert clone.invoke("words", "letters", "--input", "TEXT=yes") == {
        "SCORE": pytest.approx([2 / 3])
    }

    rollback = ("rollback", STAGE, "words", "letters", "--local")
    clone.run(*rollback)
    assert clone.invoke("words", "letters", "--input", "TEXT=yes") == first_outputs
    assert "already" in clone.run(*rollback)

    clone.run("destroy", STAGE, "--local", "--yes")
    assert "no endpoint is deployed" in clone.run("status", STAGE, "--local")
