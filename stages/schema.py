"""The schema of a stage's YAML file, with everything that can be checked in it alone.

Checks that need only the facts about AWS and Triton are here, so that an error stands at the line
that causes it. What the constructs can see of themselves they check again for their other users.
"""

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

import platform_facts


def _known(lookup: Callable[[str], object]) -> AfterValidator:
    """Return a validator that asks the facts, whose errors name what there is."""

    def check(name: str) -> str:
        try:
            lookup(name)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return name

    return AfterValidator(check)


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}[a-z0-9]$")]
ReleaseName = Annotated[str, _known(platform_facts.release)]
RegionName = Annotated[str, _known(platform_facts.region)]
InstanceTypeName = Annotated[str, _known(platform_facts.instance_type)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EndpointStage(_Strict):
    """One endpoint of a stage."""

    models: Annotated[list[Name], Field(min_length=1)]
    """Folders in models/ that the endpoint serves, each as an archive of its own."""
    instance_type: InstanceTypeName
    """SageMaker hosting instance type. A GPU type makes models build for that GPU."""
    instance_count: Annotated[int, Field(ge=1)] = 1
    """Instances that the endpoint starts with."""

    @field_validator("models")
    @classmethod
    def _models_once(cls, models: list[str]) -> list[str]:
        twice = sorted({name for name in models if models.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} stands twice: keep one")
        return models

    @field_validator("instance_type")
    @classmethod
    def _serves_many_models(cls, name: str) -> str:
        instance = platform_facts.instance_type(name)
        if instance.multi_model is platform_facts.Support.NO:
            fit = [
                other.name
                for other in platform_facts.instance_types()
                if other.gpu == instance.gpu and other.multi_model is platform_facts.Support.YES
            ]
            raise ValueError(
                f"{name} cannot host a GPU multi-model endpoint, which takes one GPU: write "
                f"{', '.join(fit) or 'a single-GPU type such as ml.g5.xlarge'}"
            )
        return name


class Stage(_Strict):
    """One environment: an AWS account and region with the endpoints in it."""

    account: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """AWS account id. Left out: the account of whoever deploys."""
    region: RegionName
    """AWS region."""
    release: ReleaseName
    """Triton container release of the SageMaker image, for example 25.09."""
    production: bool = False
    """Production endpoints start with at least two instances, in two availability zones."""
    endpoints: Annotated[dict[Name, EndpointStage], Field(min_length=1)]
    """The endpoints, by their short names: `text` of stage `prod` is the endpoint `prod-text`."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        release = platform_facts.release(self.release)
        platform_facts.image_uri(
            release=release,
            region=platform_facts.region(self.region),
            processor=platform_facts.Processor.GPU,
        )
        wrong = [line for name, it in self.endpoints.items() for line in self._wrong(name, it)]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _wrong(self, name: str, endpoint: EndpointStage) -> list[str]:
        wrong = []
        release = platform_facts.release(self.release)
        gpu = platform_facts.instance_type(endpoint.instance_type).gpu
        if gpu and release.runs_on(gpu.compute_capability) is False:
            wrong.append(
                f"endpoints.{name}: {endpoint.instance_type} has a {gpu.name} of compute "
                f"capability {gpu.compute_capability}, release {self.release} needs "
                f"{release.minimum_compute_capability} or more: write another instance_type or an "
                "older release"
            )
        if self.production and endpoint.instance_count < 2:
            wrong.append(
                f"endpoints.{name}: a production endpoint needs instance_count 2 or more, so that "
                "it survives the loss of an availability zone"
            )
        return wrong
