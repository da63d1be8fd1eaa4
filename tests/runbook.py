"""Commands of docs/runbook.md, by heading."""

from pathlib import Path
from textwrap import dedent

RUNBOOK = Path(__file__).parents[1] / "docs" / "runbook.md"
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
