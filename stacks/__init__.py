"""What is deployed together."""

from stacks.capture_stack import CaptureStack
from stacks.delivery_stack import DeliveryStack
from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack
from stacks.network_stack import NetworkStack
from stacks.stage_stacks import USER_ERRORS, add_stacks, synthesise
from stacks.template_limits import check_templates, take_limits_over
from stacks.time_budget import TimeBudget

__all__ = [
    "USER_ERRORS",
    "CaptureStack",
    "DeliveryStack",
    "EndpointStack",
    "ModelStack",
    "NetworkStack",
    "TimeBudget",
    "add_stacks",
    "check_templates",
    "synthesise",
    "take_limits_over",
]
