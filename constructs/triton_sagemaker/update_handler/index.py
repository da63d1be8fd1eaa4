"""Custom resource handler of `UpdateChecks`: holds updates and the deletion of an endpoint.

Of inference components, the guard waits for operations in progress and compares checksums as of
other archives; the check looks at each component, too, since entries of the catalog follow it. A
component keeps its name from version to version: while it is updated or rolled back, copies of both
versions answer, and the entry has the other one's version.

It changes nothing. The provider calls `on_event` first, and then `is_complete` every 15 seconds
until it answers or the time is up. Throttled and failed calls are repeated in the same way: the
provider takes every error for the result.

In CloudFormation's own rollback, which brings back what served before, the guard only waits. The
check still fails: where SageMaker has rolled that update back, CloudFormation would go on to delete
what serves.
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

LONGEST_REASON = 2000
"""CloudFormation takes no more than 4 KiB of a custom resource's answer."""

SERVING = ("InService", "SystemUpdating")
"""The latter is AWS's maintenance, which changes nothing (API reference, DescribeEndpoint)."""
SCALING = ("Updating", "RollingBack")
"""Scaling sets these too; an update to another configuration has a PendingDeploymentSummary beside
them (API reference, DescribeEndpoint)."""
IN_PROGRESS = (*SCALING, "Creating", "Deleting", "SystemUpdating")
"""Statuses that end by themselves; until then SageMaker refuses to update or delete it."""

WAIT_MINUTES = 20
"""How long an update waits: what is refused then is deployed again."""
LONG_WAIT_MINUTES = 50
"""How long a rollback and a deletion wait, which a person has to mend if they fail."""

ALARM_REASON = (
    "a rollback alarm went off (aws cloudwatch describe-alarm-history --history-item-type "
    "StateUpdate names it)"
)

UNREACHABLE = (exceptions.ConnectionError, exceptions.HTTPClientError)

Record = dict[str, Any]


class NotYet(Exception):
    """An operation in progress, with the advice for when it takes too long.

    Without advice, that is no reason to fail.
    """

    def __init__(self, state: str, advice: str | None) -> None:
        super().__init__(state)
        self.advice = advice


def handle(event: Record, _context: object) -> Record:
    """Return whether CloudFormation may go on, of an event that was begun, or begin it.

    A begun event has the time as `Since`; the id is kept when the endpoint's name changes. Raise
    `RuntimeError` with a reason and advice.
    """
    if "Since" not in event:
        name = f"{event['ResourceType']}/{event['ResourceProperties']['Endpoint']}"
        return {"PhysicalResourceId": event.get("PhysicalResourceId", name), "Since": time.time()}
    try:
        _decide(event)
    except (NotYet, ClientError, *UNREACHABLE) as error:
        if isinstance(error, ClientError) and not _is_transient(error):
            raise
        return {"IsComplete": False}
    return {"IsComplete": True}


def _decide(event: Record) -> None:
    """Raise `NotYet` where the answer is not known, `RuntimeError` where it is no, or too late."""
    is_deleted = event["RequestType"] == "Delete"
    try:
        DECISIONS[event["ResourceType"], is_deleted](event)
    except NotYet as waiting:
        minutes = (time.time() - event["Since"]) / 60
        is_final = is_deleted or _rolls_back(event["StackId"])
        if minutes < (LONG_WAIT_MINUTES if is_final else WAIT_MINUTES):
            raise
        reason = f"{waiting} after {minutes:.0f} minutes: {waiting.advice}"
        if waiting.advice:
            raise RuntimeError(reason[:LONGEST_REASON]) from None


def _may_be_updated(event: Record) -> None:
    """Raise where the endpoint is going to be updated, and must not be."""
    properties, stack = event["ResourceProperties"], event["StackId"]
    live = _live_endpoint(properties["Endpoint"])
    if live is None:
        return
    components = _components(properties)
    is_other = live["EndpointConfigName"] != properties["ConfigName"] or any(
        properties["Components"][name] != _model(each) for name, each in components.items()
    )
    busy = _busy(live, components)
    if busy and (is_other or _changes_endpoint(event)):
        advice = f"wait until it is InService, and deploy again. {UNCHANGED}"
        if _rolls_back(stack):
            advice = f"wait until it is InService, then continue the rollback: {_continue(stack)}"
        raise NotYet(busy, advice)
    refusals = [*_refusals(properties, live)] if is_other and not _rolls_back(stack) else []
    if refusals:
        raise RuntimeError(" ".join([*refusals, UNCHANGED])[:LONGEST_REASON])


def _was_updated(event: Record) -> None:
    """Raise where the endpoint does not serve what was deployed, or has not left its old VPC."""
    properties = event["ResourceProperties"]
    if deviation := _deviation(properties):
        if _rolls_back(event["StackId"]):
            deviation += f" {_way_on(properties, event['StackId'])}"
        raise RuntimeError(deviation[:LONGEST_REASON])
    group = event.get("OldResourceProperties", {}).get("SecurityGroup")
    if group != properties.get("SecurityGroup") and (interfaces := _interfaces(group)):
        raise NotYet(f"Network interfaces {interfaces} are still in {group}", None)


def _may_be_deleted(event: Record) -> None:
    """Raise while SageMaker refuses to delete it or a component; scalable targets are gone."""
    properties = event["ResourceProperties"]
    live = _live_endpoint(properties["Endpoint"])
    if live and (busy := _busy(live, _components(properties))):
        raise NotYet(busy, "wait until it is InService, and delete the stack again")


def _is_gone(event: Record) -> None:
    """Raise while an endpoint that was deleted still has network interfaces.

    SageMaker deletes them later, as the endpoint's role: "Do not delete or revoke the permissions
    for your ExecutionRoleArn, otherwise SageMaker cannot delete these resources" (API reference,
    DeleteEndpoint). CloudFormation waits for none of it (aws-cloudformation/
    cloudformation-coverage-roadmap#1327), and goes on with the role, security group and subnets.
    """
    name = event["ResourceProperties"]["Endpoint"]
    group = event["ResourceProperties"].get("SecurityGroup")
    if _live_endpoint(name):  # only the guard is deleted
        return
    if interfaces := _interfaces(group):
        raise NotYet(
            f"Endpoint {name} is deleted, and its network interfaces {interfaces} are still in "
            f"{group}",
            'delete them, and then the stack again (docs/runbook.md, "A private stage is not '
            'destroyed")',
        )


DECISIONS = {
    (GUARD, False): _may_be_updated,
    (CHECK, False): _was_updated,
    (CHECK, True): _may_be_deleted,
    (GUARD, True): _is_gone,
}
"""Type of the resource, and whether it is deleted -> what is checked. CloudFormation deletes the
check before the endpoint, and the guard between the endpoint and its configuration."""


def _changes_endpoint(event: Record) -> bool:
    """Whether CloudFormation calls UpdateEndpoint next."""
    old, new = event.get("OldResourceProperties"), event["ResourceProperties"]
    return old is None or any(old.get(key) != new.get(key) for key in ("ConfigName", "Deployment"))


def _refusals(properties: Record, live: Record) -> Iterator[str]:
    """Yield why the endpoint must not be updated to the properties configuration now."""
    name, status = live["EndpointName"], live["EndpointStatus"]
    if status == "Failed":
        # EndpointSummary's API reference: it can only be deleted.
        yield (
            f"Endpoint {name} has failed, and SageMaker can only delete it. Deploy a second "
            "endpoint and move the clients, then destroy this one's stack: no call to it is "
            "answered from then until it is deployed again."
        )
        return
    if status not in ("InService", "UpdateRollbackFailed"):
        # Of the latter, developer guide, "Use rolling deployments": "You can make another call to
        # the UpdateEndpoint API to return your endpoint to a healthy state".
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
    assert new is not None  # this resource depends on it
    if _variants(old) != _variants(new):
        # Developer guide, deployment-guardrails-exclusions: "your new endpoint configuration must
        # have the same variant name as the old endpoint configuration".
        yield (
            f"Endpoint {name} has the variants {_variants(old)}, and would get other variants, "
            f"{_variants(new)}: SageMaker cannot rename, add or remove variants in an update. "
            "Deploy a second endpoint, and move the clients."
        )
        return
    if _of_components(old) != _of_components(new):
        yield (
            f"Endpoint {name} would begin or cease to host inference components: calls with or "
            "without an InferenceComponentName would fail at once. Deploy a second endpoint, and "
            "move the clients."
        )
        return
    if _of_components(new):
        yield from _other_type(name, old, new)
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
    yield from _other_models(properties, after)
    prefixes = _urls(before, "MultiModel"), _urls(after, "MultiModel")
    yield from _missing_archives(properties, *prefixes)
    yield from _replaced_archives(properties, after)


def _other_type(name: str, old: Record, new: Record) -> Iterator[str]:
    """An endpoint of inference components keeps its instance type.

    "Cannot update endpoint with a different instance type for endpoints to which you plan to deploy
    Inference Components." (aws-samples/sample-auto-extract-ai-ocr-app#66)
    """
    types = [{each.get("InstanceType") for each in _production(config)} for config in (old, new)]
    if types[0] != types[1]:
        yield (
            f"SageMaker updates endpoint {name}, of inference components, to no other instance "
            "type: give the endpoint and its components other names, such as with the type in them."
        )


def _scaled_variants(properties: Record, old: Record, new: Record) -> Iterator[str]:
    """A variant that is registered for scaling may not get another instance type.

    Source: SageMaker developer guide, "Update endpoints that use auto scaling". Scaling stays where
    a variant gets instance pools, or has them (AWS machine learning blog, "Capacity-aware
    inference", 2026-05-04): those are not compared.
    """
    types = {variant["VariantName"]: variant.get("InstanceType") for variant in _production(new)}
    pairs = {
        variant["VariantName"]: (variant.get("InstanceType"), types[variant["VariantName"]])
        for variant in _production(old)
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
            "its instance type. `make deliver` does it in two deploys; or deploy without "
            "scaling first, and then this change with it."
        )


def _other_models(properties: Record, containers: list[Record]) -> Iterator[str]:
    """A call that names no TargetModel is answered by whatever model there is."""
    served = {url.rpartition("/")[2] for url in _urls(containers, "SingleModel")}
    for model in sorted(entry["model"] for entry in _entries(properties["Catalog"])):
        for archive in sorted(name for name in served if name.rpartition("-")[0] != model):
            yield (
                f"Clients call endpoint {properties['Endpoint']} for {model}, but another model, "
                f"{archive}, would answer. Deploy a second endpoint, and move the clients."
            )


def _missing_archives(properties: Record, before: set[str], after: set[str]) -> Iterator[str]:
    """What the catalog names, before and after, must be wherever instances serve from meanwhile.

    Instances of both prefixes answer while the endpoint is updated. Entries change after that, and
    those of models that leave go last, with what CloudFormation cleans up. If it rolls back then,
    the endpoint goes first, and they name what is new. An endpoint that stays where it is moves
    nobody: what is missing there was missing already, or is built by this stack.
    """
    if before == after:
        return
    named = _named(properties)
    for url in sorted(before | after):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        keys = set(_keys_below(bucket, prefix))
        missing = sorted(name for name in named if not keys >= {name, _manifest(name)})
        if missing:
            yield (
                f"Instances could not find {', '.join(missing)}: missing in {prefix}, from which "
                "instances load during this update or its rollback. Run make deliver, which builds "
                "missing archives first; or deploy the change of release or instance type alone, "
                "with the models that clients use now."
            )


def _replaced_archives(properties: Record, containers: list[Record]) -> Iterator[str]:
    """What new instances load must have the SHA-256 that its builder recorded in the manifest.

    The bucket's policy lets builders alone write either. What a publisher wrote has a manifest of
    the publisher's, and earlier builders recorded no checksum: neither is compared.
    """
    s3 = boto3.client("s3")
    urls, prefixes = _urls(containers, "SingleModel"), _urls(containers, "MultiModel")
    built = {name for name in _named(properties) if not name.startswith("published/")}
    urls |= {prefix + archive for prefix in prefixes for archive in built}
    for url in sorted(urls):
        bucket, _, key = url.removeprefix("s3://").partition("/")
        try:
            written = s3.get_object(Bucket=bucket, Key=_manifest(key))["Body"].read()
            head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("404", "NoSuchKey"):
                raise
            continue  # what is missing is no reason here
        checksum = head.get("ChecksumSHA256", "")
        recorded = json.loads(written)["archive"].get("checksum", checksum)
        if checksum != recorded:
            yield (
                f"{url} has the SHA-256 {checksum or 'of no builder'}, and its manifest records "
                f"{recorded}: somebody has replaced it. Find out who, then have it built again: "
                f"aws s3 rm {url}; make deliver."
            )


def _named(properties: Record) -> set[str]:
    """Return the archives that the catalog names, before and after the update."""
    entries = _entries(properties["Catalog"])
    served = {archive for entry in entries if (archive := entry.get("target_model"))}
    return {*served, *properties["Archives"]}


def _manifest(archive: str) -> str:
    """Return the name of what builders write once an archive is complete."""
    return archive.removesuffix(".tar.gz") + ".json"


def _urls(containers: list[Record], mode: str) -> set[str]:
    return {each["ModelDataUrl"] for each in containers if each["Mode"] == mode}


def _deviation(properties: Record) -> str | None:
    """Return why the endpoint does not serve what was deployed. Raise `NotYet`."""
    name = properties["Endpoint"]
    live = _live_endpoint(name)
    if live is None:
        return f"Endpoint {name} does not exist: destroy its stack, and deploy it again."
    status, serves = live["EndpointStatus"], live["EndpointConfigName"] == properties["ConfigName"]
    is_scaling = status in SCALING and "PendingDeploymentSummary" not in live
    if serves and (is_scaling or status in SERVING):
        return _deviating_component(properties)
    if status in IN_PROGRESS:
        raise NotYet(
            f"{_state(live)}, and serves with {live['EndpointConfigName']},",
            f"to see the reason: aws sagemaker describe-endpoint --endpoint-name {name}",
        )
    if status != "InService":
        return f"{_state(live)}: {live.get('FailureReason', '')}"
    # An alarm leaves no reason (hashicorp/terraform-provider-aws#48997).
    return (
        f"SageMaker rolled back the update of endpoint {name}: "
        f"{live.get('FailureReason', ALARM_REASON)}. It serves with "
        f"{live['EndpointConfigName']}, as before, and the catalog is unchanged."
    )


def _deviating_component(properties: Record) -> str | None:
    """Return why a component does not serve what was deployed. Raise `NotYet`.

    One that is Updating with the deployed Model is scaled.
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
                raise NotYet(status, f"to see the reason: aws sagemaker {command}")
            return (
                f"SageMaker rolled back the update of inference component {name}: {reason}. It "
                f"serves Model {_model(live[name])}, as before, and the catalog is unchanged."
            )
    return None


def _way_on(properties: Record, stack: str) -> str:
    """Return the commands that continue a rollback: it only runs this check again."""
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
    """Return the ids of the network interfaces in a security group, an empty text without any."""
    if not group:
        return ""
    filters = [{"Name": "group-id", "Values": [group]}]
    ids = "NetworkInterfaces[].NetworkInterfaceId"
    return ", ".join(_pages("ec2", "describe_network_interfaces", ids, Filters=filters))


def _continue(stack: str) -> str:
    """Return the command for a stack by its ARN, arn:...:stack/NAME/ID."""
    return f"aws cloudformation continue-update-rollback --stack-name {stack.split('/')[1]}"


def _state(live: Record) -> str:
    if name := live.get("InferenceComponentName"):
        return f"Inference component {name} is {live['InferenceComponentStatus']}"
    return f"Endpoint {live['EndpointName']} is {live['EndpointStatus']}"


def _busy(live: Record, components: dict[str, Record]) -> str | None:
    """Return the state of the endpoint, or of a component, with an operation in progress."""
    if live["EndpointStatus"] in IN_PROGRESS:
        return _state(live)
    busy = (each for each in components.values() if each["InferenceComponentStatus"] in IN_PROGRESS)
    return next(map(_state, busy), None)


def _components(properties: Record) -> dict[str, Record]:
    """Return what there is of the deployed inference components, by their names."""
    describe = boto3.client("sagemaker").describe_inference_component
    described = {
        name: _if_found(describe, InferenceComponentName=name)
        for name in properties.get("Components", ())
    }
    return {name: component for name, component in described.items() if component}


def _model(component: Record) -> str | None:
    name: str | None = component["Specification"].get("ModelName")
    return name


def _rolls_back(stack: str) -> bool:
    (described,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in described["StackStatus"]


def _is_transient(error: ClientError) -> bool:
    """Whether the same call may succeed later: AWS throttles it, or fails."""
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return status == 429 or status >= 500 or "Throttl" in error.response["Error"]["Code"]


def _live_endpoint(name: str) -> Record | None:
    return _if_found(boto3.client("sagemaker").describe_endpoint, EndpointName=name)


def _config(name: str) -> Record | None:
    return _if_found(boto3.client("sagemaker").describe_endpoint_config, EndpointConfigName=name)


def _if_found(describe: Any, **request: str) -> Record | None:
    try:
        answer: Record = describe(**request)
    except ClientError as error:
        if "Could not find" in error.response["Error"]["Message"]:
            return None
        raise
    return answer


def _pages(service: str, operation: str, expression: str, **request: Any) -> Iterator[Any]:
    """Yield the values of a JMESPath expression in every page of an answer."""
    pages = boto3.client(service).get_paginator(operation).paginate(**request)  # type: ignore[call-overload]
    return (value for value in pages.search(expression) if value is not None)


def _production(config: Record) -> list[Record]:
    variants: list[Record] = config["ProductionVariants"]
    return variants


def _variants(config: Record) -> str:
    return ", ".join(sorted(variant["VariantName"] for variant in _production(config)))


def _of_components(config: Record) -> bool:
    """Whether the endpoint hosts inference components: its variants have no Models."""
    return any("ModelName" not in variant for variant in _production(config))


def _containers(config: Record, properties: Record | None = None) -> list[Record]:
    """Return the containers of a configuration, as far as their Models are still there.

    With `properties`, also those of the inference components that are going to be deployed.
    """
    describe = boto3.client("sagemaker").describe_model
    names = sorted(
        {variant["ModelName"] for variant in _production(config) if "ModelName" in variant}
        | {*(properties or {}).get("Components", {}).values()}
        | {
            pool["ModelNameOverride"]
            for variant in _production(config)
            for pool in variant.get("InstancePools", ())
            if "ModelNameOverride" in pool
        }
    )
    models = [_if_found(describe, ModelName=name) for name in names]
    return [{"Mode": "SingleModel", **model["PrimaryContainer"]} for model in models if model]


def _entries(path: str) -> Iterator[Record]:
    """Yield the catalog's entries. Raise `RuntimeError` where a publisher wrote something else."""
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
