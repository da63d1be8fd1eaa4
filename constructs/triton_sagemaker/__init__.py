"""AWS CDK constructs for NVIDIA Triton on Amazon SageMaker."""

from triton_sagemaker.built_model import BuiltModel
from triton_sagemaker.endpoint_role import EndpointRole
from triton_sagemaker.model_bucket import ModelBucket
from triton_sagemaker.model_builder import BuildEnvironment, ModelBuilder
from triton_sagemaker.model_catalog import CatalogEntry, ModelCatalog
from triton_sagemaker.triton_container import ServerOptions, TritonContainer
from triton_sagemaker.triton_endpoint import Instances, MultiModelHosting, TritonEndpoint

__all__ = [
    "BuildEnvironment",
    "BuiltModel",
    "CatalogEntry",
    "EndpointRole",
    "Instances",
    "ModelBucket",
    "ModelBuilder",
    "ModelCatalog",
    "MultiModelHosting",
    "ServerOptions",
    "TritonContainer",
    "TritonEndpoint",
]
