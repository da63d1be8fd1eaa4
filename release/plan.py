"""The plan of a stage: a JSON file that the app writes into the cloud assembly."""

import json
from pathlib import Path
from typing import Any

PLAN = "plan.json"


def plan(assembly: Path) -> dict[str, Any]:
    """Return the plan in an assembly's folder; empty for older commits, which have no plan."""
    path = assembly / PLAN
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content
