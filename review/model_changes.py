"""The change of each model of an endpoint, and its causes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from plan.document import PlannedModel
from review.comparison import Comparison
from review.verified_plans import ReadModel, load_obstacle, row_files

State = Literal["new", "removed", "rebuilt", "compiled again", "unchanged"]

_IGNORED_FOLDERS = {"__pycache__", "tests"}


@dataclass(frozen=True, kw_only=True)
class ModelChange:
    """The change of a model on an endpoint.

    causes: the changed files or the new build targets.
    breaking_changes: the changes of the signature that break clients.
    load_obstacle: why no Triton loads it before it is published, empty if its build does.
    """

    endpoint: str
    model: str
    state: State
    causes: tuple[str, ...] = ()
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
    changes, changed_files = [], _ChangedFiles(*comparison.models)
    for pair in comparison.endpoints.values():
        before = None if comparison.is_moved else pair.before
        old_models, models = (side.models if side else {} for side in (before, pair.after))
        for name in sorted(old_models.keys() | models.keys()):
            old, new = old_models.get(name), models.get(name)
            read = comparison.read_models.get(name)
            change = _model_change(pair.name, name, old, new, read, changed_files)
            obstacle = new and load_obstacle(new, read)
            changes.append(replace(change, load_obstacle=obstacle or ""))
    return changes


def _model_change(
    endpoint: str,
    name: str,
    old: PlannedModel | None,
    new: PlannedModel | None,
    read: ReadModel | None,
    changed_files: "_ChangedFiles",
) -> ModelChange:
    if old is None or new is None:
        state: State = "removed" if new is None else "new"
        return ModelChange(endpoint=endpoint, model=name, state=state)
    state = "unchanged"
    causes: tuple[str, ...] = ()
    old_targets, new_targets = (
        {archive.target for archive in side.archives.values()} for side in (old, new)
    )
    if old.digest != new.digest:
        state, causes = "rebuilt", changed_files.of(name, read)
    elif targets := sorted(new_targets - old_targets):
        state, causes = "compiled again", tuple(f"for {target}" for target in targets)
    return ModelChange(
        endpoint=endpoint,
        model=name,
        state=state,
        causes=causes,
        breaking_changes=tuple(_breaking_changes(old.catalog.signature, new.catalog.signature)),
    )


class _ChangedFiles:
    """The changed files of models, whose folders are read once for all rows of a table."""

    def __init__(self, before: Path | None, after: Path | None) -> None:
        self._before, self._after = before, after
        self._by_folder = dict[str, list[str]]()

    def of(self, model: str, read: ReadModel | None) -> tuple[str, ...]:
        """Return the changed files of a model, or why they are not known."""
        if not self._before or not self._after:
            return ("the model's sources are not available",)
        folder = model_folder(self._after, model).name
        if folder not in self._by_folder:
            old, new = (_file_contents(side, model) for side in (self._before, self._after))
            names = sorted(old.keys() | new.keys())
            self._by_folder[folder] = [name for name in names if old.get(name) != new.get(name)]
        files = self._by_folder[folder]
        if row := row_files(read, self._after):
            files = [name for name in files if name in row.files] or [row.table]
        return tuple(files) or ("the build format changed",)


def model_folder(models: Path, model: str) -> Path:
    """Return the folder of a model; an alternative (NAME-SUFFIX) is in the folder of its recipe."""
    folder = models / model
    while not folder.is_dir() and "-" in folder.name:
        folder = models / folder.name.rpartition("-")[0]
    return folder


def _file_contents(models: Path, model: str) -> dict[str, bytes]:
    """Return path -> content of the files of a model."""
    folder = model_folder(models, model)
    return {
        f"models/{path.relative_to(models).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {*path.relative_to(models).parts} & _IGNORED_FOLDERS
    }


def _breaking_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes between two signatures that break clients."""
    for kind in ("input", "output"):
        before, after = ({tensor["name"]: tensor for tensor in side[f"{kind}s"]}
                         for side in (old, new))  # fmt: skip
        for name, tensor in before.items():
            if name not in after:
                yield f"{kind} {name} is removed"
                continue
            for key in ("datatype", "shape"):
                if tensor[key] != after[name][key]:
                    yield f"{kind} {name} has {key} {after[name][key]}, before {tensor[key]}"
        if kind == "input":
            yield from (f"input {name} is new and required" for name in after if name not in before)
    if new["max_batch_size"] < old["max_batch_size"]:
        yield f"batches up to {new['max_batch_size']}, before {old['max_batch_size']}"
