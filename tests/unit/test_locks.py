"""Lock files and installations: only packages with reviewed hashes are installed."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from stacks.model_stack import BUILDSPEC
from tests.processes import run_program

ROOT = Path(__file__).parents[2]
LOCKS = [
    ROOT / "requirements.txt",
    # Of gpu.txt, docs/security.md says why it has none.
    *(path for path in ROOT.glob("requirements/*.txt") if path.name != "gpu.txt"),
    *ROOT.glob("tests/*/requirements*.txt"),
    *ROOT.glob("local_sagemaker/hosting/backends/*/requirements.txt"),
    ROOT / "docs" / "requirements.txt",
]
MAKEFILE = (ROOT / "Makefile").read_text()
INSTALL = BUILDSPEC["phases"]["install"]["commands"][0]  # type: ignore[index]


@pytest.mark.parametrize("path", LOCKS, ids=lambda value: str(value.relative_to(ROOT)))
def test_every_locked_package_has_hashes(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.strip().startswith("#")]
    entries = re.split(r"(?<!\\)\n", "\n".join(lines))
    for entry in filter(None, entries):
        assert re.fullmatch(r"\S+==\S+( ; .*)?( \\\n +--hash=sha256:[0-9a-f]{64})+", entry), entry


def test_every_installation_requires_hashes_and_wheels() -> None:
    workflows = [yaml.safe_load(path.read_text()) for path in ROOT.glob(".github/workflows/*.yml")]
    run = [step.get("run", "") for workflow in workflows for job in workflow["jobs"].values()
           for step in job["steps"]]  # fmt: skip
    assert not any("pip" in command for command in run)
    installations = [*re.findall(r".*-m pip install.*", MAKEFILE), INSTALL]
    by_hash = [
        installation
        for installation in installations
        if "--require-hashes --only-binary :all:" in installation
    ]
    editable, wheel = (line for line in installations if line not in by_hash)
    assert editable.endswith("--no-deps --no-build-isolation --editable .")
    assert wheel.endswith("--no-deps --no-index dist/triton_sagemaker-*.whl")
    assert len(by_hash) == 2  # the rule of the Makefile and the one of builds


@pytest.mark.parametrize("target", ["install-cdk", "synth", "review", "release"])
def test_synth_and_reviews_install_neither_torch_nor_triton(tmp_path: Path, target: str) -> None:
    for name in ("Makefile", "package-lock.json", "pyproject.toml", "requirements.txt"):
        shutil.copy2(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    commands = run_program("make", "--dry-run", target, cwd=tmp_path).stdout
    assert "--requirement requirements/cdk.txt" in commands
    assert "--requirement requirements.txt" not in commands


def test_every_lock_has_the_same_cpu_pytorch() -> None:
    torch_lock = (ROOT / "requirements" / "torch.txt").read_text()
    block = re.search(r"^torch==.*(?:\n +--hash.*)*", torch_lock, re.MULTILINE)
    assert block
    for name in ("requirements.txt", "requirements/build.txt"):
        text = (ROOT / name).read_text()
        assert block[0] in text
        assert len(re.findall(r"^torch==", text, re.MULTILINE)) == 1
        assert not re.search(r"^(nvidia-c|cuda-|triton==)", text, re.MULTILINE)
    expected = block[0].split()[0]
    assert re.search(
        rf"^{re.escape(expected)}\s", (ROOT / "requirements/build.in").read_text(), re.M
    )


def test_additional_package_source_is_only_for_torch() -> None:
    # pip would search an additional index for every package.
    assert "TORCH_FOR_CPUS := https://download.pytorch.org/whl/cpu/torch/\n" in MAKEFILE
    assert "INDEX" not in MAKEFILE
