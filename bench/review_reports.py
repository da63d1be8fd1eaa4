"""Make the three reports of docs/review.md anew: `python -m bench.review_reports`.

Each is of a change of `prod` in a clone of HEAD. Commits and the CDK's own differences are left
out, and the twenty new endpoints are cut to three.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.review import clone
from bench.turns import ROOT

DOCUMENT = ROOT / "docs" / "review.md"
STAGE = "stages/prod.yaml"
ENDPOINT = """\
  bert{number:02}:
    models: [bert]
    instance_type: ml.g5.xlarge
    instance_count: 2
"""
NEW = "".join(ENDPOINT.format(number=number) for number in range(1, 21))
SHOWN = 3
"""Of twenty new endpoints."""

Edits = Mapping[str, tuple[str, str]]
"""Path -> a text of a file, and what takes its place."""

CHANGES: dict[str, Edits] = {
    "one danger": {
        STAGE: (
            "models: [minilm]\n    instance_type: ml.g5.xlarge",
            "models: [minilm, bert]\n    instance_type: ml.g5.2xlarge",
        ),
        "models/minilm/pooling/config.pbtxt": ("count: 1", "count: 4"),
        "models/minilm/tokenizer/1/model.py": ("def execute", "limit = 8\n    def execute"),
    },
    "none": {STAGE: ("max_rps: 60", "max_rps: 80")},
    "twenty new endpoints": {
        STAGE: ("  text:\n", f"{NEW}  text:\n"),
    },
}  # fmt: skip


def main() -> None:
    """Write the reports between their marks in the document."""
    text = DOCUMENT.read_text()
    for name, edits in CHANGES.items():
        before, begin, rest = text.partition(f"<!-- report: {name} -->\n\n````markdown\n")
        assert begin, f"docs/review.md has no mark of the report {name!r}"
        _, end, after = rest.partition("````\n")
        text = f"{before}{begin}{report(edits)}{end}{after}"
    DOCUMENT.write_text(text)


def report(edits: Edits) -> str:
    """Return the report of a change, as docs show it."""
    with TemporaryDirectory() as folder:
        tree = Path(folder, "clone")
        clone(tree)
        for path, (old, new) in edits.items():
            content = (tree / path).read_text()
            assert old in content, (path, old)
            (tree / path).write_text(content.replace(old, new, 1))
        program = [sys.executable, "-m", "cli", "review", "--base", "HEAD", "prod"]
        subprocess.run(program, cwd=tree, check=False, stdout=subprocess.DEVNULL)
        return shown((tree / "review.out" / "review.md").read_text())


def shown(text: str) -> str:
    """Return a report without commits, differences of stacks, and most of many lines alike."""
    text = re.sub(r"(?<=^Review against HEAD).*$", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"<details>\n<summary>[\w-]+: \d+ resources?</summary>.*?</details>\n\n?",
        "",
        text,
        flags=re.DOTALL,
    )
    lines: list[str] = []
    alike = 0
    for line in text.splitlines():
        alike = alike + 1 if re.search(r"bert\d\d", line) else 0
        if alike <= SHOWN:
            lines.append(line)
        elif alike == SHOWN + 1:
            lines.append("...")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
