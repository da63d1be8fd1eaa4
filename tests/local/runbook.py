"""Commands of docs/runbook.md, by heading."""

from textwrap import dedent

from tests.local.conftest import ROOT

RUNBOOK = ROOT / "docs" / "runbook.md"
FENCE = "```"


def script(heading: str) -> str:
    """Return the console commands of a section as a script for bash."""
    section = RUNBOOK.read_text().split(f"# {heading}\n")[1].split("\n#")[0]
    blocks = [
        dedent(part.partition("\n")[2])
        for part in section.split(FENCE)[1::2]
        if part.startswith("console\n")
    ]
    assert blocks, heading
    lines = (line.removeprefix("$ ") for block in blocks for line in block.splitlines())
    return "\n".join(lines)
