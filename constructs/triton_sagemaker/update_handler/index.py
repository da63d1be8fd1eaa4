"""Custom resource handler of `UpdateChecks`: checks an endpoint before and after an update.

The handler only reads. The provider framework calls it once as `on_event` and then as `is_complete`
every 15 seconds, until it returns a result or the framework times out. The framework would report
any error as the result, so throttled and failed calls wait for the next poll.

Inference components: the guard also waits for their operations and compares the checksums of their
archives. The check also checks each component, because catalog entries depend on it. A component
keeps its name in an update: during an update or rollback, copies of both versions serve requests.

During a rollback by CloudFormation, the guard only waits, but the check can fail: if SageMaker has
rolled back that update too, CloudFormation would delete resources that still serve.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import boto3
from botocore import exceptions
from botocore.exceptions import ClientError

GUARD, CHECK = "Custom::TritonUpdateGuard", "Custom::TritonUpdateCheck"

UNCHANGED = "Nothing was changed."

MAX_REASON_LENGTH = 2000
"""The response of a custom resource to CloudFormation is limited to 4 KiB."""

SERVING = ("InService", "SystemUpdating")
"""SystemUpdating is maintenance by AWS (API reference, DescribeEndpoint)."""
SCALING = ("Updating", "RollingBack")
"""Statuses during scaling. An update to another configuration also has a PendingDeploymentSummary
(API reference, DescribeEndpoint)."""
IN_PROGRESS = (*SCALING, "Creating", "Deleting", "SystemUpdating")
"""Transient statuses, in which SageMaker refuses to update or delete an endpoint."""

WAIT_MINUTES = 20
"""Maximum wait of an update; after it, the user deploys again."""
LONG_WAIT_MINUTES = 50
"""Maximum wait of a rollback and a deletion, whose failure needs manual repair."""

ALARM_REASON = (
    "a rollback alarm went off (aws cloudwatch describe-alarm-history --history-item-type "
    "StateUpdate names it)"
)

UNREACHABLE = (exceptions.ConnectionError, exceptions.HTTPClientError)

Record = dict[str, Any]


class OperationInProgress(Exception):
    """An operation in progress; `advice` is for the error message after a timeout.

    If `advice` is None, a timeout is not an error.
    """

    def __init__(self, state: str, advice: str | None) -> None:
        super().__init__(state)
        self.advice = advice


def handle(event: Record, _context: object) -> Record:
    """Return the response to `on_event`, or to `is_complete` if the event has `Since`.

    `Since` is the start time in seconds since 1970. The physical ID stays the same if the name of
    the endpoint changes. Raise `RuntimeError` with a reason and advice.
    """
    if "Since" not in event:
        name = f"{event['ResourceType']}/{event['ResourceProperties']['Endpoint']}"
        return {"PhysicalResourceId": event.get("PhysicalResourceId", name), "Since": time.time()}
    try:
        _decide(event)
    except (OperationInProgress, ClientError, *UNREACHABLE) as error:
        if isinstance(error, ClientError) and not _is_transient(error):
            raise
        return {"IsComplete": False}
    return {"IsComplete": True}


def _decide(event: Record) -> None:
    """Run the check. Raise `OperationInProgress` to wait, `RuntimeError` on failure or timeout."""
    is_deleted = event["RequestType"] == "Delete"
    try:
        DECISIONS[event["ResourceType"], is_deleted](event)
    except OperationInProgress as waiting:
        minutes = (time.time() - event["Since"]) / 60
        is_final = is_deleted or _is_rolling_back(event["StackId"])
        if minutes < (LONG_WAIT_MINUTES if is_final else WAIT_MINUTES):
            raise
        reason = f"{waiting} after {minutes:.0f} minutes: {waiting.advice}"
        if waiting.advice:
            raise RuntimeError(reason[:MAX_REASON_LENGTH]) from None


def _check_update_allowed(event: Record) -> None:
    """Raise if the endpoint cannot be updated now, or if the update is not allowed."""
    properties, stack = event["ResourceProperties"], event["StackId"]
    live = _live_endpoint(properties["Endpoint"])
    if live is None:
        return
    components = _components(properties)
    is_other = live["EndpointConfigName"] != properties["ConfigName"] or any(
        properties["Components"][name] != _model(each) for name, each in components.items()
    )
    busy = _operation_in_progress(live, components)
    if busy and (is_other or _changes_endpoint(event)):
        advice = f"wait until it is InService, and deploy again. {UNCHANGED}"
        if _is_rolling_back(stack):
            advice = f"wait until it is InService, then continue the rollback: {_continue(stack)}"
        raise OperationInProgress(busy, advice)
    refusals = [*_refusals(properties, live)] if is_other and not _is_rolling_back(stack) else []
    if refusals:
        raise RuntimeError(" ".join([*refusals, UNCHANGED])[:MAX_REASON_LENGTH])


def _check_update_result(event: Record) -> None:
    """Raise if the endpoint does not serve the deployed configuration or is in its old VPC."""
    properties = event["ResourceProperties"]
    if deviation := _deviation(properties):
        if _is_rolling_back(event["StackId"]):
            deviation += f" {_recovery_commands(properties, event['StackId'])}"
        raise RuntimeError(deviation[:MAX_REASON_LENGTH])
    group = event.get("OldResourceProperties", {}).get("SecurityGroup")
    if group != properties.get("SecurityGroup") and (interfaces := _interfaces(group)):
        raise OperationInProgress(f"Network interfaces {interfaces} are still in {group}", None)


def _check_deletion_allowed(event: Record) -> None:
    """Raise while SageMaker would refuse to delete the endpoint or a component."""
    properties = event["ResourceProperties"]
    live = _live_endpoint(properties["Endpoint"])
    if live and (busy := _operation_in_progress(live, _components(properties))):
        raise OperationInProgress(busy, "wait until it is InService, and delete the stack again")


def _check_interfaces_deleted(event: Record) -> None:
    """Raise while a deleted endpoint still has network interfaces.

    SageMaker deletes them later, with the endpoint's role: "Do not delete or revoke the permissions
    for your ExecutionRoleArn, otherwise SageMaker cannot delete these resources" (API reference,
    DeleteEndpoint). CloudFormation does not wait (aws-cloudformation/
    cloudformation-coverage-roadmap#1327) and would delete role, security group and subnets next.
    """
    name = event["ResourceProperties"]["Endpoint"]
    group = event["ResourceProperties"].get("SecurityGroup")
    if _live_endpoint(name):  # only the guard is deleted
        return
    if interfaces := _interfaces(group):
        raise OperationInProgress(
            f"Endpoint {name} is deleted, and its network interfaces {interfaces} are still in "
            f"{group}",
            'delete them, and then the stack again (docs/runbook.md, "A private stage is not '
            'destroyed")',
        )


DECISIONS = {
    (GUARD, False): _check_update_allowed,
    (CHECK, False): _check_update_result,
    (CHECK, True): _check_deletion_allowed,
    (GUARD, True): _check_interfaces_deleted,
}
"""(Resource type, is a deletion) -> check. CloudFormation deletes the
check before the endpoint, and the guard between the endpoint and its configuration."""


def _changes_endpoint(event: Record) -> bool:
    """Return whether CloudFormation calls UpdateEndpoint next."""
    old, new = event.get("OldResourceProperties"), event["ResourceProperties"]
    return old is None or any(old.get(key) != new.get(key) for key in ("ConfigName", "Deployment"))


def _refusals(properties: Record, live: Record) -> Iterator[str]:
    """Yield the reasons that forbid the update to the configuration in `properties`."""
    name, status = live["EndpointName"], live["EndpointStatus"]
    if status == "Failed":
        # API reference, EndpointSummary: a failed endpoint can only be deleted.
        yield (
            f"Endpoint {name} has failed, and SageMaker can only delete it. Deploy a second "
            "endpoint and move the clients, then destroy this one's stack: no call to it is "
            "answered from then until it is deployed again."
        )
        return
    if status not in ("InService", "UpdateRollbackFailed"):
        # UpdateRollbackFailed: developer guide, "Use rolling deployments": "You can make another
        # call to the UpdateEndpoint API to return your endpoint to a healthy state".
        yield f"{_state(live)}: wait until it is InService, and deploy again."
        return
    old = _config(live["EndpointConfigName"])
    if old is None:
        # hashicorp/terraform-provider-aws#40048: UpdateEndpoint needs the old configuration.
        yield (
            f"Endpoint {name} serves, but its configuration {live['EndpointConfigName']} is gone, "
            "so that SageMaker cannot update it. Create the configuration again: docs/runbook.md, "
            '"The configuration of an endpoint is gone". Do not destroy the stack: no call would '
            "be answered until it is deployed again."
        )
        return
    new = _config(properties["ConfigName"])
    assert new is not None  # the guard depends on the new configuration
    if _variants(old) != _variants(new):
        # Developer guide, deployment-guardrails-exclusions: "your new endpoint configuration must
        # have the same variant name as the old endpoint configuration".
        yield (
            f"Endpoint {name} has the variants {_variants(old)}, and would get other variants, "
            f"{_variants(new)}: SageMaker cannot rename, add or remove variants in an update. "
            "Deploy a second endpoint, and move the clients."
        )
        return
    if _hosts_components(old) != _hosts_components(new):
        yield (
            f"Endpoint {name} would begin or cease to host inference components: calls with or "
            "without an InferenceComponentName would fail at once. Deploy a second endpoint, and "
            "move the clients."
        )
        return
    if _hosts_components(new):
        yield from _changed_instance_type(name, old, new)
        yield from _replaced_archives(properties, _containers(new, properties))
        return
    yield from _scaled_variants(properties, old, new)
    before, after = _containers(old), _containers(new)
    if not {each["Mode"] for each in before} & {each["Mode"] for each in after}:
        yield (
            f"Endpoint {name} would change between multi-model and single-model hosting: calls "
            "with or without a TargetModel would fail at once. Deploy a second endpoint, and move "
            "the clients."
        )
        return
    yield from _wrong_models(properties, after)
    prefixes = _urls(before, "MultiModel"), _urls(after, "MultiModel")
    yield from _missing_archives(properties, *prefixes)
    yield from _replaced_archives(properties, after)


def _changed_instance_type(name: str, old: Record, new: Record) -> Iterator[str]:
    """Yield an error if an endpoint of inference components changes its instance type.

    "Cannot update endpoint with a different instance type for endpoints to which you plan to deploy
    Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
    """
    types = [
        {each.get("InstanceType") for each in _production_variants(config)} for config in (old, new)
    ]
    if types[0] != types[1]:
        yield (
            f"SageMaker cannot change the instance type of endpoint {name}, because it hosts "
            "inference components: give the endpoint and its components new names, for example "
            "with the type in them."
        )


def _scaled_variants(properties: Record, old: Record, new: Record) -> Iterator[str]:
    """Yield an error if a variant with registered scaling changes its instance type.

    Source: SageMaker developer guide, "Update endpoints that use auto scaling". Variants with
    instance pools, before or after the update, keep their scaling (AWS machine learning blog,
    "Capacity-aware inference", 2026-05-04) and are skipped.
    """
    types = {
        variant["VariantName"]: variant.get("InstanceType") for variant in _production_variants(new)
    }
    pairs = {
        variant["VariantName"]: (variant.get("InstanceType"), types[variant["VariantName"]])
        for variant in _production_variants(old)
    }
    changed = {
        f"endpoint/{properties['Endpoint']}/variant/{name}"
        for name, (before, after) in pairs.items()
        if before and after and before != after
    }
    if not changed:
        return
    targets = boto3.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=sorted(changed)
    )["ScalableTargets"]
    if targets:
        names = ", ".join(sorted(target["ResourceId"].rpartition("/")[2] for target in targets))
        yield (
            f"Variant {names} is registered for scaling: SageMaker refuses to change "
            "its instance type. `make deliver` does it in two deploys; or first deploy "
            "without scaling, and then this change with scaling."
        )


def _wrong_models(properties: Record, containers: list[Record]) -> Iterator[str]:
    """Yield an error for each model in the catalog that is not the model of the archive.

    Single-model hosting ignores the name of the model, so another model would respond.
    """
    served = {url.rpartition("/")[2] for url in _urls(containers, "SingleModel")}
    for model in sorted(entry["model"] for entry in _catalog_entries(properties["Catalog"])):
        for archive in sorted(name for name in served if name.rpartition("-")[0] != model):
            yield (
                f"Clients call endpoint {properties['Endpoint']} for {model}, but another model, "
                f"{archive}, would answer. Deploy a second endpoint, and move the clients."
            )


def _missing_archives(properties: Record, before: set[str], after: set[str]) -> Iterator[str]:
    """Yield an error for each prefix that lacks an archive of the catalog.

    During an update, instances of both prefixes serve requests. Catalog entries change after the
    update, and entries of removed models are deleted last. In a rollback, the endpoint changes
    first, while entries still have the new archives. So both prefixes need the archives of the
    entries before and after the update. If the prefix does not change, nothing is checked.
    """
    if before == after:
        return
    archives = _catalog_archives(properties)
    for url in sorted(before | after):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        keys = set(_keys_below(bucket, prefix))
        missing = sorted(name for name in archives if not keys >= {name, _manifest(name)})
        if missing:
            yield (
                f"Instances could not find {', '.join(missing)}: missing in {prefix}, from which "
                "instances load during this update or its rollback. Run make deliver, which builds "
                "missing archives first; or deploy the change of release or instance type alone, "
                "with the models that clients use now."
            )


def _replaced_archives(properties: Record, containers: list[Record]) -> Iterator[str]:
    """Yield an error for each archive whose SHA-256 differs from its manifest.

    Only builders can write archives and manifests, except those of publishers, which are skipped.
    Manifests of older builders without a checksum are skipped too.
    """
    s3 = boto3.client("s3")
    urls, prefixes = _urls(containers, "SingleModel"), _urls(containers, "MultiModel")
    built = {name for name in _catalog_archives(properties) if not name.startswith("published/")}
    urls |= {prefix + archive for prefix in prefixes for archive in built}
    for url in sorted(urls):
        bucket, _, key = url.removeprefix("s3://").partition("/")
        try:
            manifest = s3.get_object(Bucket=bucket, Key=_manifest(key))["Body"].read()
            head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("404", "NoSuchKey"):
                raise
            continue  # missing archives are reported elsewhere
        checksum = head.get("ChecksumSHA256", "")
        recorded = json.loads(manifest)["archive"].get("checksum", checksum)
        if checksum != recorded:
            yield (
                f"{url} has the SHA-256 {checksum or '(none)'}, and its manifest records "
                f"{recorded}: the archive was replaced. Find out who did it, then build it again: "
                f"aws s3 rm {url}; make deliver."
            )


def _catalog_archives(properties: Record) -> set[str]:
    """Return the archives in the catalog before and after the update."""
    entries = _catalog_entries(properties["Catalog"])
    served = {archive for entry in entries if (archive := entry.get("target_model"))}
    return {*served, *properties["Archives"]}


def _manifest(archive: str) -> str:
    """Return the key of an archive's manifest."""
    return archive.removesuffix(".tar.gz") + ".json"


def _urls(containers: list[Record], mode: str) -> set[str]:
    return {container["ModelDataUrl"] for container in containers if container["Mode"] == mode}


def _deviation(properties: Record) -> str | None:
    """Return why the endpoint does not serve its deployed configuration, None if it does.

    Raise `OperationInProgress` while it is updated.
    """
    name = properties["Endpoint"]
    live = _live_endpoint(name)
    if live is None:
        return f"Endpoint {name} does not exist: destroy its stack, and deploy it again."
    status, serves = live["EndpointStatus"], live["EndpointConfigName"] == properties["ConfigName"]
    is_scaling = status in SCALING and "PendingDeploymentSummary" not in live
    if serves and (is_scaling or status in SERVING):
        return _deviating_component(properties)
    if status in IN_PROGRESS:
        raise OperationInProgress(
            f"{_state(live)}, and serves with {live['EndpointConfigName']},",
            f"to see the reason: aws sagemaker describe-endpoint --endpoint-name {name}",
        )
    if status != "InService":
        return f"{_state(live)}: {live.get('FailureReason', '')}"
    # After an alarm there is no FailureReason (hashicorp/terraform-provider-aws#48997).
    return (
        f"SageMaker rolled back the update of endpoint {name}: "
        f"{live.get('FailureReason', ALARM_REASON)}. It serves with "
        f"{live['EndpointConfigName']}, as before, and the catalog is unchanged."
    )


def _deviating_component(properties: Record) -> str | None:
    """Return why a component does not serve its deployed Model, None if all do.

    Raise `OperationInProgress` while one is updated. A component with status Updating and the
    deployed Model is being scaled.
    """
    live = _components(properties)
    for name, model in properties.get("Components", {}).items():
        if name not in live:
            return (
                f"Inference component {name} does not exist: destroy its stack, and deploy again."
            )
        status, reason = _state(live[name]), live[name].get("FailureReason", ALARM_REASON)
        if live[name]["InferenceComponentStatus"] == "Failed":
            return f"{status}: {reason}"
        if _model(live[name]) != model:
            if live[name]["InferenceComponentStatus"] in IN_PROGRESS:
                command = f"describe-inference-component --inference-component-name {name}"
                raise OperationInProgress(status, f"to see the reason: aws sagemaker {command}")
            return (
                f"SageMaker rolled back the update of inference component {name}: {reason}. It "
                f"serves Model {_model(live[name])}, as before, and the catalog is unchanged."
            )
    return None


def _recovery_commands(properties: Record, stack: str) -> str:
    """Return the commands that continue a rollback, which runs this check again."""
    name, config = properties["Endpoint"], properties["ConfigName"]
    if "Components" in properties:
        return (
            f"Nothing that serves is deleted. Remove the cause, then run: {_continue(stack)}. If "
            "it fails here again, have the component serve the Model that the rollback asks for "
            "first: aws sagemaker update-inference-component."
        )
    return (
        "Nothing that serves is deleted. Remove the cause, then run: aws sagemaker update-endpoint "
        f"--endpoint-name {name} --endpoint-config-name {config} --retain-all-variant-properties; "
        f"aws sagemaker wait endpoint-in-service --endpoint-name {name}; {_continue(stack)}"
    )


def _interfaces(group: str | None) -> str:
    """Return the IDs of the network interfaces in a security group, or an empty string."""
    if not group:
        return ""
    filters = [{"Name": "group-id", "Values": [group]}]
    ids = "NetworkInterfaces[].NetworkInterfaceId"
    return ", ".join(_pages("ec2", "describe_network_interfaces", ids, Filters=filters))


def _continue(stack: str) -> str:
    """Return the command that continues the rollback of a stack; `stack` is its ARN."""
    return f"aws cloudformation continue-update-rollback --stack-name {stack.split('/')[1]}"


def _state(live: Record) -> str:
    if name := live.get("InferenceComponentName"):
        return f"Inference component {name} is {live['InferenceComponentStatus']}"
    return f"Endpoint {live['EndpointName']} is {live['EndpointStatus']}"


def _operation_in_progress(live: Record, components: dict[str, Record]) -> str | None:
    """Return the state of the endpoint, or of a component, with an operation in progress."""
    if live["EndpointStatus"] in IN_PROGRESS:
        return _state(live)
    busy = (each for each in components.values() if each["InferenceComponentStatus"] in IN_PROGRESS)
    return next(map(_state, busy), None)


def _components(properties: Record) -> dict[str, Record]:
    """Return the existing inference components by name."""
    describe = boto3.client("sagemaker").describe_inference_component
    described = {
        name: _describe_or_none(describe, InferenceComponentName=name)
        for name in properties.get("Components", ())
    }
    return {name: component for name, component in described.items() if component}


def _model(component: Record) -> str | None:
    name: str | None = component["Specification"].get("ModelName")
    return name


def _is_rolling_back(stack: str) -> bool:
    (described,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in described["StackStatus"]


def _is_transient(error: ClientError) -> bool:
    """Return whether the error is throttling or an error of AWS."""
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return status == 429 or status >= 500 or "Throttl" in error.response["Error"]["Code"]


def _live_endpoint(name: str) -> Record | None:
    return _describe_or_none(boto3.client("sagemaker").describe_endpoint, EndpointName=name)


def _config(name: str) -> Record | None:
    return _describe_or_none(
        boto3.client("sagemaker").describe_endpoint_config, EndpointConfigName=name
    )


def _describe_or_none(describe: Any, **request: str) -> Record | None:
    try:
        answer: Record = describe(**request)
    except ClientError as error:
        if "Could not find" in error.response["Error"]["Message"]:
            return None
        raise
    return answer


def _pages(service: str, operation: str, expression: str, **request: Any) -> Iterator[Any]:
    """Yield the values of a JMESPath expression in all pages of a response."""
    pages = boto3.client(service).get_paginator(operation).paginate(**request)  # type: ignore[call-overload]
    return (value for value in pages.search(expression) if value is not None)


def _production_variants(config: Record) -> list[Record]:
    variants: list[Record] = config["ProductionVariants"]
    return variants


def _variants(config: Record) -> str:
    return ", ".join(sorted(variant["VariantName"] for variant in _production_variants(config)))


def _hosts_components(config: Record) -> bool:
    """Return whether the endpoint hosts inference components: its variants have no Models."""
    return any("ModelName" not in variant for variant in _production_variants(config))


def _containers(config: Record, properties: Record | None = None) -> list[Record]:
    """Return the containers of a configuration whose Models exist.

    With `properties`, include the inference components to be deployed.
    """
    describe = boto3.client("sagemaker").describe_model
    names = sorted(
        {variant["ModelName"] for variant in _production_variants(config) if "ModelName" in variant}
        | {*(properties or {}).get("Components", {}).values()}
        | {
            pool["ModelNameOverride"]
            for variant in _production_variants(config)
            for pool in variant.get("InstancePools", ())
            if "ModelNameOverride" in pool
        }
    )
    models = [_describe_or_none(describe, ModelName=name) for name in names]
    return [{"Mode": "SingleModel", **model["PrimaryContainer"]} for model in models if model]


def _catalog_entries(path: str) -> Iterator[Record]:
    """Yield the catalog entries. Raise `RuntimeError` if a parameter is not a catalog entry."""
    for parameter in _pages("ssm", "get_parameters_by_path", "Parameters[]", Path=path):
        match _parsed(parameter["Value"]):
            case {"model": str(), **others} as entry if isinstance(
                others.get("target_model"), str | None
            ):
                yield entry
            case _:
                name = parameter["Name"]
                raise RuntimeError(
                    f"Parameter {name} is not a catalog entry: delete it (calls of its model will "
                    f"fail) and deploy again: aws ssm delete-parameter --name {name}. {UNCHANGED}"
                )


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _keys_below(bucket: str, prefix: str) -> Iterator[str]:
    keys = _pages("s3", "list_objects_v2", "Contents[].Key", Bucket=bucket, Prefix=prefix)
    return (key.removeprefix(prefix) for key in keys)
