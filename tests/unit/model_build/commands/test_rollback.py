import pytest

from model_build.commands.rollback import predecessors_and_current
from plan.catalog import Cause, Revision
from tests.unit.model_build.commands.conftest import (
    ENDPOINT,
    PREFIX,
    VERSIONS,
    FakeAws,
    fail,
    succeed,
)

ONE, TWO, THREE = VERSIONS


def test_second_rollback_goes_no_further_back(deployed_minilm: FakeAws) -> None:
    succeed("rollback", *ENDPOINT, "minilm")
    assert "was rolled back already" in succeed("rollback", *ENDPOINT, "minilm")
    assert deployed_minilm.catalog("minilm")["version"] == TWO


def test_version_missing_for_a_variant_is_refused(deployed_minilm: FakeAws) -> None:
    deployed_minilm.sagemaker.host(
        "dev-text", f"s3://bucket/{PREFIX}", "s3://bucket/text/cuda-25.09-sm86/"
    )
    assert "never built for cuda-25.09-sm86" in fail("rollback", *ENDPOINT, "minilm")
    assert deployed_minilm.catalog("minilm")["version"] == THREE


def test_entry_that_changes_during_a_rollback_is_not_overwritten(
    deployed_minilm: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = deployed_minilm.sts.get_caller_identity

    def publish_meanwhile() -> dict[str, str]:
        deployed_minilm.deploy("minilm", "4" * 12)
        return read()

    monkeypatch.setattr(deployed_minilm.sts, "get_caller_identity", publish_meanwhile)
    assert fail("rollback", *ENDPOINT, "minilm") == (
        "minilm in triton-catalog-dev/text was changed at the same time: run again"
    )
    assert deployed_minilm.catalog("minilm")["version"] == "4" * 12


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("1 2 3", "1 2 3"),
        ("1 2 2 3", "1 2 3"),
        ("1 2 3 back:2", "1 2"),
        ("1 2 3 back:2 4", "1 2 4"),
        ("1 2 3 back:1 4 back:1", "1"),
        ("1 2 3 2", "1 2"),
        ("1 2 3 published:1", "1 2 3 1"),
        ("1 2 published:2", "1 2"),
        ("1 2 3 published:1 back:3", "1 2 3"),
        ("1 2 back:1 published:2", "1 2"),
    ],
)
def test_rolled_back_versions_are_not_predecessors(history: str, expected: str) -> None:
    causes: dict[str, Cause] = {"": "deployed", "back": "rolled back", "published": "published"}
    values = [value.rpartition(":") for value in history.split()]
    versions = predecessors_and_current(
        [
            Revision("text", "minilm", 1, {"version": version}, causes[cause])
            for cause, _, version in values
        ]
    )
    assert [version.version for version in versions] == expected.split()


def test_unknown_model_error_lists_the_known_ones(deployed_minilm: FakeAws) -> None:
    deployed_minilm.deploy("bert", ONE)
    assert fail("rollback", *ENDPOINT, "minlm") == (
        "no model minlm in triton-catalog-dev/text: there are bert, minilm"
    )
    assert fail("rollback", "prod", "text", "minilm") == (
        "no model minilm in triton-catalog-prod/text: there are none"
    )
