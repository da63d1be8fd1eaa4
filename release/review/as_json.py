"""The review as JSON, for programs."""

import dataclasses
import json
from datetime import date
from typing import Any

from pydantic import BaseModel

from release.review.report import Report


def render(report: Report) -> str:
    """Return the whole report."""
    content = dataclasses.asdict(report)
    for stage in content["stages"]:
        for stack in stage["stacks"]:
            for change in stack["changes"]:  # the templates have the rest
                del change["before"], change["after"]
    return json.dumps(content, indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return str(value)
    assert isinstance(value, BaseModel)
    return value.model_dump(mode="json")
