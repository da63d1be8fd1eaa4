"""The schema of a stage's YAML file, with everything that can be checked in it alone.

Checks that need only the facts about AWS and Triton are here, so that an error stands at the line
that causes it. What the constructs can see of themselves they check again for their other users.
"""

from stages.schema.alarms import AlarmsStage, NotifyStage
from stages.schema.capture import DataCaptureStage
from stages.schema.delivery import DeliveryStage
from stages.schema.endpoint import EndpointStage, VariantStage
from stages.schema.names import STACKS
from stages.schema.scaling import ScalingStage, ScheduleStage
from stages.schema.server import ServerStage
from stages.schema.stage import Stage
from stages.schema.update import UpdateStage

__all__ = [
    "STACKS",
    "AlarmsStage",
    "DataCaptureStage",
    "DeliveryStage",
    "EndpointStage",
    "NotifyStage",
    "ScalingStage",
    "ScheduleStage",
    "ServerStage",
    "Stage",
    "UpdateStage",
    "VariantStage",
]
