"""The construct library without the rest of this repository."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "own_app.py"


def test_app_of_another_repository_synthesises_with_the_installed_library(tmp_path: Path) -> None:
    # Installed from its wheel into an environment that has the CDK and nothing of ours: the
    # environment's own packages come from this one's, where our editable install is shut out.
    wheel = _build_wheel(tmp_path / "wheel")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    typed = {it.parent.name for it in site.glob("*/py.typed")}
    assert typed == {"endpoint_client", "platform_facts", "triton_sagemaker"}
    (tmp_path / "app").mkdir()
    shutil.copy2(EXAMPLE, tmp_path / "app")

    seen = subprocess.run(
        [sys.executable, "-S", "-c", RUN, str(site), _site_packages(), EXAMPLE.name],
        cwd=tmp_path / "app",
        env={**os.environ, "CDK_OUTDIR": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert seen.returncode == 0, seen.stderr
    assert str(site) in seen.stdout
    template = json.loads((tmp_path / "out" / "vision.template.json").read_text())
    kinds = {it["Type"] for it in template["Resources"].values()}
    assert {"AWS::SageMaker::Endpoint", "AWS::CloudWatch::Dashboard"} <= kinds


def test_example_is_as_short_as_promised() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 25


RUN = """
import runpy, sys
site, packages, example = sys.argv[1:]
sys.path[:0] = [site, packages]
import endpoint_client
import triton_sagemaker
print(triton_sagemaker.__file__)
runpy.run_path(example, run_name="__main__")
assert not {"stages", "model_build", "stacks", "local_aws"} & sys.modules.keys()
"""


def _build_wheel(to: Path) -> Path:
    source = to / "source"
    for package in ("constructs", "endpoint_client", "platform_facts"):
        shutil.copytree(ROOT / package, source / package)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(to), str(source)),
        ],
        check=True,
    )
    (wheel,) = to.glob("*.whl")
    return wheel


def _site_packages() -> str:
    import aws_cdk

    return str(Path(str(aws_cdk.__file__)).parent.parent)
