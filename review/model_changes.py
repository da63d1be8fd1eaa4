"""The change of each model of an endpoint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from plan.document import PlannedModel
from review.comparison import Comparison
from review.verified_plans import load_obstacle

State = Literal["new", "removed", "rebuilt", "compiled again", "unchanged"]


@dataclass(frozen=True, kw_only=True)
class ModelChange:
    """The change of a model on an endpoint.

    targets: the new build targets of a model that is compiled again.
    breaking_changes: the changes of the signature that break clients.
    load_obstacle: why no Triton loads it before it is published, empty if its build does.
    """

    endpoint: str
    model: str
    state: State
    targets: tuple[str, ...] = ()
    breaking_changes: tuple[str, ...] = ()
    load_obstacle: str = ""

    @property
    def is_built(self) -> bool:
        """Whether a build makes an archive of it."""
        return self.state in ("new", "rebuilt", "compiled again")

    @property
    def is_change(self) -> bool:
        """Whether the model or its signature changes."""
        return self.state != "unchanged" or bool(self.breaking_changes)


def model_changes(comparison: Comparison) -> list[ModelChange]:
    """Return the change of each model of each endpoint, sorted by name."""
    changes = []
    for pair in comparison.endpoints.values():
        before = None if comparison.is_moved else pair.before
        old_models, models = (side.models if side else {} for side in (before, pair.after))
        for name in sorted(old_models.keys() | models.keys()):
            old, new = old_models.get(name), models.get(name)
            read = comparison.read_models.get(name)
            change = _model_change(pair.name, name, old, new)
            obstacle = new and load_obstacle(new, read)
            changes.append(replace(change, load_obstacle=obstacle or ""))
    return changes


def _model_change(
    endpoint: str,
    name: str,
    old: PlannedModel | None,
    new: PlannedModel | None,
) -> ModelChange:
    if old is None or new is None:
        state: State = "removed" if new is None else "new"
        return ModelChange(endpoint=endpoint, model=name, state=state)
    state = "unchanged"
    targets: list[str] = []
    old_targets, new_targets = (
        {archive.target for archive in side.archives.values()} for side in (old, new)
    )
    if old.digest != new.digest:
        state = "rebuilt"
    elif targets := sorted(new_targets - old_targets):
        state = "compiled again"
    return ModelChange(
        endpoint=endpoint,
        model=name,
        state=state,
        targets=tuple(targets),
        breaking_changes=tuple(_breaking_changes(old.catalog.signature, new.catalog.signature)),
    )


def _breaking_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes between two signatures that break clients."""
    for kind in ("input", "output"):
        before, after = ({tensor["name"]: tensor for tensor in side[f"{kind}s"]}
                         for side in (old, new))  # fmt: skip
        for name, tensor in before.items():
            if name not in after:
                new_names = ", ".join(sorted(after.keys() - before.keys()))
                yield f"{kind} {name} is removed{f' (new: {new_names})' if new_names else ''}"
                continue
            for key in ("datatype", "shape"):
                if tensor[key] != after[name][key]:
                    yield f"{kind} {name} has {key} {after[name][key]}, before {tensor[key]}"
        if kind == "input":
            yield from (f"input {name} is new and required" for name in after if name not in before)
    if new["max_batch_size"] < old["max_batch_size"]:
        yield f"batches up to {new['max_batch_size']}, before {old['max_batch_size']}"
