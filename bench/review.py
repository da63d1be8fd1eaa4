"""`make review` against `cdk diff` of the same stages: `python -m bench.review [STAGE ...]`.

The head is HEAD with one instance more in each stage named (prod alone, where none is), the base is
HEAD. `cdk diff` is what a person would run without a review: both sides synthesised by the CLI, and
every stack compared with its template of before; it lints nothing, and knows no models and no
money. Prints seconds of both, of a review that finds all stages unchanged, and the ratio.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
INSTALLED = (".venv", ".venv-checkov", "node_modules")
COUNT = re.compile(r"instance_count: (\d+)")


def main(stages: list[str]) -> None:
    """Measure in a clone of its own; nothing there is kept from an earlier review."""
    with TemporaryDirectory() as scratch:
        head, base = Path(scratch, "head"), Path(scratch, "base")
        for tree in (head, base):
            _run("git", "clone", "--quiet", str(ROOT), str(tree), cwd=ROOT)
            for name in INSTALLED:
                (tree / name).symlink_to(ROOT / name)
        unchanged = _review(head)
        for stage in stages:
            _add_an_instance(head / "stages" / f"{stage}.yaml")
        changed = _review(head)
        diff = sum(_cdk_diff(stage, base, head, Path(scratch)) for stage in stages)
    print(f"{', '.join(stages)}: one instance more")
    print(f"review, no stage changed {unchanged:6.1f} s")
    print(f"review                   {changed:6.1f} s")
    print(f"cdk diff                 {diff:6.1f} s")
    print(f"{changed / diff:.2f} times cdk diff")


def _add_an_instance(stage: Path) -> None:
    text = stage.read_text()
    changed = COUNT.sub(lambda it: f"instance_count: {int(it[1]) + 1}", text)
    assert changed != text, f"{stage.name} has no instance_count"
    stage.write_text(changed)


def _review(tree: Path) -> float:
    return _run(sys.executable, "-m", "release.review", "--base", "HEAD", cwd=tree, codes=(0, 3))


def _cdk_diff(stage: str, base: Path, head: Path, scratch: Path) -> float:
    seconds = 0.0
    for side, tree in (("base", base), ("head", head)):
        out = str(scratch / f"{stage}.{side}")
        app = f"{sys.executable} app.py"
        synth = ("cdk", "synth", "--quiet", "--app", app, "-c", f"stage={stage}", "--output", out)
        seconds += _run(*synth, cwd=tree)
    for template in sorted(Path(scratch, f"{stage}.base").glob("*.template.json")):
        stack = template.name.partition(".")[0]
        app = str(scratch / f"{stage}.head")
        diff = ("cdk", "diff", "--app", app, stack, "--exclusively", "--template", str(template))
        seconds += _run(*diff, cwd=head)
    return seconds


def _run(*command: str, cwd: Path, codes: tuple[int, ...] = (0,)) -> float:
    """Run a command; return the seconds that it took."""
    path = os.pathsep.join([str(cwd), str(cwd / "constructs")])
    began = time.monotonic()
    finished = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    assert finished.returncode in codes, finished.stdout + finished.stderr
    return seconds


if __name__ == "__main__":
    main(sys.argv[1:] or ["prod"])
