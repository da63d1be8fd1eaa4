"""Capture of an endpoint's requests and responses."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts.rules import monitoring, ranges
from triton_sagemaker.problems import Problem, check, reject_plain_values


@dataclass(frozen=True, kw_only=True)
class DataCapture:
    """Capture of `percent` of requests and responses, below `prefix` of `bucket`.

    Records are encrypted with the bucket's key, if it has one.
    """

    bucket: s3.IBucket
    prefix: str
    percent: int = 100
    requests: bool = True
    responses: bool = True

    def __post_init__(self) -> None:
        reject_plain_values(bucket=self.bucket)

    def config_property(self) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty:
        """Return the DataCaptureConfig of the EndpointConfig."""
        key = self.bucket.encryption_key
        return sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
            capture_options=[
                sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=mode)
                for mode, is_captured in (("Input", self.requests), ("Output", self.responses))
                if is_captured
            ],
            destination_s3_uri=self.bucket.s3_url_for_object(self.prefix.strip("/")),
            enable_capture=True,
            initial_sampling_percentage=self.percent,
            kms_key_id=key.key_arn if key else None,
        )

    def problems(self) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        yield from check(ranges.CAPTURED_PERCENT, self.percent)
        yield from check(monitoring.check_captured_content, self.requests, self.responses)
