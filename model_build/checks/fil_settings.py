"""Tree models have the tensors and parameters of the FIL backend."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from model_build.findings import Place
from model_build.model_config import FIL_FILES, type_name
from model_build.repository import Model, Repository

_SWITCH = ("true", "false")
_VALUES = {
    "model_type": ("xgboost", *FIL_FILES),
    "output_class": _SWITCH,
    "predict_proba": _SWITCH,
    "xgboost_allow_unknown_field": _SWITCH,
    "use_experimental_optimizations": _SWITCH,
    "storage_type": ("AUTO", "DENSE", "SPARSE", "SPARSE8"),
    "algo": ("ALGO_AUTO", "NAIVE", "TREE_REORG", "BATCH_TREE_REORG"),
}


def fil_settings(repository: Repository) -> Iterator[tuple[Place, str]]:
    """FIL takes input__0 and returns output__0, FP32 with a batch axis, with parameters it knows.

    The number of features is the file's. Sources: fil_backend docs/model_config.md; XGBoost,
    "Introduction to Model IO" (JSON schema: learner.learner_model_param.num_feature); LightGBM
    src/boosting/gbdt_model_text.cpp (max_feature_idx).
    """
    for model in repository.models.values():
        if model.backend == "fil":
            yield from _findings(model)
    for model, path in repository.model_files("fil"):
        features = _features(path)
        dims = [size for tensor in model.config.input[:1] for size in tensor.dims[:1]]
        if features is not None and dims and dims != [features]:
            yield (
                model.at("input", 0, "dims"),
                f"has {dims[0]} features, {model.inner(path)} has {features}: write [ {features} ]",
            )


def _findings(model: Model) -> Iterator[tuple[Place, str]]:
    if model.config.max_batch_size < 1:
        yield model.at("max_batch_size"), "FIL runs batches: write 1 or more, such as 32768"
    for kind, name in (("input", "input__0"), ("output", "output__0")):
        for index, tensor in enumerate(getattr(model.config, kind)[:1]):
            if tensor.name != name:
                yield model.at(kind, index, "name"), f'FIL calls its {kind} "{name}": write that'
            if type_name(tensor.data_type) != "TYPE_FP32":
                yield model.at(kind, index, "data_type"), "FIL computes in FP32: write TYPE_FP32"
    for name, parameter in sorted(model.config.parameters.items()):
        allowed = _VALUES.get(name, (parameter.string_value,))
        if parameter.string_value not in allowed:
            yield (
                model.at("parameters", name),
                f'{name} is "{parameter.string_value}": write {", ".join(allowed)}',
            )


def _features(path: Path) -> int | None:
    """Return how many features a model file takes; None for a format that does not say."""
    if path.suffix == ".txt":
        match = re.search(r"^max_feature_idx=(\d+)$", path.read_text(errors="replace"), re.M)
        return int(match[1]) + 1 if match else None
    if path.suffix != ".json":
        return None
    try:
        learner = json.loads(path.read_bytes())["learner"]
        return int(learner["learner_model_param"]["num_feature"])
    except (ValueError, LookupError, TypeError):
        return None
