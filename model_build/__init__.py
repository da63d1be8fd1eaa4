"""Recipe -> Triton model repository -> checked -> archive -> bucket."""

from model_build.digest import digest_of
from model_build.errors import BuildError, GateFailed, RepositoryInvalid
from model_build.plan import ModelPlan, plan_model
from model_build.target import BuildTarget
from model_build.torch_model import TorchModel

__all__ = [
    "BuildError",
    "BuildTarget",
    "GateFailed",
    "ModelPlan",
    "RepositoryInvalid",
    "TorchModel",
    "digest_of",
    "plan_model",
]
