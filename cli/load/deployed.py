"""The deployed endpoint to load, and its cost."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import boto3

import platform_facts
from cli import names
from cli.errors import CommandError
from endpoint_client import EndpointClient
from stages import StageConfig, load_stage, stage_names
from stages.shared_names import endpoint_names

AWS = (".amazonaws.com", ".amazonaws.com.cn")
"""How the names of AWS's own hosts end, those of interface endpoints too."""


@dataclass(frozen=True, kw_only=True)
class DeployedEndpoint:
    """An endpoint of a stage; `instances` counts them by instance type, `variants` are names.

    `name` is of stage and endpoint, as its stack's: SageMaker's is another where it hosts inference
    components. Those have no variants here: no metric of their requests has one. `is_laptop` says
    that the local SageMaker serves it, whatever its instance type is called.
    """

    name: str
    stage: str
    config: StageConfig
    instances: dict[str, int]
    variants: tuple[str, ...]
    is_laptop: bool

    @classmethod
    def read(cls, name: str, folder: Path) -> Self:
        """Read the endpoint that is `name` with its stage, and the stage's file.

        Raises `CommandError`.
        """
        stage = names.stage_of(name, stage_names(folder))
        if stage is None:
            known = ", ".join(stage_names(folder))
            raise CommandError(
                f"endpoint {name} does not begin with the name of a stage: stages are {known}"
            )
        config = load_stage(stage, folder)
        sagemaker: Any = boto3.client("sagemaker", config.region)
        endpoint_name = endpoint_names(stage, config).get(name.removeprefix(f"{stage}-"), name)
        endpoint = sagemaker.describe_endpoint(EndpointName=endpoint_name)
        configured = sagemaker.describe_endpoint_config(
            EndpointConfigName=endpoint["EndpointConfigName"]
        )
        types = {
            variant["VariantName"]: variant.get("InstanceType")
            for variant in configured["ProductionVariants"]
        }
        instances: Counter[str] = Counter()
        for variant in endpoint["ProductionVariants"]:
            one_pool = {**variant, "InstanceType": types[variant["VariantName"]]}
            for pool in variant.get("InstancePools") or [one_pool]:
                instances[pool["InstanceType"]] += pool["CurrentInstanceCount"]
        host = urlsplit(sagemaker.meta.endpoint_url).hostname or ""
        return cls(
            name=name,
            stage=stage,
            config=config,
            instances=dict(instances),
            variants=tuple(
                variant["VariantName"]
                for variant in configured["ProductionVariants"]
                if "ModelName" in variant
            ),
            is_laptop=not host.endswith(AWS),
        )

    @property
    def short_name(self) -> str:
        """Its name in the stage's file."""
        return self.name.removeprefix(f"{self.stage}-")

    def client(self, *, max_attempts: int = 5, wait_until_ready: float = 0) -> EndpointClient:
        """Return a client whose catalog entries last for a whole load."""
        return EndpointClient(
            stage=self.stage,
            endpoint=self.short_name,
            catalog_ttl=24 * 3600,
            max_attempts=max_attempts,
            wait_until_ready=wait_until_ready,
            session=boto3.Session(region_name=self.config.region),
        )

    @property
    def described(self) -> str:
        """Its instances, and USD an hour by the table of prices."""
        counts = " and ".join(f"{count} x {name}" for name, count in self.instances.items())
        if self.is_laptop:
            return f"{self.name}: {counts}, on this machine: no cost"
        prices = platform_facts.prices()
        region, usd = self.config.region, 0.0
        for name, count in self.instances.items():
            price = prices.of(region, name)
            if price is None:
                return f"{self.name}: {counts}, no price of {name} in {region} is known"
            usd += price * count
        return f"{self.name}: {counts}, {usd:.2f} USD an hour by prices of {prices.date}"

    @property
    def metric_seconds(self) -> int:
        """The period of its metrics: a minute on AWS, of which the laptop's pass in a second."""
        return 5 if self.is_laptop else 60

    @property
    def publishes_triton_metrics(self) -> bool:
        """Whether CloudWatch may have Triton's own metrics."""
        own = self.config.endpoints.get(self.short_name)
        return bool(own and own.publish_metrics) and not self.is_laptop

    @property
    def is_production(self) -> bool:
        """Whether people depend on it."""
        return self.config.production and not self.is_laptop


def may_be_loaded(endpoints: Sequence[DeployedEndpoint], *, yes: bool) -> bool:
    """Return whether no endpoint is production, or the user confirmed, now or by `--yes`."""
    production = [endpoint.name for endpoint in endpoints if endpoint.is_production]
    if yes or not production:
        return True
    question = f"{', '.join(production)}: production. Load slows its callers down. Go on? [y/N] "
    return sys.stdin.isatty() and input(question).strip().lower() in ("y", "yes")
