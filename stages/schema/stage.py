"""A whole stage."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from stages.schema.alarms import NotifyConfig
from stages.schema.checks import stage_problems
from stages.schema.delivery import DeliveryConfig
from stages.schema.endpoint import EndpointConfig
from stages.schema.names import AccountId, EcrImage, EndpointName, RegionName, ReleaseName
from stages.schema.part import Part, refuse
from stages.schema.tags import Tags

RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
]  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy: retentionInDays."""


def _no_truth(value: object) -> object:
    """Return what is not true or false, which Python takes for the numbers 1 and 0."""
    if value is True or value is False:
        raise ValueError("write a number of days")
    return value


class StageConfig(Part):
    """One environment: an AWS account and region with the endpoints in it."""

    account: AccountId | None = None
    """AWS account id. Left out: the account of whoever deploys."""
    region: RegionName
    """AWS region."""
    release: ReleaseName
    """Triton container release of the SageMaker image, for example 25.09."""
    production: bool = False
    """Production endpoints start with at least two instances, in two availability zones, and have
    alarms that somebody hears."""
    notify: NotifyConfig = NotifyConfig()
    """Who hears the alarms: production stages name somebody, others have no alarms."""
    private_network: bool = False
    """Put the instances into a VPC of the stage's own that reaches S3 and nothing else."""
    zones: Annotated[list[str], Field(min_length=2, max_length=6)] | None = None
    """Availability zones of the private network, each with the endpoints' instance types. Left out:
    CloudFormation chooses two."""
    delivery: DeliveryConfig | None = None
    """Roles for GitHub's workflows. Left out: people deploy, with credentials of their own."""
    gpu_build_images: dict[ReleaseName, EcrImage] = {}
    """Copies of NVIDIA's TensorRT images in ECR, by release: GPU builds pull those instead."""
    log_retention_days: Annotated[RetentionDays, BeforeValidator(_no_truth)] = 90
    """Days that the logs of the endpoints are kept."""
    tags: Tags = {}
    """Tags of every resource, and of the stacks: key -> value."""
    max_monthly_usd: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """USD a month that all instances may cost at their most, on demand: a review finds a change
    that crosses it. It stops nothing that runs."""
    endpoints: Annotated[dict[EndpointName, EndpointConfig], Field(min_length=1)]
    """The endpoints, by their short names: `text` of stage `prod` is the endpoint `prod-text`."""

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        refuse(stage_problems(self))
        return self

    @property
    def captures(self) -> dict[str, int]:
        """The endpoints that record requests, and for how many days."""
        return {
            name: endpoint.data_capture.keep_days
            for name, endpoint in self.endpoints.items()
            if endpoint.data_capture
        }
