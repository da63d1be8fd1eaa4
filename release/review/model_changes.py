"""What happens to each model of an endpoint, and why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from release.review.comparison import Comparison
from release.review.endpoints import DeclaredModel

State = Literal["new", "removed", "rebuilt", "compiled again", "unchanged"]

_IGNORED = ("__pycache__", "tests")


@dataclass(frozen=True)
class Cause:
    """Why a model changes: a file of its, a target that it is compiled for, or all that is known.

    `name` is the file's path or the target; the others have none.
    """

    kind: Literal["file", "target", "builder", "deployed"]
    name: str | None = None

    def __str__(self) -> str:
        match self.kind:
            case "file":
                return str(self.name)
            case "target":
                return f"for {self.name}"
            case "builder":
                return "the builder makes different archives"
            case "deployed":
                return "other sources than the deployed ones"


@dataclass(frozen=True, kw_only=True)
class ModelChange:
    """One model on one endpoint. `because` names the files or the target that changed.

    `breaking` lists what clients must change: tensors that are gone or differ.
    """

    endpoint: str
    model: str
    state: State
    because: tuple[Cause, ...] = ()
    breaking: tuple[str, ...] = ()


def model_changes(comparison: Comparison) -> list[ModelChange]:
    """Return a line for every model of every endpoint, by name."""
    before, after = comparison.models
    found = []
    for pair in comparison.endpoints.values():
        earlier = None if comparison.moves else pair.before  # nothing is built there
        old, new = (it.models if it else {} for it in (earlier, pair.after))
        for model in sorted(old.keys() | new.keys()):
            versions = (old.get(model), new.get(model))
            found.append(_change(pair.name, model, versions, before, after))
    return found


def _change(
    endpoint: str,
    name: str,
    versions: tuple[DeclaredModel | None, DeclaredModel | None],
    before: Path | None,
    after: Path | None,
) -> ModelChange:
    old, new = versions
    if old is None:
        return ModelChange(endpoint=endpoint, model=name, state="new")
    if new is None:
        return ModelChange(endpoint=endpoint, model=name, state="removed")
    breaking = tuple(_breaking(old.signature, new.signature))
    if old.version != new.version:
        because = _files_that_differ(name, before, after) if before and after else ()
        return ModelChange(
            endpoint=endpoint,
            model=name,
            state="rebuilt",
            because=because or (Cause("builder" if before else "deployed"),),
            breaking=breaking,
        )
    if targets := sorted(new.builds.keys() - old.builds.keys()):
        return ModelChange(
            endpoint=endpoint,
            model=name,
            state="compiled again",
            because=tuple(Cause("target", target) for target in targets),
            breaking=breaking,
        )
    return ModelChange(endpoint=endpoint, model=name, state="unchanged", breaking=breaking)


def _files_that_differ(model: str, before: Path, after: Path) -> tuple[Cause, ...]:
    """Return the files of the model's folder that are not the same in both trees."""
    files = [_contents(models, model) for models in (before, after)]
    return tuple(
        Cause("file", name)
        for name in sorted(files[0].keys() | files[1].keys())
        if files[0].get(name) != files[1].get(name)
    )


def folder_of(models: Path, model: str) -> Path:
    """Return the folder that is called as a model, or as its beginning."""
    folder = models / model
    while not folder.is_dir() and "-" in folder.name:
        folder = models / folder.name.rpartition("-")[0]  # an alternative of a recipe
    return folder


def _contents(models: Path, model: str) -> dict[str, bytes]:
    """Return the files of a model's folder."""
    folder = folder_of(models, model)
    return {
        f"models/{path.relative_to(models).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {*path.relative_to(models).parts} & {*_IGNORED}
    }


def _breaking(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    said = []
    for kind in ("inputs", "outputs"):
        before, after = ({it["name"]: it for it in side[kind]} for side in (old, new))
        for name, tensor in before.items():
            if name not in after:
                said.append(f"{kind[:-1]} {name} is gone")
                continue
            for what in ("datatype", "shape"):
                if tensor[what] != after[name][what]:
                    was, now = tensor[what], after[name][what]
                    said.append(f"{kind[:-1]} {name} has {what} {now}, before {was}")
        if kind == "inputs":
            said += [f"input {name} is new and required" for name in after if name not in before]
    if new["max_batch_size"] < old["max_batch_size"]:
        was, now = old["max_batch_size"], new["max_batch_size"]
        said.append(f"batches up to {now}, before {was}")
    return said
