"""Digests and signatures of models, recomputed by the base's code from the files of the change.

No template shows them, so that only the plan, which the change wrote, would tell them.
"""

from collections.abc import Iterator
from pathlib import Path

from model_build import BuildError, ModelNotFound, Models, RepositoryInvalid, plan_model
from plan.document import Plan
from platform_facts.rules import checked_yaml

_ERRORS = (BuildError, ModelNotFound, RepositoryInvalid, checked_yaml.InvalidFile, OSError)


def unverified_models(plan: Plan, models: Path) -> Iterator[tuple[str, str]]:
    """Yield name and problem of each model whose files do not have the plan's facts."""
    planned = {
        name: model
        for endpoint in plan.endpoints.values()
        for name, model in endpoint.models.items()
    }
    folders = Models(models)
    for name, model in sorted(planned.items()):
        try:
            expected = plan_model(folders.find(name))
        except _ERRORS as error:
            yield name, f"its files cannot be read: {str(error).splitlines()[0]}"
            continue
        if expected.digest != model.digest:
            yield name, f"its files have the digest {expected.digest}, the plan says {model.digest}"
        elif expected.signature.model_dump() != model.catalog.signature:
            yield name, "its files have other inputs, outputs or batches than the plan says"
        elif expected.is_stateful != model.is_stateful:
            yield name, "the plan does not say whether its sequences have state as its files do"
