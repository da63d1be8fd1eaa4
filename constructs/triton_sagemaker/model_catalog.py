"""The catalog: the current archive of each model, for clients."""

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from platform_facts.rules.catalog import catalog_entry


class ModelCatalog(Construct):
    """One SSM parameter for each model: `/triton/<stage>/<endpoint>/<model>`.

    Clients read the parameter to find the current archive of a model: to deploy or roll back a
    version, CloudFormation changes one parameter. `prefix` is the path without the model.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: str, endpoint: str) -> None:
        super().__init__(scope, construct_id)
        self.prefix = f"/triton/{stage}/{endpoint}"

    def publish(self, entry: Mapping[str, Any], *, after: list[Construct]) -> ssm.StringParameter:
        """Create the parameter of a model, after all resources in `after`.

        `entry` contains what a client needs to invoke the model:

        - `model`, `version` and `endpoint`
        - `target_model`: the `TargetModel` of InvokeEndpoint; None for a single-model endpoint and
          for an inference component
        - `inference_component`: the name of the component, if there is one
        - `signature`: `inputs` and `outputs` (name, KServe v2 datatype, shape; -1 is a variable
          dimension) and `max_batch_size`

        Raise `ValueError` if SSM cannot store the entry.
        """
        model, value = entry["model"], json.dumps(entry, separators=(",", ":"))
        for problem in catalog_entry(model, value):
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
        """Allow `grantee` to read and list the entries of this catalog."""
        arn = Stack.of(self).format_arn(
            service="ssm", resource="parameter", resource_name=self.prefix.lstrip("/")
        )
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:GetParameter", "ssm:GetParametersByPath"],
            resource_arns=[arn, f"{arn}/*"],
        )
