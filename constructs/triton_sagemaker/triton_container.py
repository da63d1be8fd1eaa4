"""The Triton container of a variant."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from aws_cdk import aws_ecr as ecr

from platform_facts import Release
from platform_facts.rules import names
from triton_sagemaker.problems import Problem, check, reject_plain_values
from triton_sagemaker.server_options import ServerOptions

Variables = dict[str, str]


@dataclass(frozen=True)
class ContainerImage:
    """An image in ECR.

    Without `repository_arn`, `uri` has account and region in plain text, without tokens of the CDK.
    """

    uri: str
    repository_arn: str = ""

    @classmethod
    def from_ecr_repository(cls, repository: ecr.IRepository, digest: str) -> Self:
        """Return an image by its digest, `sha256:...`.

        In a repository of another account, whose policy the app cannot change, the policy must
        allow the endpoint's execution role to pull.
        """
        return cls(repository.repository_uri_for_digest(digest), repository.repository_arn)


@dataclass(frozen=True, kw_only=True)
class TritonContainer:
    """A SageMaker Triton image with the environment of its server.

    AWS's image of `release` follows from the region of the stack and the instance type. `image`
    replaces it: an image for x86-64 with the Triton of `release` and SageMaker's `serve`. With
    GPUs, multi-model endpoints need AWS's image. `environment` has additional variables, which may
    not be those of `options`.
    """

    release: Release
    image: ContainerImage | None = None
    options: ServerOptions = field(default_factory=ServerOptions)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reject_plain_values(release=self.release, image=self.image)

    def all_environment(self, of_hosting: Mapping[str, str], *, multi_model: bool) -> Variables:
        """Return all environment variables of the container, with those of the hosting mode."""
        options = self.options.environment(multi_model=multi_model)
        return {**options, **of_hosting, **self.environment}

    def problems(self, of_hosting: Mapping[str, str], *, multi_model: bool) -> Iterator[Problem]:
        """Yield the settings that SageMaker or Triton would reject."""
        yield from self.options.problems(self.release)
        managed = self.options.environment(multi_model=multi_model).keys() | of_hosting.keys()
        for name in sorted(managed & self.environment.keys()):
            yield Problem(
                "container.environment",
                f"{name} is set by ServerOptions or the hosting: set it there",
            )
        for name in self.environment:
            yield from check(names.check_variable_name.at("environment", name), name)
        environment = self.all_environment(of_hosting, multi_model=multi_model)
        for name, value in environment.items():
            for text in (name, value):
                yield from check(names.check_variable_text.at("environment", name), text)
        yield from check(names.check_environment_size, environment)
