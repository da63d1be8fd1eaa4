"""Custom resource handler of `UpdateChecks`: may the endpoint be updated, and was it?

It changes nothing. The guard lets CloudFormation's own rollback through: it brings back what served
before. The check does not: where SageMaker has rolled that update back, CloudFormation would go on
to delete what serves.
"""

import json
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import ClientError

GUARD, CHECK = "Custom::TritonUpdateGuard", "Custom::TritonUpdateCheck"

UNCHANGED = "Nothing was changed."

LONGEST_REASON = 2000
"""CloudFormation takes no more than 4 KiB of a custom resource's answer."""

SERVING = ("InService", "SystemUpdating")
"""The latter is AWS's maintenance, which changes nothing (API reference, DescribeEndpoint)."""

Record = dict[str, Any]


def on_event(event: Record, _context: object) -> Record:
    """Raise with what is wrong, and with what helps."""
    wanted = event["ResourceProperties"]
    answer = {"PhysicalResourceId": f"{event['ResourceType']}/{wanted['Endpoint']}"}
    if event["RequestType"] == "Delete":
        return answer
    rolls_back = _rolls_back(event["StackId"])
    live = _live_endpoint(wanted["Endpoint"])
    if event["ResourceType"] == GUARD:
        found = list(_refusals(wanted, live)) if live and not rolls_back else []
        told = [*found, UNCHANGED]
    else:
        found = list(_deviations(wanted, live))
        told = [*found, *_ways_on(wanted, event["StackId"])] if rolls_back else found
    if found:
        raise RuntimeError(" ".join(told)[:LONGEST_REASON])
    return answer


def _refusals(wanted: Record, live: Record) -> Iterator[str]:
    """Yield why the endpoint must not be updated to the wanted configuration now."""
    name, status = live["EndpointName"], live["EndpointStatus"]
    if live["EndpointConfigName"] == wanted["ConfigName"]:
        return
    if status == "Failed":
        # EndpointSummary's API reference: it can only be deleted.
        yield f"Endpoint {name} has failed, and can only be deleted: destroy its stack first."
        return
    if status not in ("InService", "UpdateRollbackFailed"):
        # Of the latter, developer guide, "Use rolling deployments": "You can make another call to
        # the UpdateEndpoint API to return your endpoint to a healthy state".
        yield f"Endpoint {name} is {status}: wait until it is InService, and deploy again."
        return
    old = _config(live["EndpointConfigName"])
    if old is None:
        # hashicorp/terraform-provider-aws#40048: UpdateEndpoint needs the old configuration.
        yield (
            f"The configuration {live['EndpointConfigName']} that endpoint {name} serves with is "
            "gone, so that SageMaker cannot update it: destroy its stack first."
        )
        return
    new = _config(wanted["ConfigName"])
    assert new is not None  # this resource depends on it
    if _variants(old) != _variants(new):
        # Developer guide, deployment-guardrails-exclusions: "your new endpoint configuration must
        # have the same variant name as the old endpoint configuration".
        yield (
            f"Endpoint {name} has the variants {_variants(old)}, and would have {_variants(new)}: "
            "SageMaker updates no endpoint to variants of other names. Deploy a second endpoint, "
            "and move the clients."
        )
        return
    yield from _scaled_variants(wanted, old, new)
    before, after = _containers(old), _containers(new)
    if not {it["Mode"] for it in before} & {it["Mode"] for it in after}:
        yield (
            f"Endpoint {name} would be hosted in another way: clients that name a TargetModel, or "
            "none, would be refused at once. Deploy a second endpoint, and move the clients."
        )
        return
    yield from _other_models(wanted, after)
    yield from _missing_archives(wanted, _prefixes(before), _prefixes(after))


def _scaled_variants(wanted: Record, old: Record, new: Record) -> Iterator[str]:
    """A variant that is registered for scaling may not get other instances.

    Source: SageMaker developer guide, "Update endpoints that use auto scaling".
    """
    types = {it["VariantName"]: it["InstanceType"] for it in new["ProductionVariants"]}
    changed = [
        it["VariantName"]
        for it in old["ProductionVariants"]
        if types.get(it["VariantName"]) != it["InstanceType"]
    ]
    if not changed:
        return
    resources = {f"endpoint/{wanted['Endpoint']}/variant/{it}": it for it in changed}
    targets = boto3.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=list(resources)
    )["ScalableTargets"]
    if targets:
        names = ", ".join(sorted(resources[it["ResourceId"]] for it in targets))
        yield (
            f"Variant {names} is registered for scaling: SageMaker refuses to change "
            "its instance type. `make deliver` does it in two deploys; or deploy without "
            "scaling first, and then this change with it."
        )


def _other_models(wanted: Record, containers: list[Record]) -> Iterator[str]:
    """A call that names no TargetModel is answered by whatever model there is."""
    urls = {it["ModelDataUrl"] for it in containers if it["Mode"] == "SingleModel"}
    served = {it.rpartition("/")[2] for it in urls}
    for model in sorted(it["model"] for it in _entries(wanted["Catalog"])):
        for archive in sorted(it for it in served if it.rpartition("-")[0] != model):
            yield (
                f"Clients are sent to endpoint {wanted['Endpoint']} for {model}, and {archive} "
                "would answer them. Deploy a second endpoint, and move the clients."
            )


def _missing_archives(wanted: Record, before: set[str], after: set[str]) -> Iterator[str]:
    """What the catalog names, before and after, must be wherever instances serve from meanwhile.

    Instances of both prefixes answer while the endpoint is updated. Entries change after that, and
    those of models that leave go last, with what CloudFormation cleans up. If it rolls back then,
    the endpoint goes first, and they name what is new. An endpoint that stays where it is moves
    nobody: what is missing there was missing already, or is built by this stack.
    """
    if before == after:
        return
    named = {*_catalog(wanted["Catalog"]), *wanted["Archives"]}
    for url in sorted(before | after):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        missing = sorted(named - set(_keys_below(bucket, prefix)))
        if missing:
            yield (
                f"{', '.join(missing)}: not below {prefix}. The endpoint moves to other archives, "
                "and until it has, or has been rolled back, clients may be sent there. "
                "`make deliver` builds them there first; or deploy the change of release or "
                "instance type alone, with the models that clients use now."
            )


def _prefixes(containers: list[Record]) -> set[str]:
    return {it["ModelDataUrl"] for it in containers if it["Mode"] == "MultiModel"}


def _deviations(wanted: Record, live: Record | None) -> Iterator[str]:
    """Yield why the endpoint does not serve what was deployed."""
    name = wanted["Endpoint"]
    if live is None:
        yield f"Endpoint {name} is gone."
    elif live["EndpointStatus"] not in SERVING:
        yield f"Endpoint {name} is {live['EndpointStatus']}: {live.get('FailureReason', '')}"
    elif live["EndpointConfigName"] != wanted["ConfigName"]:
        # An alarm leaves no reason (hashicorp/terraform-provider-aws#48997).
        reason = live.get("FailureReason", "a rollback alarm was in ALARM")
        yield (
            f"SageMaker has rolled the update of endpoint {name} back: {reason}. It serves with "
            f"{live['EndpointConfigName']}, as before, and clients are sent to what they were."
        )


def _ways_on(wanted: Record, stack: str) -> Iterator[str]:
    """Say what ends a rollback that cannot go on: to continue it asks no more than this again."""
    name, config = wanted["Endpoint"], wanted["ConfigName"]
    yield (
        "What serves is kept. When nothing is wrong any more: aws sagemaker update-endpoint "
        f"--endpoint-name {name} --endpoint-config-name {config} --retain-all-variant-properties; "
        "and when the endpoint is InService: aws cloudformation continue-update-rollback "
        f"--stack-name {stack}"
    )


def _rolls_back(stack: str) -> bool:
    found = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in found[0]["StackStatus"]


def _live_endpoint(name: str) -> Record | None:
    return _if_found(boto3.client("sagemaker").describe_endpoint, EndpointName=name)


def _config(name: str) -> Record | None:
    return _if_found(boto3.client("sagemaker").describe_endpoint_config, EndpointConfigName=name)


def _if_found(describe: Any, **request: str) -> Record | None:
    try:
        found: Record = describe(**request)
    except ClientError as error:
        if "Could not find" in error.response["Error"]["Message"]:
            return None
        raise
    return found


def _variants(config: Record) -> str:
    return ", ".join(sorted(it["VariantName"] for it in config["ProductionVariants"]))


def _containers(config: Record) -> list[Record]:
    """Return the containers of a configuration, as far as their Models are still there."""
    names = {it["ModelName"] for it in config["ProductionVariants"]}
    describe = boto3.client("sagemaker").describe_model
    models = [_if_found(describe, ModelName=name) for name in sorted(names)]
    containers = [model["PrimaryContainer"] for model in models if model]
    return [{"Mode": "SingleModel", **it} for it in containers]


def _catalog(path: str) -> Iterator[str]:
    return (archive for it in _entries(path) if (archive := it.get("target_model")))


def _entries(path: str) -> Iterator[Record]:
    pages = boto3.client("ssm").get_paginator("get_parameters_by_path").paginate(Path=path)
    for page in pages:
        for parameter in page["Parameters"]:
            yield json.loads(parameter["Value"])


def _keys_below(bucket: str, prefix: str) -> Iterator[str]:
    pages = (
        boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    )
    for page in pages:
        for found in page.get("Contents", ()):
            yield found["Key"].removeprefix(prefix)
