"""The catalog, in which clients look up the current archive of each model."""

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from platform_facts.rules.catalog import check_catalog_entry


class ModelCatalog(Construct):
    """SSM parameters `/triton/<stage>/<endpoint>/<model>`, one for each model.

    Clients look up the current archive of a model there, so that a new version, or a rollback to an
    old one, changes one parameter.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: str, endpoint: str) -> None:
        super().__init__(scope, construct_id)
        self.prefix = f"/triton/{stage}/{endpoint}"

    def publish(self, entry: Mapping[str, Any], *, after: list[Construct]) -> ssm.StringParameter:
        """Write the entry of a model, after everything in `after` is deployed.

        `entry` contains what a client needs to invoke the model by its name: `model`, `version`,
        `endpoint`; `target_model`, the `TargetModel` of InvokeEndpoint (None for single-model
        endpoints and inference components); `inference_component`, the name of the component, if
        the model is one; and `signature`: `inputs` and `outputs` (name, KServe v2 datatype, shape
        with -1 for variable dimensions) and `max_batch_size`. Raise `ValueError` if the entry is
        too long for a parameter.
        """
        model, value = entry["model"], json.dumps(entry, separators=(",", ":"))
        for problem in check_catalog_entry(model, value):
            raise ValueError(problem.message)
        parameter = ssm.StringParameter(
            self,
            model,
            description=f"Current archive of {model}",
            parameter_name=f"{self.prefix}/{model}",
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
