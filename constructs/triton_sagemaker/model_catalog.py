"""The catalog, in which clients look up the current archive of each model."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from platform_facts.rules.catalog import check_catalog_entry


class TensorSpec(TypedDict):
    """An input or output: KServe v2 datatype, and shape with -1 for variable dimensions."""

    name: str
    datatype: str
    shape: Sequence[int]


class ModelSignature(TypedDict):
    """The tensors of a model; `max_batch_size` is 0 without a batch axis."""

    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    max_batch_size: int


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """How clients invoke a model by its name.

    `target_model` is the `TargetModel` of InvokeEndpoint, None for single-model endpoints and
    inference components; `inference_component` is the name of the component, if the model is one.
    Clients pass `version` to their callers: any text that changes with the archive.
    """

    model: str
    version: str
    endpoint: str
    target_model: str | None
    inference_component: str | None = None
    signature: ModelSignature

    def as_json(self) -> str:
        """Return the entry as the JSON text that `endpoint_client` reads."""
        fields = asdict(self)
        if self.inference_component is None:
            del fields["inference_component"]
        return json.dumps(fields, separators=(",", ":"))


class ModelCatalog(Construct):
    """SSM parameters `/triton/<stage>/<endpoint>/<model>`, one for each model.

    Clients look up the current archive of a model there, so that a new version, or a rollback to an
    old one, changes one parameter.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: str, endpoint: str) -> None:
        super().__init__(scope, construct_id)
        self.prefix = f"/triton/{stage}/{endpoint}"

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
