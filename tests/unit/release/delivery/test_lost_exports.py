"""A rollback that would take away what a live endpoint imports."""

import json
from pathlib import Path
from typing import Any

import pytest

from release.delivery.assembly import Assembly
from release.delivery.deployment import Deployment
from release.delivery.errors import NotDelivered
from release.delivery.lost_exports import refuse_lost_exports
from tests.unit.release.delivery.fakes import EXPORT, FakeCdk


def test_what_a_live_endpoint_imports_may_not_leave_with_a_rollback(
    cli: FakeCdk, moving: Deployment, tmp_path: Path
) -> None:
    kept = {name: {"Export": {"Name": name}} for name in (EXPORT, "prod-models:Provider")}
    path = tmp_path / "prod-models.template.json"
    path.write_text(json.dumps({"Outputs": {**kept, "StartFunction": {"Value": "start"}}}))
    refuse_lost_exports(Deployment(Assembly(tmp_path, "prod"), moving.session))
    path.write_text(json.dumps({"Outputs": {EXPORT: kept[EXPORT]}}))
    with pytest.raises(
        NotDelivered, match=r"prod-text imports prod-models:Provider, .* Revert the bad change"
    ):
        refuse_lost_exports(Deployment(Assembly(tmp_path, "prod"), moving.session))
    assert cli.runs == []


def test_what_is_imported_from_outside_the_stage_stays(moving: Deployment, tmp_path: Path) -> None:
    (tmp_path / "prod-models.template.json").unlink()
    refuse_lost_exports(moving)


@pytest.mark.parametrize("live", [None, {"Resources": {}}])
def test_an_endpoint_that_is_not_there_or_imports_nothing_loses_nothing(
    moving: Deployment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    live: dict[str, Any] | None,
) -> None:
    (tmp_path / "prod-models.template.json").write_text("{}")
    monkeypatch.setattr(Deployment, "live", lambda *_: live)
    refuse_lost_exports(moving)
