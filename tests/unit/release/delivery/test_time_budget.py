import json
from pathlib import Path

from release.delivery.time_budget import METADATA, TimeBudget

DATA = {"rows": [{"what": "builds", "minutes": 150}, {"what": "the rest", "minutes": 20}]}


def test_it_is_read_from_the_metadata_of_the_models_stack(tmp_path: Path) -> None:
    entries = [{"type": "other", "data": 1}, {"type": METADATA, "data": {**DATA, "builds": 145}}]
    (tmp_path / "prod-models.metadata.json").write_text(json.dumps({"/prod-models": entries}))
    budget = TimeBudget.read(tmp_path, "prod-models")
    assert budget is not None
    assert budget.build_minutes == 145
    assert budget.lines() == [
        "  150 min  builds",
        "   20 min  the rest",
        "  170 min  at most, all together",
    ]


def test_a_commit_from_before_has_none(tmp_path: Path) -> None:
    assert TimeBudget.read(tmp_path, "prod-models") is None
    (tmp_path / "prod-models.metadata.json").write_text("{}")
    assert TimeBudget.read(tmp_path, "prod-models") is None
