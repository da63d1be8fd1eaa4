"""The builder: from a model folder to a checked archive in the model bucket."""

from model_build.checked_model import CheckedModel, check_model, metrics_warnings
from model_build.digest import compute_digest
from model_build.errors import BuildError, GateFailed, ModelNotFound
from model_build.export.torch_model import TorchModel
from model_build.findings import Finding, Location, RepositoryInvalid
from model_build.source import ModelFolder, Models, ModelSource, all_models, find_model
from model_build.target import PYTHON_VARIABLE, BuildTarget

__all__ = [
    "PYTHON_VARIABLE",
    "BuildError",
    "BuildTarget",
    "CheckedModel",
    "Finding",
    "GateFailed",
    "Location",
    "ModelFolder",
    "ModelNotFound",
    "ModelSource",
    "Models",
    "RepositoryInvalid",
    "TorchModel",
    "all_models",
    "check_model",
    "compute_digest",
    "find_model",
    "metrics_warnings",
]
