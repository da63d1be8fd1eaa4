"""Synthesise an endpoint with many models: `python -m tools.bench.many_models [COUNT]`.

Prints the duration, the size of the largest template, and the use of AWS's quotas. Each model is a
copy of `tritonsm new model --kind python`.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import App

import stacks
from cli.new_model import PLACEHOLDER, TEMPLATES
from cli.new_stage import assign_models, write
from model_build.source import all_models
from stages import plan

STAGES = Path("stages")
QUOTAS = {
    "AWS::IAM::Role": 1_000,
    "stacks": 200,
}
"""Default quotas of an account: roles (AWS general reference, IAM quotas), stacks (CloudFormation
user guide, cloudformation-limits, from awsdocs on GitHub)."""


def write_models(folder: Path, count: int) -> None:
    """Write models that differ only in their names."""
    template = TEMPLATES / "python"
    files = [path for path in template.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    for number in range(count):
        name = f"model-{number:05}"
        for path in files:
            target = folder / name / str(path.relative_to(template)).replace(PLACEHOLDER, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text().replace(PLACEHOLDER, name))


def synthesise(folder: Path, count: int) -> list[bytes]:
    """Return the templates of a stage with `count` models."""
    (folder / "models").mkdir()
    (folder / "stages").mkdir()
    write_models(folder / "models", count)
    (folder / "stages" / "dev.yaml").write_text((STAGES / "dev.yaml").read_text())
    endpoints = assign_models(all_models(folder / "models"), 1)
    write("fleet", "dev", endpoints, stages=folder / "stages", models=folder / "models")
    plan.MODELS = folder / "models"
    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    assembly = stacks.synthesise(app, "fleet", folder=folder / "stages")
    return [Path(stack.template_full_path).read_bytes() for stack in assembly.stacks]


def main(count: int) -> None:
    """Print the figures of a stage with `count` models."""
    with TemporaryDirectory() as folder:
        start = time.monotonic()
        templates = synthesise(Path(folder), count)
        seconds = time.monotonic() - start
    resources = [json.loads(template)["Resources"] for template in templates]
    kinds = Counter(resource["Type"] for stack in resources for resource in stack.values())
    print(f"{count:,} models: {len(templates)} stacks, {seconds:.0f} s")
    print(f"largest template {max(map(len, templates)):,} bytes, "
          f"{max(map(len, resources))} resources")  # fmt: skip
    for name, quota in QUOTAS.items():
        print(f"{name}: {kinds.get(name, len(templates)):,} of {quota:,}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2000)
