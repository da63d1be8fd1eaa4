"""A deployed endpoint to load-test, and its cost."""

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

AWS_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn")
"""Domains of AWS's hosts, also of interface endpoints."""


@dataclass(frozen=True, kw_only=True)
class DeployedEndpoint:
    """An endpoint of a stage; `instances` maps instance types to counts.

    `name` consists of stage and endpoint, like its stack's name; an endpoint of inference
    components has a longer name in SageMaker. `variants` are the names of variants with a model;
    inference components have none, because metrics of their requests have no variant. With
    `is_local`, the local SageMaker serves the endpoint.
    """

    name: str
    stage: str
    config: StageConfig
    instances: dict[str, int]
    variants: tuple[str, ...]
    is_local: bool

    @classmethod
    def read(cls, name: str, folder: Path) -> Self:
        """Return the endpoint `name`, from SageMaker and the file of its stage in `folder`.

        Raise `CommandError`.
        """
        stage = names.stage_of(name, stage_names(folder))
        if stage is None:
            stages = ", ".join(stage_names(folder))
            raise CommandError(
                f"endpoint {name} does not begin with the name of a stage: stages are {stages}"
            )
        config = load_stage(stage, folder)
        sagemaker: Any = boto3.client("sagemaker", config.region)
        endpoint_name = endpoint_names(stage, config).get(name.removeprefix(f"{stage}-"), name)
        endpoint = sagemaker.describe_endpoint(EndpointName=endpoint_name)
        endpoint_config = sagemaker.describe_endpoint_config(
            EndpointConfigName=endpoint["EndpointConfigName"]
        )
        types = {
            variant["VariantName"]: variant.get("InstanceType")
            for variant in endpoint_config["ProductionVariants"]
        }
        instances: Counter[str] = Counter()
        for variant in endpoint["ProductionVariants"]:
            single_type = {**variant, "InstanceType": types[variant["VariantName"]]}
            for pool in variant.get("InstancePools") or [single_type]:
                instances[pool["InstanceType"]] += pool["CurrentInstanceCount"]
        host = urlsplit(sagemaker.meta.endpoint_url).hostname or ""
        return cls(
            name=name,
            stage=stage,
            config=config,
            instances=dict(instances),
            variants=tuple(
                variant["VariantName"]
                for variant in endpoint_config["ProductionVariants"]
                if "ModelName" in variant
            ),
            is_local=not host.endswith(AWS_DOMAINS),
        )

    @property
    def short_name(self) -> str:
        """The endpoint's name in the stage's file."""
        return self.name.removeprefix(f"{self.stage}-")

    def client(self, *, max_attempts: int = 5, wait_until_ready: float = 0) -> EndpointClient:
        """Return a client that reads the catalog only once."""
        return EndpointClient(
            stage=self.stage,
            endpoint=self.short_name,
            catalog_ttl=24 * 3600,
            max_attempts=max_attempts,
            wait_until_ready=wait_until_ready,
            session=boto3.Session(region_name=self.config.region),
        )

    @property
    def description(self) -> str:
        """The endpoint's instances and their cost per hour."""
        counts = " and ".join(f"{count} x {name}" for name, count in self.instances.items())
        if self.is_local:
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
        """The period of the metrics: a minute on AWS, shorter in the local SageMaker."""
        return 5 if self.is_local else 60

    @property
    def is_production(self) -> bool:
        """Whether the endpoint is in a production stage on AWS."""
        return self.config.production and not self.is_local


def is_load_allowed(endpoints: Sequence[DeployedEndpoint], *, yes: bool) -> bool:
    """Return whether no endpoint is production, or the user confirms, also by `--yes`."""
    production = [endpoint.name for endpoint in endpoints if endpoint.is_production]
    if yes or not production:
        return True
    question = f"Load production ({', '.join(production)})? Its clients become slower. [y/N] "
    return sys.stdin.isatty() and input(question).strip().lower() in ("y", "yes")
