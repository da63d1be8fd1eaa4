"""Generator of the three reports in docs/review.md: `python -m tools.bench.review_reports`.

Each report is of a change of `prod` in a clone of HEAD, without commits.
The collapsed parts of the longest report are left out.
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
ENDPOINT = """\
  bert{number:02}:
    models: [bert]
    instance_type: ml.g5.xlarge
    instance_count: 2
"""
NEW = "".join(ENDPOINT.format(number=number) for number in range(1, 21))
LONGEST = "twenty new endpoints"

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
    LONGEST: {
        STAGE: ("  text:\n", f"{NEW}  text:\n"),
    },
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
        text = f"{before}{marker}{report(name, edits)}{end}{after}"
    DOCUMENT.write_text(text)


def report(name: str, edits: Edits) -> str:
    """Return the shortened report of a change."""
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
        return shorten((tree / "review.out" / "review.md").read_text(), name)


def shorten(text: str, name: str) -> str:
    """Return a report without commits, and the longest one without its collapsed parts."""
    text = re.sub(r"(?<=^Review against HEAD).*$", "", text, flags=re.MULTILINE)
    if name == LONGEST:
        text = text.partition("<details>")[0]
    return text.rstrip() + "\n"


if __name__ == "__main__":
    main()
