"""The release's Treelite reads the file of a tree model."""

from collections.abc import Iterator
from functools import partial

from packaging.version import Version

import platform_facts
from model_build.checks.model_files.tree_model import read_tree_model
from model_build.findings import Place
from model_build.repository import Repository

_READS = (((3, 1), Version("4.6.1")), ((1, 7), Version("4.0")))
"""XGBoost whose JSON files have new keys -> the first Treelite that knows them, the newest first.
Measured for 3.1 (3.0.5 and 3.2.0 with Treelite 4.3.0, 4.4.1, 4.5.1 and 4.6.1); fil_backend,
docs/model_support.md, for 1.7."""
_UBJSON = "24.10"
"""The first release with `model_type` xgboost_ubj (the same document)."""


def fil_versions(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """An XGBoost file is none that only a newer Treelite than the release's reads.

    The FIL backend reads tree models with Treelite, and refuses others when it loads them.
    """
    for model, path in repository.model_files("fil"):
        kind = model.config.parameters["model_type"].string_value
        if kind == "xgboost_ubj" and release.name < _UBJSON:
            yield (
                model.at("parameters", "model_type"),
                f"Triton {release.name} has no xgboost_ubj: write xgboost_json, or choose Triton "
                f"{_UBJSON} or newer",
            )
        xgboost = read_tree_model(path).xgboost
        needed = next((version for since, version in _READS if xgboost and xgboost >= since), None)
        if needed and release.treelite and not _has(needed, release):
            newer = platform_facts.oldest_release(partial(_has, needed))
            yield (
                model.file(model.inner(path)),
                f"was written by XGBoost {'.'.join(map(str, xgboost or ()))}; Treelite "
                f"{release.treelite} of Triton {release.name} does not read it: save it with an "
                "older XGBoost (3.0 for 24.03 to 25.09, 1.6 before)"
                + (f", or choose Triton {newer.name} or newer" if newer else ""),
            )


def _has(treelite: Version, release: platform_facts.Release) -> bool:
    return release.treelite is not None and Version(release.treelite) >= treelite
