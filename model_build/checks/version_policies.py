"""The versions that are to be served exist."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def version_policies(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`version_policy` names versions that are there, and at least one."""
    for model in repository.models.values():
        policy = model.config.version_policy
        place = model.at("version_policy")
        match policy.WhichOneof("policy_choice"):
            case "latest" if policy.latest.num_versions == 0:
                yield place, "serves the latest 0 versions: write num_versions: 1"
            case "specific" if not policy.specific.versions:
                yield place, "serves no version: name some, or remove version_policy"
            case "specific":
                for version in policy.specific.versions:
                    if model.versions and str(version) not in model.versions:
                        known = ", ".join(model.versions)
                        yield place, f"there is no version {version}: write one of {known}"
