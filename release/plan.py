"""The plan of a stage, which the app writes into the cloud assembly."""

import json
from pathlib import Path
from typing import Any

PLAN = "plan.json"


def plan(assembly: Path) -> dict[str, Any]:
    """Return the plan in the folder of an assembly, empty of a commit that writes none."""
    path = assembly / PLAN
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content
