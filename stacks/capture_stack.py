"""The persistent stack of a stage's recorded requests."""

from aws_cdk import Duration, Environment, Stack
from constructs import Construct

from stages import StageConfig
from triton_sagemaker import CaptureBucket


class CaptureStack(Stack):
    """The bucket of the stage's endpoints that record requests, each below its short name.

    A stack of its own, which is in the app while some endpoint records: when none does any more,
    it stays as it is, with what was recorded and with the exports that endpoints were given.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, stage: StageConfig, env: Environment
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        self.bucket = CaptureBucket(
            self,
            "Captured",
            keep={f"{name}/": Duration.days(each) for name, each in stage.captures.items()},
        )
