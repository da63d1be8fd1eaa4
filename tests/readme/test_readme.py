"""The commands of the README, run in order in a fresh clone."""

import re
import shutil
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from release.checkout import git
from tests.processes import output_of, run_program

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
AT_THE_END = "trap './tritonsm down || true' EXIT"
"""Stops the local SageMaker, also after a command that failed."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of the repository with installed environments."""
    for name in git(ROOT, "ls-files", "-z", "-co", "--exclude-standard").rstrip("\0").split("\0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    for folder in (".venv", ".venv/bin", "node_modules"):
        (tmp_path / folder).mkdir()
        for path in (ROOT / folder).iterdir():
            if path.name not in {"bin", "tritonsm", "activate"} and ".installed" not in path.name:
                (tmp_path / folder / path.name).symlink_to(path)
    activate = (ROOT / ".venv/bin/activate").read_text().replace(str(ROOT), str(tmp_path))
    (tmp_path / ".venv/bin/activate").write_text(activate)
    (tmp_path / ".venv/bin/tritonsm").symlink_to("../../tritonsm")
    for name in (".venv/.installed-cdk", ".venv/.installed", "node_modules/.installed"):
        (tmp_path / name).touch()
    run_program("git", "init", "--quiet", cwd=tmp_path)
    return tmp_path


def commands_of(text: str) -> list[str]:
    """Return the commands of a page's console blocks."""
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line[:2] == "$ "]


def run_commands(clone: Path, commands: list[str]) -> str:
    """Run commands in the clone, in order; return their output."""
    return output_of(
        "bash",
        "-euo",
        "pipefail",
        "-c",
        "\n".join([AT_THE_END, *commands]),
        cwd=clone,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(clone), "NO_COLOR": "1"},
    )


def write_onnx(path: Path) -> None:
    """Write a model that returns the sum of four features, for a batch of any size."""
    features = helper.make_tensor_value_info("FEATURES", TensorProto.FLOAT, ["batch", 4])
    score = helper.make_tensor_value_info("SCORE", TensorProto.FLOAT, ["batch", 1])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    node = helper.make_node("ReduceSum", ["FEATURES", "axes"], ["SCORE"])
    graph = helper.make_graph([node], "churn", [features], [score], [axes])
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def test_readme_commands_succeed(clone: Path) -> None:
    commands = commands_of(README)
    assert commands[0] == "make demo"
    assert "tritonsm down" in commands
    output = run_commands(clone, commands)
    assert "Triton against PyTorch" in output
    assert "virginica" in output


def test_start_commands_succeed(clone: Path) -> None:
    """Run docs/start.md against the local SageMaker, also what it runs on AWS."""
    text = (ROOT / "docs" / "start.md").read_text()
    (stage,) = re.findall(r"^```yaml\n# stages/mine.yaml\n(.*?)^```", text, re.M | re.S)
    (clone / "stages" / "mine.yaml").write_text(stage)
    write_onnx(clone / "churn.onnx")
    commands = [command for command in commands_of(text) if command != "make demo"]
    first_on_aws = commands.index("cdk bootstrap -c stage=mine")
    network = [  # what the reader's account has, and calls that reach the local SageMaker
        'eval "$(tritonsm env)"',
        f"python {ROOT / 'tests/readme/network.py'} stages/mine.yaml",
    ]
    commands[first_on_aws:first_on_aws] = network
    output = run_commands(clone, [*commands, "tritonsm down"])
    assert output.count("SCORE") >= 3
    assert "0 refused" in output


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120
