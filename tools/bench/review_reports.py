"""Generator of the reports in docs/review.md: `python -m tools.bench.review_reports`.

Each report is of a change of `prod` in a clone of HEAD, without commits.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.bench.review import clone
from tools.bench.turns import ROOT, command

DOCUMENT = ROOT / "docs" / "review.md"
STAGE = "stages/prod.yaml"

Edits = Mapping[str, tuple[str, str]]
"""Old and new text, by file."""

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
}  # fmt: skip


def main() -> None:
    """Write the reports into the document, after their comments."""
    text = DOCUMENT.read_text()
    for name, edits in CHANGES.items():
        before, marker, report_onwards = text.partition(
            f"<!-- report: {name} -->\n\n````markdown\n"
        )
        assert marker, f"docs/review.md has no comment <!-- report: {name} -->"
        _, end, after = report_onwards.partition("````\n")
        text = f"{before}{marker}{report(edits)}{end}{after}"
    DOCUMENT.write_text(text)


def report(edits: Edits) -> str:
    """Return the report of a change, without commits."""
    with TemporaryDirectory() as folder:
        tree = Path(folder, "clone")
        clone(tree)
        owners = tree / ".github" / "CODEOWNERS"
        owners.write_text(owners.read_text().replace("@octo-org/", "@acme/"))
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
        command("git", *identity, "commit", "--quiet", "--all", "--message", "owners", cwd=tree)
        for path, (old, new) in edits.items():
            content = (tree / path).read_text()
            assert old in content, (path, old)
            (tree / path).write_text(content.replace(old, new, 1))
        program = [sys.executable, "-m", "cli", "review", "--base", "HEAD", "prod"]
        subprocess.run(program, cwd=tree, check=False, stdout=subprocess.DEVNULL)
        return without_commit((tree / "review.out" / "review.md").read_text())


def without_commit(text: str) -> str:
    """Return a report without the commit that it compares with."""
    text = re.sub(r"(?<=^Review against HEAD).*$", "", text, flags=re.MULTILINE)
    return text.rstrip() + "\n"


if __name__ == "__main__":
    main()
