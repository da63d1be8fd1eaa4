"""Tree models have the tensors and parameters of the FIL backend."""

from collections.abc import Iterator

from model_build.checks.model_files.tree_model import read_tree_model
from model_build.findings import Place
from model_build.model_config import FIL_FILES, type_name
from model_build.repository import Model, Repository

_SWITCH = ("true", "false")
_VALUES = {
    "model_type": ("xgboost", *FIL_FILES),
    "output_class": _SWITCH,
    "is_classifier": _SWITCH,
    "predict_proba": _SWITCH,
    "xgboost_allow_unknown_field": _SWITCH,
    "use_experimental_optimizations": _SWITCH,
    "storage_type": ("AUTO", "DENSE", "SPARSE", "SPARSE8"),
    "algo": ("ALGO_AUTO", "NAIVE", "TREE_REORG", "BATCH_TREE_REORG"),
}


def fil_settings(repository: Repository) -> Iterator[tuple[Place, str]]:
    """FIL takes input__0 and returns output__0, FP32 with a batch axis, with parameters it knows.

    The number of features is the file's. Sources: fil_backend docs/model_config.md, and
    src/shared_state.h, whose parameters without a default must be there.
    """
    for model in repository.models.values():
        if model.backend == "fil":
            yield from _findings(model)
    for model, path in repository.model_files("fil"):
        features = read_tree_model(path).features
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
    parameters = model.config.parameters
    values = {name: parameter.string_value for name, parameter in parameters.items()}
    classifies = values.get("output_class", values.get("is_classifier"))
    missing = [] if classifies else [("output_class", "true")]
    if classifies == "true" and "threshold" not in values:
        missing.append(("threshold", "0.5"))
    for name, value in missing:
        yield (
            model.at("parameters"),
            f'FIL needs {name}: add parameters {{ key: "{name}" value {{ string_value: "{value}" '
            "} }",
        )
    for name, value in sorted(values.items()):
        allowed = _VALUES.get(name, (value,))
        if value not in allowed:
            yield (
                model.at("parameters", name),
                f'{name} is "{value}": write {", ".join(allowed)}',
            )
