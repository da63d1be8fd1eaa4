"""`make review`, including its linters, compared with `cdk diff` of the same stages.

The change is a larger instance type of each endpoint. "cdk diff" is the alternative without a
review: a synthesis of both commits, and a comparison of each stack with its earlier template. It
has no linters, and does not show changes of models or costs.
"""

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.bench.turns import ROOT, Results, command, timed

INSTALLED = (".venv", ".venv-checkov", "node_modules")


def run(results: Results) -> None:
    """Review a clone in which no stage, one stage or all stages changed."""
    with TemporaryDirectory() as scratch:
        head, base = Path(scratch, "head"), Path(scratch, "base")
        for tree in (head, base):
            clone(tree)
        stages = [path.stem for path in sorted(Path(head, "stages").glob("*.yaml"))]
        stages.remove("examples")
        cases = {"no stage changed": (["prod"], []), "prod changed": (["prod"], ["prod"])}
        if not results.quick:
            cases["all stages changed"] = (stages, stages)
        for case, (reviewed, changed) in cases.items():
            for stage in changed:
                _enlarge_instances(Path(head, "stages", f"{stage}.yaml"))
            program = sys.executable, "-m", "cli", "review", "--base", "HEAD", *reviewed
            sides = {
                "review": partial(command, *program, cwd=head, codes=(0, 3)),
                "cdk diff": partial(timed, partial(_cdk_diff, reviewed, base, head)),
            }
            results.alternate(case, sides, 1)


def clone(to: Path) -> None:
    """Clone HEAD, with links to the installed packages."""
    command("git", "clone", "--quiet", ROOT, to)
    for name in INSTALLED:
        (to / name).symlink_to(ROOT / name)
    exclude = to / ".git" / "info" / "exclude"
    exclude.write_text("".join(f"/{name}\n" for name in INSTALLED))


def _enlarge_instances(stage: Path) -> None:
    stage.write_text(stage.read_text().replace(".xlarge", ".2xlarge"))


def _cdk_diff(stages: list[str], base: Path, head: Path) -> None:
    app = f"{sys.executable} app.py"
    for stage in stages:
        for tree in (base, head):
            command("cdk", "synth", "--quiet", "--app", app, "-c", f"stage={stage}", cwd=tree)
        for template in sorted(Path(base, "cdk.out").glob(f"{stage}-*.template.json")):
            stack = template.name.partition(".")[0]
            options = "--exclusively", "--template", template
            command("cdk", "diff", "--app", "cdk.out", stack, *options, cwd=head)
