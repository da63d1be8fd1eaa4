"""What is deployed together."""

from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack

__all__ = ["EndpointStack", "ModelStack"]
