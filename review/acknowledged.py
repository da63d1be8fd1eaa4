"""Acknowledgements and levels of dangers: `review/acknowledged.yaml`."""

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from platform_facts.rules import checked_yaml

RULES = (
    "exposed_secrets", "public_exposure", "removed_endpoints", "new_environment",
    "shared_identities", "replaced_resources", "rejected_updates", "no_longer_production",
    "broken_clients", "dropped_models", "widened_access", "privileged_new_principals",
    "new_capabilities", "selected_code", "widened_workflows", "lost_owners", "unreadable_files",
    "foreign_targets", "internet_routes", "build_downloads", "lost_pins", "changed_weights_source",
    "encryption_removed", "lost_safeguards", "expiring_objects", "low_availability", "lost_scaling",
    "lost_service_access", "lost_rollback", "lost_alarms", "silenced_alarms", "weakened_alarms",
    "plan_mismatches", "shrunk_protection", "changed_limits", "changed_behaviour", "lost_logging",
    "reset_instance_counts", "multiplied_capacity", "scaling_removed_during_update",
    "shifted_traffic", "split_sequences", "over_budget", "changed_stack_settings",
    "weakened_checks", "larger_tolerances", "slow_responses", "unknown_resources", "new_packages",
    "unowned_code", "reduced_protection",
)  # fmt: skip
"""Names of the rules, the worst dangers first."""


def _check_rule(name: str) -> str:
    if name not in RULES:
        raise ValueError(f"no rule {name}: docs/review.md has the rules")
    return name


class Acknowledgement(BaseModel):
    """The acknowledgement of a danger, an entry of the file.

    danger: key STAGE/RULE/SUBJECT from the report.
    who: person who accepts the danger.
    until: last day on which the acknowledgement is valid.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    danger: Annotated[str, Field(pattern=r"^[^/]+/[a-z_]+/.+$")]
    who: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]
    until: date


class Acknowledgements(BaseModel):
    """The file: acknowledgements, and the rules whose dangers are advice, without an exit code."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledged: list[Acknowledgement] = []
    advisory: list[Annotated[str, AfterValidator(_check_rule)]] = [
        "changed_behaviour",
        "reduced_protection",
    ]

    def find(self, key: str, today: date) -> Acknowledgement | None:
        """Return the valid acknowledgement of the danger with a key, None if there is none."""
        entries = (entry for entry in self.acknowledged if entry.danger == key)
        return next((entry for entry in entries if entry.until >= today), None)


def read_acknowledgements(root: Path) -> Acknowledgements:
    """Return the acknowledgements in a tree. Raise `checked_yaml.InvalidFile`."""
    path = root / "review" / "acknowledged.yaml"
    return checked_yaml.load(path, Acknowledgements) if path.is_file() else Acknowledgements()
