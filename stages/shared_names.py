"""Validation of names that must be unique in an account and region, such as `prod-text`."""

from collections.abc import Iterator
from pathlib import Path

from platform_facts.rules import checked_yaml
from platform_facts.rules.names import MAX_NAME, check_component_name
from stages.schema.names import STACKS
from stages.schema.stage import StageConfig


def endpoint_names(name: str, stage: StageConfig) -> dict[str, str]:
    """Return short name -> SageMaker endpoint name, for all endpoints of a stage."""
    return {
        endpoint: config.endpoint_name(f"{name}-{endpoint}")
        for endpoint, config in stage.endpoints.items()
    }


def name_problems(
    name: str, stage: StageConfig, folder: Path
) -> Iterator[tuple[checked_yaml.Keys, str]]:
    """Yield endpoints whose names are too long or conflict with other endpoints or stacks.

    Endpoint names of hosting `components` include the instance type, so `text` may conflict with
    `text-g5-xlarge`. Stages may conflict too: the endpoint `eu-text` of the stage `mine` and the
    endpoint `text` of the stage `mine-eu` have the same stack. Only files of stages with such a
    common prefix are read; invalid files are ignored here.
    """
    names = endpoint_names(name, stage)
    for endpoint, config in stage.endpoints.items():
        full_name = names[endpoint]
        first_endpoint = next(key for key in names if names[key] == full_name)
        if first_endpoint != endpoint:
            yield (
                ("endpoints", endpoint),
                f"the endpoint would be called {full_name}, like {first_endpoint}: write "
                "another name",
            )
        for model, component in config.component_names(f"{name}-{endpoint}").items():
            rule = check_component_name.at("endpoints", endpoint, "components", model)
            yield from rule(component)
        if len(full_name) > MAX_NAME:
            yield (
                ("endpoints", endpoint),
                f"the endpoint would be called {full_name}, of {len(full_name)} characters, and "
                f"SageMaker allows {MAX_NAME}: shorten its name or the stage's",
            )
    for path in sorted(folder.glob("*.yaml")):
        other_name = path.stem
        if other_name.startswith(f"{name}-") or name.startswith(f"{other_name}-"):
            for endpoint in _endpoints_with_shared_stack(name, stage, path):
                yield (
                    ("endpoints", endpoint),
                    f"{path.name} has a stack {name}-{endpoint} of the same account and region, "
                    "and whichever is deployed last would replace the other: write another name",
                )


def _endpoints_with_shared_stack(name: str, stage: StageConfig, path: Path) -> Iterator[str]:
    """Yield the endpoints whose stack has the same name as a stack of the stage at `path`."""
    try:
        other_stage = checked_yaml.load(path, StageConfig)
    except (checked_yaml.InvalidFile, OSError):
        return
    accounts = {stage.account, other_stage.account} - {None}
    if stage.region == other_stage.region and len(accounts) < 2:
        other_stacks = {f"{path.stem}-{endpoint}" for endpoint in (*STACKS, *other_stage.endpoints)}
        yield from (
            endpoint for endpoint in stage.endpoints if f"{name}-{endpoint}" in other_stacks
        )
