"""Custom resource handler of `UpdateChecks`: checks an endpoint before and after an update.

The handler only reads. The provider framework calls it once as `on_event` and then as `is_complete`
every 5 seconds, until it returns a result or the framework times out. The framework would report
any error as the result, so throttled and failed calls wait for the next poll. Lambda gets only this
file, so it repeats functions of the other handlers.

For inference components, the guard also waits for their operations and compares the checksums of
their archives, and the check checks each component, because catalog entries depend on it. A
component keeps its name in an update: during an update or rollback, copies of both versions serve.

During a rollback by CloudFormation, the guard only waits, but the check can fail: if SageMaker has
also rolled back the update of the rollback, CloudFormation would delete resources that still serve.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import boto3
from botocore import exceptions
from botocore.exceptions import ClientError

GUARD_TYPE, CHECK_TYPE = "Custom::TritonUpdateGuard", "Custom::TritonUpdateCheck"

UNCHANGED = "Nothing was changed."

MAX_REASON_LENGTH = 2000
"""The response of a custom resource to CloudFormation is limited to 4 KiB."""

MAX_NAMES = 8
"""Number of archives that a reason names."""

SERVING = ("InService", "SystemUpdating")
"""SystemUpdating is maintenance by AWS (API reference, DescribeEndpoint)."""
SCALING = ("Updating", "RollingBack")
"""Statuses during scaling. An update to another configuration also has a PendingDeploymentSummary
(API reference, DescribeEndpoint)."""
IN_PROGRESS = (*SCALING, "Creating", "Deleting", "SystemUpdating")
"""Transient statuses, in which SageMaker refuses to update or delete an endpoint."""

WAIT_MINUTES = 20
"""Maximum wait of an update. After a timeout, the user deploys again."""
LONG_WAIT_MINUTES = 50
"""Maximum wait of a rollback or deletion, whose failure requires manual repair."""

ALARM_REASON = (
    "a rollback alarm went off (aws cloudwatch describe-alarm-history --history-item-type "
    "StateUpdate names it)"
)

OVERLOADED = ("ProvisionedThroughputExceededException", "RequestLimitExceeded")
"""DynamoDB's codes of throttled requests, with status 400, besides ThrottlingException (API
reference, Query); botocore retries the second one only in its standard mode."""

UNREACHABLE = (exceptions.ConnectionError, exceptions.HTTPClientError)

Record = dict[str, Any]


class OperationInProgress(Exception):
    """An operation is in progress; `advice` is for the error message after a timeout.

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
        _run_check(event)
    except (OperationInProgress, ClientError, *UNREACHABLE) as error:
        if isinstance(error, ClientError) and not _is_transient(error):
            raise
        return {"IsComplete": False}
    return {"IsComplete": True}


def _run_check(event: Record) -> None:
    """Run the check. Raise `OperationInProgress` to wait, `RuntimeError` on failure or timeout."""
    is_deleted = event["RequestType"] == "Delete"
    try:
        CHECKS[event["ResourceType"], is_deleted](event)
    except OperationInProgress as waiting:
        minutes = (time.time() - event["Since"]) / 60
        is_final = is_deleted or _is_rolling_back(event["StackId"])
        if minutes < (LONG_WAIT_MINUTES if is_final else WAIT_MINUTES):
            raise
        reason = f"{waiting} after {minutes:.0f} minutes: {waiting.advice}"
        if waiting.advice:
            raise RuntimeError(reason[:MAX_REASON_LENGTH]) from None


def _check_update_allowed(event: Record) -> None:
    """Raise if the update is not allowed, or while an operation is in progress."""
    properties, stack = event["ResourceProperties"], event["StackId"]
    endpoint = _describe_endpoint(properties["Endpoint"])
    if endpoint is None:
        return
    components = _describe_components(properties)
    config_changes = endpoint["EndpointConfigName"] != properties["ConfigName"] or any(
        properties["Components"][name] != _model_name(component)
        for name, component in components.items()
    )
    operation = _operation_in_progress(endpoint, components)
    if operation and (config_changes or _changes_endpoint(event)):
        advice = f"wait until it is InService, and deploy again. {UNCHANGED}"
        if _is_rolling_back(stack):
            command = _continue_command(stack)
            advice = f"wait until it is InService, then continue the rollback: {command}"
        raise OperationInProgress(operation, advice)
    if not config_changes or _is_rolling_back(stack):
        return
    if reasons := [*_refusal_reasons(properties, endpoint)]:
        raise RuntimeError(" ".join([*reasons, UNCHANGED])[:MAX_REASON_LENGTH])


def _check_update_result(event: Record) -> None:
    """Raise if the endpoint does not serve the deployed configuration, or while it leaves a VPC."""
    properties = event["ResourceProperties"]
    if deviation := _find_deviation(properties):
        if _is_rolling_back(event["StackId"]):
            deviation += f" {_recovery_commands(properties, event['StackId'])}"
        raise RuntimeError(deviation[:MAX_REASON_LENGTH])
    group = event.get("OldResourceProperties", {}).get("SecurityGroup")
    if group != properties.get("SecurityGroup") and (interfaces := _interface_ids(group)):
        raise OperationInProgress(f"Network interfaces {interfaces} are still in {group}", None)


def _check_deletion_allowed(event: Record) -> None:
    """Raise while SageMaker would refuse to delete the endpoint or a component."""
    properties = event["ResourceProperties"]
    endpoint = _describe_endpoint(properties["Endpoint"])
    if endpoint and (
        operation := _operation_in_progress(endpoint, _describe_components(properties))
    ):
        raise OperationInProgress(
            operation, "wait until it is InService, and delete the stack again"
        )


def _check_interfaces_deleted(event: Record) -> None:
    """Raise while a deleted endpoint still has network interfaces.

    SageMaker deletes them later, with the endpoint's role: "Do not delete or revoke the permissions
    for your ExecutionRoleArn, otherwise SageMaker cannot delete these resources" (API reference,
    DeleteEndpoint). CloudFormation does not wait (aws-cloudformation/
    cloudformation-coverage-roadmap#1327) and would delete role, security group and subnets next.
    """
    name = event["ResourceProperties"]["Endpoint"]
    group = event["ResourceProperties"].get("SecurityGroup")
    if _describe_endpoint(name):  # only the guard is deleted
        return
    if interfaces := _interface_ids(group):
        raise OperationInProgress(
            f"Endpoint {name} is deleted, and its network interfaces {interfaces} are still in "
            f"{group}",
            'delete them, and then the stack again (docs/runbook.md, "A private stage is not '
            'destroyed")',
        )


CHECKS = {
    (GUARD_TYPE, False): _check_update_allowed,
    (CHECK_TYPE, False): _check_update_result,
    (CHECK_TYPE, True): _check_deletion_allowed,
    (GUARD_TYPE, True): _check_interfaces_deleted,
}
"""(Resource type, whether it is deleted) -> check. CloudFormation deletes the check before the
endpoint, and the guard between the endpoint and its configuration."""


def _changes_endpoint(event: Record) -> bool:
    """Return whether CloudFormation calls UpdateEndpoint next."""
    old, new = event.get("OldResourceProperties"), event["ResourceProperties"]
    return old is None or any(old.get(key) != new.get(key) for key in ("ConfigName", "Deployment"))


def _refusal_reasons(properties: Record, endpoint: Record) -> Iterator[str]:
    """Yield the reasons to reject the update to the configuration in `properties`."""
    name, status = endpoint["EndpointName"], endpoint["EndpointStatus"]
    if status == "Failed":
        # API reference, EndpointSummary: a failed endpoint can only be deleted.
        yield (
            f"Endpoint {name} has failed, and SageMaker can only delete it. Deploy a second "
            "endpoint and move the clients, then destroy the stack of the failed endpoint: its "
            "calls fail until it is deployed again."
        )
        return
    if status not in ("InService", "UpdateRollbackFailed"):
        # UpdateRollbackFailed: developer guide, "Use rolling deployments": "You can make another
        # call to the UpdateEndpoint API to return your endpoint to a healthy state".
        yield f"{_status_text(endpoint)}: wait until it is InService, and deploy again."
        return
    old = _describe_config(endpoint["EndpointConfigName"])
    if old is None:
        # hashicorp/terraform-provider-aws#40048: UpdateEndpoint needs the old configuration.
        yield (
            f"Endpoint {name} serves, but its configuration {endpoint['EndpointConfigName']} is "
            "gone, so that SageMaker cannot update it. Create the configuration again: "
            'docs/runbook.md, "The configuration of an endpoint is gone". Do not destroy the '
            "stack: all calls would fail until it is deployed again."
        )
        return
    new = _describe_config(properties["ConfigName"])
    assert new is not None  # the guard depends on the new configuration
    if _variant_names(old) != _variant_names(new):
        # Developer guide, deployment-guardrails-exclusions: "your new endpoint configuration must
        # have the same variant name as the old endpoint configuration".
        yield (
            f"Endpoint {name} has the variants {_variant_names(old)}, and would get other "
            f"variants, {_variant_names(new)}: SageMaker cannot rename, add or remove variants in "
            "an update. Deploy a second endpoint, and move the clients."
        )
        return
    if _hosts_components(old) != _hosts_components(new):
        yield (
            f"Endpoint {name} would start or stop hosting inference components: calls with or "
            "without an InferenceComponentName would fail at once. Deploy a second endpoint, and "
            "move the clients."
        )
        return
    if _hosts_components(new):
        yield from _changed_instance_type(name, old, new)
        yield from _replaced_archives(properties, _containers(new, properties))
        return
    yield from _scaled_variants(properties, old, new)
    old_containers, new_containers = _containers(old), _containers(new)
    modes = (
        {item["Mode"] for item in containers} for containers in (old_containers, new_containers)
    )
    if not set.intersection(*modes):
        yield (
            f"Endpoint {name} would change between multi-model and single-model hosting: calls "
            "with or without a TargetModel would fail at once. Deploy a second endpoint, and move "
            "the clients."
        )
        return
    yield from _wrong_models(properties, new_containers)
    yield from _missing_archives(
        properties,
        _model_data_urls(old_containers, "MultiModel"),
        _model_data_urls(new_containers, "MultiModel"),
    )
    yield from _replaced_archives(properties, new_containers)


def _changed_instance_type(name: str, old: Record, new: Record) -> Iterator[str]:
    """Yield an error if an endpoint of inference components changes its instance type.

    "Cannot update endpoint with a different instance type for endpoints to which you plan to deploy
    Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
    """
    old_types, new_types = (
        {variant.get("InstanceType") for variant in _production_variants(config)}
        for config in (old, new)
    )
    if old_types != new_types:
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
    old_types, new_types = (
        {
            variant["VariantName"]: variant.get("InstanceType")
            for variant in _production_variants(config)
        }
        for config in (old, new)
    )
    changed_variants = {
        f"endpoint/{properties['Endpoint']}/variant/{name}"
        for name, old_type in old_types.items()
        if old_type and new_types[name] and old_type != new_types[name]
    }
    if not changed_variants:
        return
    targets = boto3.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=sorted(changed_variants)
    )["ScalableTargets"]
    if targets:
        names = ", ".join(sorted(target["ResourceId"].rpartition("/")[2] for target in targets))
        yield (
            f"Variant {names} is registered for scaling: SageMaker refuses to change "
            "its instance type. `make deliver` does it in two deploys; or first deploy "
            "without scaling, and then this change with scaling."
        )


def _wrong_models(properties: Record, containers: list[Record]) -> Iterator[str]:
    """Yield an error for each model in the catalog whose archive the endpoint would not serve.

    Single-model hosting ignores the name of the model, so another model would respond.
    """
    archives = {url.rpartition("/")[2] for url in _model_data_urls(containers, "SingleModel")}
    for model in sorted(entry["model"] for entry in _catalog_entries(properties["Catalog"])):
        for archive in sorted(name for name in archives if name.rpartition("-")[0] != model):
            yield (
                f"Clients call endpoint {properties['Endpoint']} for {model}, but another model, "
                f"{archive}, would answer. Deploy a second endpoint, and move the clients."
            )


def _missing_archives(
    properties: Record, old_prefixes: set[str], new_prefixes: set[str]
) -> Iterator[str]:
    """Yield an error for each prefix that lacks an archive of the catalog.

    During an update, instances of both prefixes serve requests. Catalog entries change after the
    update, and entries of removed models are deleted last. In a rollback, the endpoint changes
    first, while entries still have the new archives. So both prefixes need the archives of the
    entries before and after the update. If the prefix does not change, nothing is checked.
    """
    if old_prefixes == new_prefixes:
        return
    archives = _catalog_archives(properties) - _kept_archives(properties)
    for url in sorted(old_prefixes | new_prefixes):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        times = _times_below(bucket, prefix)
        missing = [
            name for name in sorted(archives) if not times.keys() >= {name, _manifest_key(name)}
        ]
        if missing:
            more = f" and {len(missing) - MAX_NAMES} more" if len(missing) > MAX_NAMES else ""
            yield (
                f"Instances could not find {', '.join(missing[:MAX_NAMES])}{more}: missing in "
                f"{prefix}, from which instances load during this update or its rollback. Run make "
                "deliver, which builds missing archives first; or deploy the change of release or "
                "instance type alone, with the models that clients use now."
            )


def _replaced_archives(properties: Record, containers: list[Record]) -> Iterator[str]:
    """Yield an error for each archive that was replaced: it has another SHA-256 than its manifest.

    Builders write the manifest last, so only an archive that is newer than its manifest can have
    been replaced since: a listing has both times, and only such archives are read. (S3 API,
    ListObjectsV2, LastModified; listings are consistent: S3 user guide, "Amazon S3 data consistency
    model".) Published archives are skipped, because others than builders write them. Manifests of
    older builders without a checksum are skipped too.
    """
    urls, prefixes = (
        _model_data_urls(containers, "SingleModel"),
        _model_data_urls(containers, "MultiModel"),
    )
    archives = {name for name in _catalog_archives(properties) if not name.startswith("published/")}
    by_folder = dict.fromkeys(prefixes, archives)
    for url in urls:
        folder, _, name = url.rpartition("/")
        by_folder[f"{folder}/"] = by_folder.get(f"{folder}/", set()) | {name}
    for url, names in sorted(by_folder.items()):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        times = _times_below(bucket, prefix)
        for name in sorted(names & times.keys()):  # missing archives are reported elsewhere
            manifest = _manifest_key(name)
            if manifest in times and times[name] > times[manifest]:
                yield from _wrong_checksum(bucket, prefix + name)


def _wrong_checksum(bucket: str, key: str) -> Iterator[str]:
    s3, url = boto3.client("s3"), f"s3://{bucket}/{key}"
    try:
        manifest = s3.get_object(Bucket=bucket, Key=_manifest_key(key))["Body"].read()
        head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("404", "NoSuchKey"):
            raise
        return
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
    entries = [*_catalog_entries(properties["Catalog"]), *_listed_entries(properties)]
    return {archive for entry in entries if (archive := entry.get("target_model"))}


def _kept_archives(properties: Record) -> set[str]:
    """Return the archives that only the list has and that could not be built.

    The catalog keeps the earlier entries of their models. A catalog without `Archives` keeps none.
    """
    if "Archives" not in properties:
        return set()
    listed = {archive for entry in _listed_entries(properties)
              if (archive := entry.get("target_model"))}  # fmt: skip
    current = {entry.get("target_model") for entry in _catalog_entries(properties["Catalog"])}
    unbuilt = set[str]()
    for location in properties["Archives"]:
        bucket, _, prefix = location.partition("/")
        times = _times_below(bucket, prefix)
        unbuilt |= {name for name in listed if not times.keys() >= {name, _manifest_key(name)}}
    return unbuilt - current


def _listed_entries(properties: Record) -> Iterator[Record]:
    """Yield the entries after the update. Raise `RuntimeError` if the list has another digest."""
    bucket, _, key = properties["List"].partition("/")
    content = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    if (digest := hashlib.sha256(content).hexdigest()) != properties["Digest"]:
        raise RuntimeError(
            f"s3://{bucket}/{key} has the SHA-256 {digest}, the template another. {UNCHANGED}"
        )
    yield from map(json.loads, content.splitlines())


def _manifest_key(archive: str) -> str:
    """Return the key of an archive's manifest."""
    return archive.removesuffix(".tar.gz") + ".json"


def _model_data_urls(containers: list[Record], mode: str) -> set[str]:
    return {container["ModelDataUrl"] for container in containers if container["Mode"] == mode}


def _find_deviation(properties: Record) -> str | None:
    """Return the reason if the endpoint does not serve its deployed configuration, else None.

    Raise `OperationInProgress` while it is updated.
    """
    name = properties["Endpoint"]
    endpoint = _describe_endpoint(name)
    if endpoint is None:
        return f"Endpoint {name} does not exist: destroy its stack, and deploy it again."
    status, serves = (
        endpoint["EndpointStatus"],
        endpoint["EndpointConfigName"] == properties["ConfigName"],
    )
    is_scaling = status in SCALING and "PendingDeploymentSummary" not in endpoint
    if serves and (is_scaling or status in SERVING):
        return _find_component_deviation(properties)
    if status in IN_PROGRESS:
        raise OperationInProgress(
            f"{_status_text(endpoint)}, and serves with {endpoint['EndpointConfigName']},",
            f"to see the reason: aws sagemaker describe-endpoint --endpoint-name {name}",
        )
    if status != "InService":
        return f"{_status_text(endpoint)}: {endpoint.get('FailureReason', '')}"
    # After an alarm there is no FailureReason (hashicorp/terraform-provider-aws#48997).
    return (
        f"SageMaker rolled back the update of endpoint {name}: "
        f"{endpoint.get('FailureReason', ALARM_REASON)}. It serves with "
        f"{endpoint['EndpointConfigName']}, as before, and the catalog is unchanged."
    )


def _find_component_deviation(properties: Record) -> str | None:
    """Return the reason if a component does not serve its deployed Model, else None.

    Raise `OperationInProgress` while a component is updated. A component with status Updating and
    the deployed Model is being scaled.
    """
    components = _describe_components(properties)
    for name, model in properties.get("Components", {}).items():
        component = components.get(name)
        if component is None:
            return (
                f"Inference component {name} does not exist: destroy its stack, and deploy again."
            )
        reason = component.get("FailureReason", ALARM_REASON)
        if component["InferenceComponentStatus"] == "Failed":
            return f"{_status_text(component)}: {reason}"
        if _model_name(component) != model:
            if component["InferenceComponentStatus"] in IN_PROGRESS:
                command = f"describe-inference-component --inference-component-name {name}"
                raise OperationInProgress(
                    _status_text(component), f"to see the reason: aws sagemaker {command}"
                )
            return (
                f"SageMaker rolled back the update of inference component {name}: {reason}. It "
                f"serves Model {_model_name(component)}, as before, and the catalog is unchanged."
            )
    return None


def _recovery_commands(properties: Record, stack: str) -> str:
    """Return the commands that continue a rollback, which runs this check again."""
    name, config = properties["Endpoint"], properties["ConfigName"]
    if "Components" in properties:
        return (
            "Nothing that serves is deleted. Remove the cause, then run: "
            f"{_continue_command(stack)}. If it fails here again, first update the component to "
            "the Model of the rollback: aws sagemaker update-inference-component."
        )
    return (
        "Nothing that serves is deleted. Remove the cause, then run: aws sagemaker update-endpoint "
        f"--endpoint-name {name} --endpoint-config-name {config} --retain-all-variant-properties; "
        f"aws sagemaker wait endpoint-in-service --endpoint-name {name}; {_continue_command(stack)}"
    )


def _interface_ids(group: str | None) -> str:
    """Return the IDs of the network interfaces in a security group, or an empty string."""
    if not group:
        return ""
    filters = [{"Name": "group-id", "Values": [group]}]
    ids = "NetworkInterfaces[].NetworkInterfaceId"
    return ", ".join(_query_pages("ec2", "describe_network_interfaces", ids, Filters=filters))


def _continue_command(stack: str) -> str:
    """Return the command that continues the rollback of a stack; `stack` is its ARN."""
    return f"aws cloudformation continue-update-rollback --stack-name {stack.split('/')[1]}"


def _status_text(resource: Record) -> str:
    """Return the status of an endpoint or inference component for messages."""
    if name := resource.get("InferenceComponentName"):
        return f"Inference component {name} is {resource['InferenceComponentStatus']}"
    return f"Endpoint {resource['EndpointName']} is {resource['EndpointStatus']}"


def _operation_in_progress(endpoint: Record, components: dict[str, Record]) -> str | None:
    """Return the status of the endpoint or component with an operation in progress, or None."""
    if endpoint["EndpointStatus"] in IN_PROGRESS:
        return _status_text(endpoint)
    for component in components.values():
        if component["InferenceComponentStatus"] in IN_PROGRESS:
            return _status_text(component)
    return None


def _describe_components(properties: Record) -> dict[str, Record]:
    """Return the existing inference components by name."""
    describe = boto3.client("sagemaker").describe_inference_component
    components = {
        name: _describe_or_none(describe, InferenceComponentName=name)
        for name in properties.get("Components", ())
    }
    return {name: component for name, component in components.items() if component}


def _model_name(component: Record) -> str | None:
    name: str | None = component["Specification"].get("ModelName")
    return name


def _is_rolling_back(stack: str) -> bool:
    (description,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in description["StackStatus"]


def _is_transient(error: ClientError) -> bool:
    """Return whether the error is throttling or an error of AWS."""
    code = error.response["Error"]["Code"]
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return "Throttl" in code or code in OVERLOADED or status == 429 or status >= 500


def _describe_endpoint(name: str) -> Record | None:
    return _describe_or_none(boto3.client("sagemaker").describe_endpoint, EndpointName=name)


def _describe_config(name: str) -> Record | None:
    client = boto3.client("sagemaker")
    client.meta.events.register("before-parse.sagemaker.DescribeEndpointConfig", _keep_variants)
    return _describe_or_none(client.describe_endpoint_config, EndpointConfigName=name)


def _keep_variants(response_dict: Record, customized_response_dict: Record, **_: Any) -> None:
    """Keep the members of variants that Lambda's own boto3 does not know, and would drop.

    InstancePools are in boto3 since 1.43.1.
    """
    if response_dict["status_code"] == 200:
        content = json.loads(response_dict["body"])
        customized_response_dict["ProductionVariants"] = content["ProductionVariants"]


def _describe_or_none(describe: Any, **request: str) -> Record | None:
    try:
        description: Record = describe(**request)
    except ClientError as error:
        if "Could not find" in error.response["Error"]["Message"]:
            return None
        raise
    return description


def _query_pages(service: str, operation: str, expression: str, **request: Any) -> Iterator[Any]:
    """Yield the values of a JMESPath expression in all pages of a response."""
    pages = boto3.client(service).get_paginator(operation).paginate(**request)  # type: ignore[call-overload]
    return (value for value in pages.search(expression) if value is not None)


def _production_variants(config: Record) -> list[Record]:
    variants: list[Record] = config["ProductionVariants"]
    return variants


def _variant_names(config: Record) -> str:
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


def _catalog_entries(name: str) -> Iterator[Record]:
    """Yield the entries of a catalog, TABLE/ENDPOINT. Raise `RuntimeError` if one is invalid."""
    table, _, endpoint = name.partition("/")
    request = {
        "TableName": table,
        "IndexName": "by-endpoint",
        "KeyConditionExpression": "endpoint = :endpoint",
        "ExpressionAttributeValues": {":endpoint": {"S": endpoint}},
    }
    for item in _query_pages("dynamodb", "query", "Items[]", **request):
        match _parse_json(item.get("entry", {}).get("S", "")):
            case {"model": str(), **others} as entry if isinstance(
                others.get("target_model"), str | None
            ):
                yield entry
            case _:
                key = {"model_key": item["model_key"], "revision": {"N": "0"}}
                raise RuntimeError(
                    f"Item {item['model_key']['S']} of {table} is not a catalog entry: delete it "
                    "(calls of its model will fail) and deploy again: aws dynamodb delete-item "
                    f"--table-name {table} --key '{json.dumps(key)}'. {UNCHANGED}"
                )


def _parse_json(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _times_below(bucket: str, prefix: str) -> dict[str, Any]:
    """Return when each object below a prefix was last written, by the rest of its key."""
    objects = _query_pages("s3", "list_objects_v2", "Contents[]", Bucket=bucket, Prefix=prefix)
    return {item["Key"].removeprefix(prefix): item["LastModified"] for item in objects}
