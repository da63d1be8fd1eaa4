"""Synthesise an endpoint with many models: `python -m tools.bench.many_models COUNT... [--rows]`.

Prints the duration, the size of the largest template, and the use of AWS's quotas; for several
counts, a table of CPU seconds with Python's imports, each of a process of its own. Each model is a
copy of `tritonsm new model --kind python`, or with `--rows` a row of the table of one such folder.
"""

import gc
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import App

import stacks
from cli.new_model import PLACEHOLDER, TEMPLATES
from cli.new_stage import write
from stages import plan

STAGES = Path("stages")
QUOTAS = {
    "AWS::IAM::Role": 1_000,
    "stacks": 200,
}
"""Default quotas of an account: roles (AWS general reference, IAM quotas), stacks (CloudFormation
user guide, cloudformation-limits, from awsdocs on GitHub)."""


RECIPE = """\
description: A model for each row
for_each: rows.csv
files:
  model/1/weights.json: { to: copy, weights: "weights/{name}.json" }
"""


CODE = """\
class TritonPythonModel:
    def execute(self, requests):
        return []
"""


def write_table(folder: Path, count: int) -> list[str]:
    """Write a model with a table; return its name."""
    write_models(folder, 1)
    names = [f"row-{number:05}" for number in range(count)]
    model = next(folder.iterdir())
    (model / model.name / "1" / "model.py").write_text(CODE)
    (model / "weights").mkdir()
    for name in names:
        (model / "weights" / f"{name}.json").write_text(f'"{name}"')
    (model / "rows.csv").write_text("".join(f"{name}\n" for name in ("name", *names)))
    (model / "recipe.yaml").write_text(RECIPE.replace("model/1", f"{model.name}/1"))
    return [model.name]


def write_models(folder: Path, count: int) -> list[str]:
    """Write models that differ only in their names; return the names."""
    template = TEMPLATES / "python"
    files = [path for path in template.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    for number in range(count):
        name = f"model-{number:05}"
        for path in files:
            target = folder / name / str(path.relative_to(template)).replace(PLACEHOLDER, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(path.read_text().replace(PLACEHOLDER, name))
    return sorted(path.name for path in folder.iterdir())


def write_stage(folder: Path, names: list[str]) -> None:
    """Write a stage with an endpoint of these models."""
    (folder / "stages").mkdir()
    (folder / "stages" / "dev.yaml").write_text((STAGES / "dev.yaml").read_text())
    endpoint = f"all={','.join(names)}"
    write("fleet", "dev", [endpoint], stages=folder / "stages", models=folder / "models")


def synthesise(folder: Path) -> list[bytes]:
    """Return the templates of the stage."""
    plan.MODELS = folder / "models"
    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    assembly = stacks.synthesise(app, "fleet", folder=folder / "stages")
    return [Path(stack.template_full_path).read_bytes() for stack in assembly.stacks]


def main(count: int, write: Callable[[Path, int], list[str]]) -> None:
    """Print the figures of a stage with `count` models."""
    with TemporaryDirectory() as folder:
        write_stage(Path(folder), write(Path(folder, "models"), count))
        start = time.monotonic()
        templates = synthesise(Path(folder))
        seconds = time.monotonic() - start
    resources = [json.loads(template)["Resources"] for template in templates]
    kinds = Counter(resource["Type"] for stack in resources for resource in stack.values())
    print(f"{count:,} models: {len(templates)} stacks, {seconds:.1f} s")
    print(f"largest template {max(map(len, templates)):,} bytes, "
          f"{max(map(len, resources))} resources")  # fmt: skip
    for name, quota in QUOTAS.items():
        print(f"{name}: {kinds.get(name, len(templates)):,} of {quota:,}")


def print_table(counts: list[int], *options: str) -> None:
    """Print the CPU seconds of a synth for each count, and the ratio to the first."""
    print("| models | CPU seconds | ratio |\n| ---: | ---: | ---: |")
    first = 0.0
    for count in counts:
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "tools.bench.many_models", str(count), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
        first = first or seconds
        print(f"| {count:,} | {seconds:.1f} | {seconds / first:.2f} |", flush=True)


if __name__ == "__main__":
    gc.disable()  # as in app.py
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    if len(numbers) > 1:
        print_table(numbers, *({"--rows"} & {*sys.argv}))
    else:
        count = numbers[0] if numbers else 2000
        main(count, write_table if "--rows" in sys.argv else write_models)
