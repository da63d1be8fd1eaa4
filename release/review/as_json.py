"""The review as JSON, for programs: review.schema.json says what is in it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from release.review.differences import StackDifference
from release.review.report import Judged, Report, StageReview
from release.review.summary import summary

SCHEMA = Path(__file__).with_name("review.schema.json")

VERSION = 3
"""Raised where a program that reads the JSON must change; a new key is no such change."""


def render(report: Report) -> str:
    """Return the whole report."""
    content = {
        "version": VERSION,
        "base": {"name": report.base, "commit": report.commits.base},
        "head": {"commit": report.commits.head, "dirty": report.commits.dirty},
        "complete": report.is_complete,
        "summary": summary(report),
        "not_reviewed": [asdict(gap) for gap in report.gaps],
        "dangers": [_danger(judged) for judged in report.dangers],
        "notes": list(report.notes),
        "not_judged": list(report.not_judged),
        "stages": [_stage(it) for it in report.stages],
        "findings": asdict(report.findings),
        "acknowledged_without_danger": [by.model_dump(mode="json") for by in report.unmatched],
    }
    return json.dumps(content, indent=2) + "\n"


def _stage(stage: StageReview) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "compared": stage.no_base is None,
        "endpoints": [{"endpoint": it.name, "state": it.state} for it in stage.endpoints],
        "sentences": list(stage.sentences),
        "notes": list(stage.notes),
        "dangers": [_danger(it) for it in stage.dangers],
        "models": [asdict(model) for model in stage.models],
        "costs": [asdict(it) for it in stage.costs],
        "access": list(stage.access),
        "stacks": [_stack(it, left=it.stack in stage.left) for it in stage.stacks],
        "findings": asdict(stage.findings),
        "acknowledged": asdict(stage.acknowledged),
    }


def _danger(judged: Judged) -> dict[str, Any]:
    danger, by = judged
    return {
        "key": danger.key,
        **asdict(danger),
        "acknowledged": by.model_dump(mode="json") if by else None,
    }


def _stack(stack: StackDifference, *, left: bool) -> dict[str, Any]:
    """Return a stack's difference without the templates, which have the rest of each resource."""
    changes = [
        {
            "id": it.id,
            "path": it.path,
            "type": it.type,
            "impact": it.impact,
            "properties": list(it.properties),
        }
        for it in stack.changes
    ]
    return {"stack": stack.stack, "leaves": left, "changes": changes, "text": stack.text}
