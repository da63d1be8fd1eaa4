"""The persistent stack of a stage's catalog."""

from aws_cdk import Environment, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker import CatalogTable


class CatalogStack(Stack):
    """The table, which clients, `publish` and deliveries read and write by its name."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage_name: str,
        key: kms.IKey | None = None,
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        CatalogTable(self, "Catalog", stage=stage_name, encryption_key=key)
