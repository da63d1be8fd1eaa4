"""The persistent stack of a stage's captured requests and responses."""

from aws_cdk import Duration, Environment, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from stages import StageConfig
from triton_sagemaker import CaptureBucket


class CaptureStack(Stack):
    """The bucket for data capture; the prefix of an endpoint is its short name.

    The app has this stack only while an endpoint uses data capture. After that, the deployed stack
    is not changed or deleted: the captured data and the exports stay.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: StageConfig,
        key: kms.IKey | None = None,
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        self.bucket = CaptureBucket(
            self,
            "Captured",
            encryption_key=key,
            retention={f"{name}/": Duration.days(days) for name, days in stage.captures.items()},
        )
