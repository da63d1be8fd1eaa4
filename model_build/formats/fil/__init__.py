"""Tree models that people bring: XGBoost, LightGBM, scikit-learn and cuML, opened by FIL."""

from functools import partial
from pathlib import Path

from packaging.version import Version

import platform_facts
from model_build.findings import Problems
from model_build.format import Format
from model_build.formats.fil.tree_model import read_tree_model
from model_build.model_config import type_name
from model_build.repository import Model
from model_build.target import newer_release_hint

_FILES = {
    "xgboost_json": "xgboost.json",
    "xgboost_ubj": "xgboost.ubj",
    "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl",
}
"""Parameter `model_type` -> the file that FIL opens (fil_backend docs/model_config.md, "Model
Filenames"); without it, the type is xgboost (src/shared_state.h)."""

_SWITCHES = (
    *("output_class", "is_classifier", "predict_proba", "xgboost_allow_unknown_field"),
    "use_experimental_optimizations",
)
_VALUES = {
    **dict.fromkeys(_SWITCHES, ("true", "false")),
    "model_type": ("xgboost", *_FILES),
    "storage_type": ("AUTO", "DENSE", "SPARSE", "SPARSE8"),
    "algo": ("ALGO_AUTO", "NAIVE", "TREE_REORG", "BATCH_TREE_REORG"),
}
_READS = (((3, 1), Version("4.6.1")), ((1, 7), Version("4.0")))
"""XGBoost whose JSON files have new keys -> the first Treelite that knows them, the newest first.
Measured for 3.1 (3.0.5 and 3.2.0 with Treelite 4.3.0, 4.4.1, 4.5.1 and 4.6.1); fil_backend,
docs/model_support.md, for 1.7."""
_UBJSON = "24.10"
"""The first release with `model_type` xgboost_ubj (the same document)."""


def fil_settings(model: Model) -> Problems:
    """FIL takes input__0 and returns output__0, FP32 with a batch axis, with parameters it knows.

    Sources: fil_backend docs/model_config.md, and src/shared_state.h, whose parameters without a
    default must be there.
    """
    if model.config.max_batch_size < 1:
        yield (
            model.field_place("max_batch_size"),
            "FIL needs 1 or more: write 32768, for example",
        )
    for kind, name in (("input", "input__0"), ("output", "output__0")):
        for index, tensor in enumerate(getattr(model.config, kind)[:1]):
            if tensor.name != name:
                yield (
                    model.field_place(kind, index, "name"),
                    f'FIL calls its {kind} "{name}": write that',
                )
            if type_name(tensor.data_type) != "TYPE_FP32":
                yield (
                    model.field_place(kind, index, "data_type"),
                    "FIL computes in FP32: write TYPE_FP32",
                )
    parameters = model.config.parameters
    values = {name: parameter.string_value for name, parameter in parameters.items()}
    classifies = values.get("output_class", values.get("is_classifier"))
    missing = [] if classifies else [("output_class", "true")]
    if classifies == "true" and "threshold" not in values:
        missing.append(("threshold", "0.5"))
    for name, value in missing:
        yield (
            model.field_place("parameters"),
            f'FIL needs {name}: add parameters {{ key: "{name}" value {{ string_value: "{value}" '
            "} }",
        )
    for name, value in sorted(values.items()):
        if value not in _VALUES.get(name, (value,)):
            place = model.field_place("parameters", name)
            yield place, f'{name} is "{value}": write {", ".join(_VALUES[name])}'


def fil_features(model: Model, path: Path) -> Problems:
    """The number of features is the file's."""
    features = read_tree_model(path).features
    dims = [size for tensor in model.config.input[:1] for size in tensor.dims[:1]]
    if features is not None and dims and dims != [features]:
        yield (
            model.field_place("input", 0, "dims"),
            f"has {dims[0]} features, {model.relative_path(path)} has {features}: "
            f"write [ {features} ]",
        )


def fil_versions(release: platform_facts.Release, model: Model, path: Path) -> Problems:
    """An XGBoost file is none that only a newer Treelite than the release's reads.

    The FIL backend reads tree models with Treelite, and refuses others when it loads them.
    """
    kind = model.config.parameters["model_type"].string_value
    if kind == "xgboost_ubj" and release.name < _UBJSON:
        yield (
            model.field_place("parameters", "model_type"),
            f"Triton {release.name} has no xgboost_ubj: write xgboost_json, or choose Triton "
            f"{_UBJSON} or newer",
        )
    xgboost = read_tree_model(path).xgboost
    needed = next((version for since, version in _READS if xgboost and xgboost >= since), None)
    if needed and release.treelite and not _has(needed, release):
        yield (
            model.file_place(model.relative_path(path)),
            f"was written by XGBoost {'.'.join(map(str, xgboost or ()))}; Treelite "
            f"{release.treelite} of Triton {release.name} does not read it: save it with an older "
            "XGBoost (3.0 for 24.03 to 25.09, 1.6 before)"
            + newer_release_hint(partial(_has, needed)),
        )


def _has(treelite: Version, release: platform_facts.Release) -> bool:
    return release.treelite is not None and Version(release.treelite) >= treelite


FORMAT = Format(
    backend="fil",
    file="xgboost.model",
    other_files=_FILES,
    config_rules=(fil_settings,),
    file_rules=(fil_features,),
    release_rules=(fil_versions,),
)
