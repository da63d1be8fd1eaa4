"""What the templates of a stage are made of: where it is the same, so are they.

Synth is pure, so two trees with the same inputs have the same templates, and none need be made.
Whatever is not known to be no input counts as one.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from release.tree import Tree

APART = frozenset(
    {
        *("bench", "cli", "docs", "endpoint_client", "local_aws", "release", "tests", "tritonsm"),
        *("CHANGELOG.md", "LICENSE", "Makefile", "README.md", "requirements.in"),
        *("package.json", "package-lock.json", "requirements-checkov.txt", "requirements.lock.sh"),
        *("build", "cdk.out", "dist", "node_modules", "review.out"),
    }
)
"""What the app never reads of the repository's root; nor does it read names that begin with a dot.

The synth tests run it in a tree that has none of this. The CDK's CLI (package-lock.json) is not
asked: a review runs the app itself.
"""

_MADE = ("__pycache__", "*.pyc")


def are_same(before: Tree, after: Tree, stage: str | None = None) -> bool:
    """Whether both trees certainly make the same of a stage; without one, of all their models."""
    digest = digest_of(before, stage)
    return digest is not None and digest == digest_of(after, stage)


def digest_of(tree: Tree, stage: str | None = None) -> str | None:
    """Return SHA-256 over all inputs of a stage; without one, over what all models are made of.

    None where that is not certain: there is a link in the tree, or the stage's file is no YAML.
    """
    total = hashlib.sha256()
    try:
        for path in _inputs(tree, stage):
            if path.is_symlink():
                return None
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            mode = path.stat().st_mode & 0o111
            total.update(f"{content} {mode:o} {path.relative_to(tree.root).as_posix()}\n".encode())
    except (OSError, yaml.YAMLError):
        return None
    return total.hexdigest()


def _inputs(tree: Tree, stage: str | None) -> Iterator[Path]:
    models = None if stage is None else _models(tree, stage)
    for path in sorted(tree.root.iterdir()):
        if path.name in APART or path.name.startswith((".", "cdk.out.")):
            continue
        if path == tree.models and models is not None:
            yield from (it for it in _files(path) if _model_of(tree, it) in {None, *models})
        elif path.name == "stages":
            # A stage's file is read alone (stages/load.py).
            yield from (it for it in _files(path) if it.suffix != ".yaml" or it.stem == stage)
        else:
            yield from _files(path)


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or all files and links in a folder, without what Python makes of its own."""
    if any(path.match(it) for it in _MADE) or path.name.endswith(".egg-info"):
        return
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for inner in sorted(path.iterdir()):
        yield from _files(inner)


def _model_of(tree: Tree, path: Path) -> str | None:
    """Return the folder of models that a file is in, None where it is in none of them."""
    inside = path.relative_to(tree.models).parts
    return inside[0] if len(inside) > 1 else None


def _models(tree: Tree, stage: str) -> set[str] | None:
    """Return the folders of the models that a stage names.

    None where every folder counts: a name that is no folder's, such as an alternative's, is looked
    for in all of them (model_build/source.py, `find`). Raises `yaml.YAMLError`, `OSError`.
    """
    content = yaml.safe_load((tree.root / "stages" / f"{stage}.yaml").read_text(encoding="utf-8"))
    match content:
        case {"endpoints": dict(endpoints)} if all(map(_lists_models, endpoints.values())):
            named = {name for it in endpoints.values() for name in it["models"]}
        case _:
            return None
    return named if named <= {it.name for it in tree.models.iterdir() if it.is_dir()} else None


def _lists_models(endpoint: Any) -> bool:
    match endpoint:
        case {"models": list(names)}:
            return all(isinstance(it, str) for it in names)
    return False
