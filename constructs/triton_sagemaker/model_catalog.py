"""The catalog, in which clients look up the current archive of each model."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import CustomResource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from platform_facts.rules.catalog import INDEX, ModelEntry, check_catalog_entry, table_name
from triton_sagemaker.allow import StackArns
from triton_sagemaker.catalog_writer import CatalogWriter
from triton_sagemaker.endpoint_base import checked_models
from triton_sagemaker.list_asset import ListAsset
from triton_sagemaker.problems import reject_plain_values


class ModelCatalog(Construct):
    """The entries of one endpoint in the catalog of a stage: see `CatalogTable`.

    Clients look up the current archive of a model there, so that a new version, or a rollback to an
    old one, changes one item. `entries` are those of all models, None in an app that only reads the
    catalog. `encryption_key` is the key of the table, if it has one of its own. `is_checked`: the
    caller has checked the length of the entries; otherwise an entry that is too long for an item
    raises `ValueError`. With `archives`, all locations BUCKET/PREFIX/ from which the endpoint
    loads, a model without an archive below each keeps its earlier entry; a new one gets none.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: str,
        endpoint: str,
        entries: Sequence[ModelEntry] | None = None,
        encryption_key: kms.IKey | None = None,
        archives: Sequence[str] = (),
        is_checked: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        reject_plain_values(encryption_key=encryption_key)
        self._table, self._endpoint, self._key = table_name(stage), endpoint, encryption_key
        self.name = f"{self._table}/{endpoint}"
        self._archives = list(archives)
        self._entries: ListAsset | None = None
        if entries is not None:
            self._entries = ListAsset(self, "List", _texts(entries, is_checked=is_checked))

    @property
    def entries(self) -> ListAsset:
        """The list of the entries of all models. Raise `ValueError` if they were not given."""
        if self._entries is None:
            raise ValueError(f"{self.node.path}: entries: write those of all models")
        return self._entries

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of a custom resource that tell it the entries."""
        archives = {"Archives": self._archives} if self._archives else {}
        return {**self.entries.properties, **archives}

    def publish(self, *, writer: CatalogWriter, after: Sequence[Construct]) -> CustomResource:
        """Write the entries of all models, after everything in `after` is deployed."""
        writer.allow_list(self.entries)
        properties = {"Endpoint": self._endpoint, **self.properties}
        resource = writer.write(self, "Items", properties)
        resource.node.add_dependency(*after)
        return resource

    def grant_read(
        self, grantee: iam.IGrantable, *, models: Sequence[str] | None = None
    ) -> iam.Grant:
        """Allow `grantee` to look up and list the models of this catalog.

        `models` restricts the permission to look-ups of these models, with the condition key
        `dynamodb:LeadingKeys`; a list of models would have the entries of all.
        """
        names = checked_models(models) or ["*"]
        keys = [f"{self._endpoint}#{name}" for name in names]
        table = StackArns(self).arn("dynamodb", f"table/{self._table}")
        if self._key:
            self._key.grant_decrypt(grantee)
        grant = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["dynamodb:GetItem"],
            resource_arns=[table],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": keys}},
        )
        if models:
            return grant
        return grant.combine(
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["dynamodb:Query"],
                resource_arns=[f"{table}/index/{INDEX}"],
                conditions={
                    "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [self._endpoint]}
                },
            )
        )


def _texts(entries: Sequence[ModelEntry], *, is_checked: bool) -> list[str]:
    """Return the JSON texts of entries. Raise `TypeError` and `ValueError`."""
    texts = {}
    for entry in entries:
        if not isinstance(entry, ModelEntry):
            raise TypeError(
                f"entries: {entry!r} is of type {type(entry).__name__}: write "
                "ModelEntry(model=, version=, endpoint=, target_model=, signature=)"
            )
        texts[entry.model] = text = entry.as_json()
        for problem in () if is_checked else check_catalog_entry(entry.model, text):
            raise ValueError(problem.message)
    return [*texts.values()]
