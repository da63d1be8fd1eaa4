"""The Triton container of a variant."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from platform_facts import Release
from platform_facts.rules import names
from triton_sagemaker.hosting_mode import HostingMode
from triton_sagemaker.problems import Problem, as_problems, reject_plain_values
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class TritonContainer:
    """A SageMaker Triton image with the environment of its server.

    The image of `release` follows from the region of the stack and the instance type. `environment`
    has additional variables, which may not be those of `options`.
    """

    release: Release
    options: ServerOptions = field(default_factory=ServerOptions)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reject_plain_values(release=self.release)

    def all_environment(self, hosting: HostingMode) -> dict[str, str]:
        """Return all environment variables of the container."""
        return {**self._managed_environment(hosting), **self.environment}

    def _managed_environment(self, hosting: HostingMode) -> dict[str, str]:
        return {**self.options.environment(hosting.default_ping_mode), **hosting.environment}

    def problems(self, hosting: HostingMode) -> Iterator[Problem]:
        """Yield the settings that SageMaker or Triton would reject."""
        yield from self.options.problems(self.release)
        for name in sorted(self._managed_environment(hosting).keys() & self.environment.keys()):
            yield Problem(
                "container.environment",
                f"{name} is set by ServerOptions or the hosting: set it there",
            )
        for name in self.environment:
            check_name = names.check_variable_name.at("environment", name)
            yield from as_problems(check_name(name), name)
        environment = self.all_environment(hosting)
        for name, value in environment.items():
            for text in (name, value):
                rule = names.check_variable_text.at("environment", name)
                yield from as_problems(rule(text), text)
        yield from as_problems(names.check_environment_size(environment), *environment.values())
