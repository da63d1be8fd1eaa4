"""The builder: from a model folder to a checked archive in the model bucket."""

from model_build.digest import digest_of
from model_build.errors import BuildError, GateFailed, ModelNotFound
from model_build.export.torch_model import TorchModel
from model_build.findings import Finding, Place, RepositoryInvalid
from model_build.plan import ModelPlan, plan_model
from model_build.source import ModelSource, all_models
from model_build.source import find as find_model
from model_build.target import PYTHON_VARIABLE, BuildTarget

__all__ = [
    "PYTHON_VARIABLE",
    "BuildError",
    "BuildTarget",
    "Finding",
    "GateFailed",
    "ModelNotFound",
    "ModelPlan",
    "ModelSource",
    "Place",
    "RepositoryInvalid",
    "TorchModel",
    "all_models",
    "digest_of",
    "find_model",
    "plan_model",
]
