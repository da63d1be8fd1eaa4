"""The schema of a stage's YAML file, with everything that can be checked in it alone.

Checks that need only the facts about AWS and Triton are here, so that an error stands at the line
that causes it. What the constructs can see of themselves they check again for their other users.
"""

from stages.schema.alarms import AlarmsConfig, NotifyConfig
from stages.schema.capture import DataCaptureConfig
from stages.schema.delivery import DeliveryConfig
from stages.schema.endpoint import EndpointConfig, VariantConfig
from stages.schema.names import STACKS
from stages.schema.scaling import ScalingConfig, ScheduleConfig
from stages.schema.server import ServerConfig
from stages.schema.stage import StageConfig
from stages.schema.update import UpdateConfig

__all__ = [
    "STACKS",
    "AlarmsConfig",
    "DataCaptureConfig",
    "DeliveryConfig",
    "EndpointConfig",
    "NotifyConfig",
    "ScalingConfig",
    "ScheduleConfig",
    "ServerConfig",
    "StageConfig",
    "UpdateConfig",
    "VariantConfig",
]
