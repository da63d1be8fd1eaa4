"""The catalog, in which clients look up the current archive of each model."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from platform_facts.rules.catalog import (
    ModelEntry,
    catalog_path,
    check_catalog_entry,
    entry_name,
)


class ModelCatalog(Construct):
    """SSM parameters `/triton/<stage>/<endpoint>/<model>`, one for each model.

    Clients look up the current archive of a model there, so that a new version, or a rollback to an
    old one, changes one parameter. `is_checked`: the caller has checked the length of the entries.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: str,
        endpoint: str,
        is_checked: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._is_checked = is_checked
        self.prefix = catalog_path(stage, endpoint)
        self._stage, self._endpoint = stage, endpoint

    def publish(self, entry: ModelEntry, *, after: Sequence[Construct]) -> ssm.StringParameter:
        """Write the entry of a model, after everything in `after` is deployed.

        Raise `ValueError` if the entry is too long for a parameter.
        """
        if not isinstance(entry, ModelEntry):
            raise TypeError(
                f"entry: {entry!r} is of type {type(entry).__name__}: write ModelEntry(model=, "
                "version=, endpoint=, target_model=, signature=)"
            )
        model, value = entry.model, entry.as_json()
        for problem in () if self._is_checked else check_catalog_entry(model, value):
            raise ValueError(problem.message)
        parameter = ssm.StringParameter(
            self,
            model,
            description=f"Current archive of {model}",
            parameter_name=entry_name(self._stage, self._endpoint, model),
            string_value=value,
        )
        parameter.node.add_dependency(*after)
        return parameter

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` to look up and list the models of this catalog."""
        arn = Stack.of(self).format_arn(
            service="ssm", resource="parameter", resource_name=self.prefix.lstrip("/")
        )
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:GetParameter", "ssm:GetParametersByPath"],
            resource_arns=[arn, f"{arn}/*"],
        )
