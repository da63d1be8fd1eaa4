"""The Lambda function of UpdateChecks, loaded from its file as Lambda does.

An account in memory answers the calls; botocore validates their parameters.
"""

import hashlib
import json
import time
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from tests.modules import load_module

INDEX = Path(__file__).parents[4] / "constructs/triton_sagemaker/update_handler/index.py"

TABLE = "triton-catalog-prod"
STACK = "arn:aws:cloudformation:us-east-1:000000000000:stack/prod-text/0a1b"
OLD, NEW = "text/cuda-25.04-sm86/", "text/cuda-25.09-sm86/"
PROPERTIES = {
    "Endpoint": "prod-text",
    "ConfigName": "new",
    "Catalog": "triton-catalog-prod/text",
    "List": "assets/prod/0a1b.jsonl",
    "Deployment": {"BlueGreenUpdatePolicy": {}},
}
GROUP = "sg-0a1b"
SHA256, OTHER = 43 * "A" + "=", 43 * "B" + "="


def config(*variants: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Return production variants from (name, model, instance type without ml. and size)."""
    return [
        {
            **{"VariantName": name, "ModelName": model, "InstanceType": f"ml.{kind}.xlarge"},
            "InitialInstanceCount": 2,
        }
        for name, model, kind in variants
    ]


class Account:
    """The resources of an AWS account in memory, and the handler that reads them.

    Tests change the attributes.
    """

    def __init__(self, handler: ModuleType) -> None:
        self.handler = handler
        self.stack_status = "UPDATE_IN_PROGRESS"
        self.endpoint: dict[str, Any] | None = {
            "EndpointName": "prod-text",
            "EndpointConfigName": "old",
            "EndpointStatus": "InService",
        }
        self.configs = {
            "old": config(("AllTraffic", "old-model", "g5")),
            "new": config(("AllTraffic", "new-model", "g5")),
        }
        self.models = {
            "old-model": {"Mode": "MultiModel", "ModelDataUrl": f"s3://models/{OLD}"},
            "new-model": {"Mode": "MultiModel", "ModelDataUrl": f"s3://models/{NEW}"},
        }
        self.components: dict[str, dict[str, Any]] = {}
        self.scaled: set[str] = set()
        self.interfaces = ["eni-1", "eni-2"]
        self.failure: Exception | tuple[int, str] | None = None
        self.catalog = ["minilm-1.tar.gz", None]
        self.listed = ["minilm-1.tar.gz", None]
        self.invalid_entries: list[str] = []
        self.keys = [
            f"{prefix}minilm-1.{end}" for prefix in (OLD, NEW) for end in ("json", "tar.gz")
        ]
        self.checksums = {f"{prefix}minilm-1.tar.gz": f"{SHA256}-1" for prefix in (OLD, NEW)}
        self.manifest_archives = {
            key: {"checksum": checksum} for key, checksum in self.checksums.items()
        }
        self.replaced: set[str] = set()
        self.compared: list[str] = []

    def replace(self, key: str, checksum: str) -> None:
        """Replace an archive by one with another checksum; it is newer than its manifest."""
        self.checksums[key] = checksum
        self.replaced.add(key)

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response of an operation. Raise KeyError for a missing resource."""
        if isinstance(self.failure, Exception):
            raise self.failure
        match operation:
            case "DescribeStacks":
                assert request == {"StackName": STACK}
                return {"Stacks": [{"StackStatus": self.stack_status}]}
            case "DescribeEndpoint":
                return {"prod-text": self.endpoint or {}}[
                    request["EndpointName"]
                ] or self._raise_missing()
            case "DescribeEndpointConfig":
                return {"ProductionVariants": self.configs[request["EndpointConfigName"]]}
            case "DescribeModel":
                return {"PrimaryContainer": self.models[request["ModelName"]]}
            case "DescribeInferenceComponent":
                return self.components[request["InferenceComponentName"]]
            case "DescribeScalableTargets":
                assert request["ServiceNamespace"] == "sagemaker"
                targets = sorted(self.scaled & set(request["ResourceIds"]))
                return {"ScalableTargets": [{"ResourceId": target} for target in targets]}
            case "Query":
                assert (request["TableName"], request["IndexName"]) == (TABLE, "by-endpoint")
                assert request["ExpressionAttributeValues"] == {":endpoint": {"S": "text"}}
                values = [
                    json.dumps({"model": "m", "target_model": target_model})
                    for target_model in self.catalog
                ]
                return {
                    "Items": [
                        {"model_key": {"S": "text#a"}, "entry": {"S": value}}
                        for value in values + self.invalid_entries
                    ]
                }
            case "DescribeNetworkInterfaces":
                assert request == {"Filters": [{"Name": "group-id", "Values": [GROUP]}]}
                return {
                    "NetworkInterfaces": [
                        {"NetworkInterfaceId": interface} for interface in self.interfaces
                    ]
                }
            case "GetObject" if request["Key"].endswith(".jsonl"):
                assert f"{request['Bucket']}/{request['Key']}" == PROPERTIES["List"]
                return {"Body": BytesIO(self._list())}
            case "GetObject":
                return {"Body": BytesIO(json.dumps(self._manifest(request["Key"])).encode())}
            case "HeadObject":
                assert request["ChecksumMode"] == "ENABLED"
                self.compared.append(request["Key"])
                return {"ChecksumSHA256": self.checksums[request["Key"]]}
            case "ListObjectsV2":
                keys = [key for key in self.keys if key.startswith(request["Prefix"])]
                return {"Contents": [{"Key": key, "LastModified": self._time(key)} for key in keys]}
        raise AssertionError(operation)

    def _list(self) -> bytes:
        entries = [{"model": "m", "target_model": archive} for archive in self.listed]
        return "".join(f"{json.dumps(entry)}\n" for entry in entries).encode()

    def _time(self, key: str) -> datetime:
        """Return the time of an object: builders write the manifest last."""
        seconds = 3 if key in self.replaced else 2 if key.endswith(".json") else 1
        return datetime.fromtimestamp(seconds, UTC)

    def _manifest(self, key: str) -> dict[str, Any]:
        archive = key.replace(".json", ".tar.gz")
        if archive not in self.manifest_archives:
            code = {"Code": "NoSuchKey", "Message": "The specified key does not exist."}
            raise ClientError({"Error": code}, "GetObject")  # type: ignore[typeddict-item]
        return {"archive": self.manifest_archives[archive]}

    def _raise_missing(self) -> dict[str, Any]:
        raise KeyError

    def send(
        self,
        kind: str,
        request_type: str = "Update",
        *,
        minutes: float = 0,
        old: dict[str, Any] | None = None,
        **changes: Any,
    ) -> bool:
        """Send the handler a guard or check event, `minutes` old; return `IsComplete`.

        `changes` are changes of the new and old properties, `old` only of the old ones; without
        `old`, the event has no old properties.
        """
        digest = hashlib.sha256(self._list()).hexdigest()
        properties = {**PROPERTIES, "Digest": digest, **changes}
        event = {
            "RequestType": request_type,
            "ResourceType": f"Custom::TritonUpdate{kind}",
            "StackId": STACK,
            "ResourceProperties": properties,
            **({} if old is None else {"OldResourceProperties": {**properties, **old}}),
        }
        response = self.handler.handle(event, None)
        assert response["PhysicalResourceId"] == f"Custom::TritonUpdate{kind}/prod-text"
        response["Since"] -= minutes * 60
        answer: dict[str, bool] = self.handler.handle({**event, **response}, None)
        return answer["IsComplete"]

    def error(self, kind: str = "Guard", **changes: Any) -> str:
        """Send an event that must fail; return the message."""
        with pytest.raises(RuntimeError) as raised:
            self.send(kind, **changes)
        return str(raised.value)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    """Return an account that answers the AWS calls of its handler."""
    handler: Any = load_module(INDEX)
    account = Account(handler)
    session: Any = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
    request: dict[str, Any] = {}

    def create_client(service: str) -> Any:
        client = session.client(service, region_name="us-east-1")
        client.meta.events.register("provide-client-params", remember)
        client.meta.events.register("before-call", respond)
        return client

    def remember(params: dict[str, Any], **_: Any) -> None:
        request.clear()
        request.update(params)

    def respond(model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        if isinstance(account.failure, tuple):
            status, code = account.failure
            error = {"Code": code, "Message": "No."}
            response = {"ResponseMetadata": {"HTTPStatusCode": status}, "Error": error}
            return SimpleNamespace(status_code=status), response
        try:
            parsed = account.answer(model.name, request)
        except KeyError:
            error = {"Code": "ValidationException", "Message": "Could not find it."}
            return SimpleNamespace(status_code=HTTPStatus.BAD_REQUEST), {"Error": error}
        return SimpleNamespace(status_code=HTTPStatus.OK), parsed

    monkeypatch.setattr(handler.boto3, "client", create_client)
    return account


def test_members_of_variants_that_boto3_does_not_know_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lambda's own boto3 drops InstancePools, as this one drops a member of the future."""
    client: Any = boto3.client(
        "sagemaker", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    variants = [{"VariantName": "A", "FuturePools": [{"ModelNameOverride": "m"}]}]
    body = json.dumps({"EndpointConfigName": "c", "ProductionVariants": variants}).encode()

    def respond(**_: Any) -> AWSResponse:
        headers: Any = {}
        return AWSResponse("https://aws", 200, headers, SimpleNamespace(stream=lambda: [body]))

    client.meta.events.register("before-send", respond)
    handler: Any = load_module(INDEX)
    monkeypatch.setattr(handler.boto3, "client", lambda _: client)
    assert handler._describe_config("c")["ProductionVariants"] == variants


# Guard: before the update


@pytest.mark.parametrize("status", ["InService", "UpdateRollbackFailed", None])
def test_guard_allows_a_safe_update_and_creation(account: Account, status: str | None) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": status} if status else None
    assert account.send("Guard", "Update" if status else "Create")


IN_PROGRESS = ["Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting"]


@pytest.mark.parametrize("status", IN_PROGRESS)
def test_guard_waits_for_an_operation_in_progress(account: Account, status: str) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": status}
    assert not account.send("Guard")
    account.endpoint = {**account.endpoint, "EndpointStatus": "InService"}
    assert account.send("Guard")


def test_guard_waits_at_most_twenty_minutes(account: Account) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": "Updating"}
    assert not account.send("Guard", minutes=19)
    error = account.error(minutes=21)
    assert error.startswith("Endpoint prod-text is Updating after 21 minutes")
    assert error.endswith("InService, and deploy again. Nothing was changed.")


@pytest.mark.parametrize(
    ("old", "waits"),
    [
        ({"Digest": "0a1b"}, False),  # a new model does not change the endpoint
        ({"ConfigName": "old"}, True),
        ({"Deployment": {}}, True),
        (None, True),  # the guard itself is new
    ],
)
def test_guard_waits_only_if_the_endpoint_changes(
    account: Account, old: dict[str, Any] | None, waits: bool
) -> None:
    account.endpoint = {
        **{"EndpointName": "prod-text", "EndpointConfigName": "new"},
        "EndpointStatus": "Updating",
    }
    assert account.send("Guard", old=old) is not waits


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("OutOfService", "Endpoint prod-text is OutOfService: wait until it is InService"),
        ("Failed", "Endpoint prod-text has failed, and SageMaker can only delete it. Deploy a"),
    ],
)
def test_guard_rejects_an_endpoint_out_of_service(
    account: Account, status: str, message: str
) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": status}
    assert account.error().startswith(message)
    assert account.error().endswith("Nothing was changed.")


def test_guard_rejects_a_deleted_current_config(account: Account) -> None:
    del account.configs["old"]
    reason = account.error()
    assert reason.startswith("Endpoint prod-text serves, but its configuration old is gone")
    assert "Do not destroy the stack: all calls would fail" in reason


def pools(*types: str, override: str | None = None) -> list[dict[str, Any]]:
    """Return a variant with instance pools; the last pool overrides the model."""
    instance_pools = [{"InstanceType": f"ml.{kind}.xlarge", "Priority": 1} for kind in types]
    if override:
        instance_pools[-1]["ModelNameOverride"] = override
    return [
        {"VariantName": "AllTraffic", "ModelName": "new-model", "InitialInstanceCount": 2}
        | {"InstancePools": instance_pools}
    ]


@pytest.mark.parametrize("old", [config(("AllTraffic", "old-model", "g5")), pools("g5", "g6e")])
def test_guard_allows_instance_pools_of_scaled_variant(
    account: Account, old: list[dict[str, Any]]
) -> None:
    account.configs |= {"old": old, "new": pools("g6", "g5")}
    account.scaled = {"endpoint/prod-text/variant/AllTraffic"}
    assert account.send("Guard")


def test_guard_checks_archives_of_every_instance_type(account: Account) -> None:
    account.configs["new"] = pools("g6", "g5", override="other-gpu")
    for name, target in (("new-model", "sm89"), ("other-gpu", "sm86")):
        key = f"text/cuda-25.09-{target}/m-1.tar.gz"
        account.models[name] = {"Mode": "SingleModel", "ModelDataUrl": f"s3://models/{key}"}
        account.checksums[key], account.manifest_archives[key] = SHA256, {"checksum": SHA256}
        account.keys += [key, key.replace(".tar.gz", ".json")]
    account.models["old-model"] = account.models["new-model"]
    account.catalog = [None]
    assert account.send("Guard")
    account.replace("text/cuda-25.09-sm86/m-1.tar.gz", OTHER)
    assert "text/cuda-25.09-sm86/m-1.tar.gz has the SHA-256" in account.error()


def test_guard_needs_current_archives_below_the_new_prefix(account: Account) -> None:
    account.catalog += ["minilm-0.tar.gz"]
    account.keys += [f"{OLD}minilm-0.tar.gz", f"{OLD}minilm-0.json"]
    assert account.error().startswith(f"Instances could not find minilm-0.tar.gz: missing in {NEW}")
    account.keys.append(f"{NEW}minilm-0.tar.gz")
    assert (
        "could not find minilm-0.tar.gz: missing in" in account.error()
    )  # its manifest is missing
    account.keys.append(f"{NEW}minilm-0.json")
    assert account.send("Guard")


def test_guard_needs_new_archives_below_the_old_prefix(account: Account) -> None:
    account.listed = ["minilm-2.tar.gz"]
    account.keys += [f"{NEW}minilm-2.tar.gz", f"{NEW}minilm-2.json"]
    assert account.error().startswith(
        f"Instances could not find minilm-2.tar.gz: missing in {OLD},"
    )
    account.keys += [f"{OLD}minilm-2.tar.gz", f"{OLD}minilm-2.json"]
    assert account.send("Guard")


def test_guard_needs_no_new_archive_that_the_catalog_keeps_out(account: Account) -> None:
    locations = [f"models/{NEW}"]
    account.listed = ["minilm-2.tar.gz"]
    assert account.send("Guard", Archives=locations)
    account.keys.append(f"{NEW}minilm-2.tar.gz")
    assert account.send("Guard", Archives=locations)  # without a manifest, it is not built
    account.keys.append(f"{NEW}minilm-2.json")
    assert f"find minilm-2.tar.gz: missing in {OLD}," in account.error(Archives=locations)
    account.listed, account.keys = ["minilm-1.tar.gz"], [f"{OLD}minilm-1.tar.gz"]
    assert "could not find minilm-1.tar.gz" in account.error(Archives=locations)


def test_guard_rejects_another_list_than_the_template_has(account: Account) -> None:
    assert "assets/prod/0a1b.jsonl has the SHA-256" in account.error(Digest="0a1b")


def test_guard_ignores_missing_archives_if_prefix_is_unchanged(account: Account) -> None:
    account.models["new-model"] = account.models["old-model"]
    account.catalog += ["gone-0.tar.gz"]
    assert account.send("Guard")


@pytest.mark.parametrize(
    "value", ["junk", "[]", "7", "{}", '{"model": "m", "target_model": ["x"]}', "[" * 99_999]
)
def test_invalid_catalog_entry_is_an_error(account: Account, value: str) -> None:
    account.invalid_entries = [value]
    assert account.error().startswith("Item text#a of triton-catalog-prod is not a catalog entry")


def test_guard_checks_the_prefix_of_every_variant(account: Account) -> None:
    prefix = "text/cuda-25.09-sm89/"
    account.models["other"] = {"Mode": "MultiModel", "ModelDataUrl": f"s3://models/{prefix}"}
    account.configs["old"].append(*config(("Other", "other", "g6")))
    account.configs["new"].append(*config(("Other", "new-model", "g5")))
    assert account.error().startswith(
        f"Instances could not find minilm-1.tar.gz: missing in {prefix},"
    )


def test_guard_rejects_a_replaced_archive(account: Account) -> None:
    account.replace(f"{NEW}minilm-1.tar.gz", f"{OTHER}-1")
    url = f"s3://models/{NEW}minilm-1.tar.gz"
    assert account.error().startswith(f"{url} has the SHA-256 {OTHER}-1, and its manifest records")
    assert {*account.compared} == {f"{NEW}minilm-1.tar.gz"}  # the older ones are not read
    account.checksums[f"{NEW}minilm-1.tar.gz"] = ""  # uploaded without a checksum
    assert account.error().startswith(f"{url} has the SHA-256 (none), and its manifest")
    account.models["new-model"] = account.models["old-model"]
    assert account.send("Guard")  # new instances load from another prefix
    account.replace(f"{OLD}minilm-1.tar.gz", f"{OTHER}-1")
    assert "the archive was replaced" in account.error()  # the prefix is unchanged
    account.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
    assert account.send("Guard")


def test_archives_of_old_builders_and_published_ones_are_not_compared(account: Account) -> None:
    account.manifest_archives[f"{NEW}minilm-1.tar.gz"] = {}  # of an old builder
    account.replaced = {f"{NEW}minilm-1.tar.gz", f"{OLD}minilm-1.tar.gz"}  # by the same bytes
    published = "published/minilm-9.tar.gz"
    account.catalog.append(published)
    for prefix in (OLD, NEW):
        account.keys += [prefix + published, prefix + published.replace(".tar.gz", ".json")]
        account.checksums[prefix + published] = f"{OTHER}-1"
        account.manifest_archives[prefix + published] = {"checksum": f"{SHA256}-1"}
    assert account.send("Guard")


def test_guard_ignores_deleted_models(account: Account) -> None:
    account.models["old-model"] = account.models["new-model"]
    for variants in account.configs.values():
        variants.append(*config(("Second", "gone-model", "g5")))
    assert account.send("Guard")


# Check: after the update


@pytest.mark.parametrize("status", ["Updating", "RollingBack"])
def test_check_accepts_another_operation_after_the_deployed_config_serves(
    account: Account, status: str
) -> None:
    account.endpoint = {
        **{"EndpointName": "prod-text", "EndpointConfigName": "new"},
        "EndpointStatus": status,
    }
    assert account.send("Check")


@pytest.mark.parametrize(
    "changes",
    [
        {"EndpointConfigName": "old"},  # scaling after a rolled back update
        {"PendingDeploymentSummary": {"EndpointConfigName": "other"}},
    ],
)
def test_check_waits_for_the_update_result(account: Account, changes: dict[str, Any]) -> None:
    account.endpoint = {
        **{"EndpointName": "prod-text", "EndpointConfigName": "new"},
        "EndpointStatus": "Updating",
        **changes,
    }
    assert not account.send("Check", minutes=19)
    assert account.error("Check", minutes=21).startswith(
        f"Endpoint prod-text is Updating, and serves with {account.endpoint['EndpointConfigName']},"
        " after 21 minutes: to see the reason: aws sagemaker describe-endpoint"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "SageMaker rolled back the update of endpoint prod-text: a rollback alarm went off"),
        ({"FailureReason": "no GPU"}, "rolled back the update of endpoint prod-text: no GPU. It"),
        ({"EndpointStatus": "UpdateRollbackFailed"}, "Endpoint prod-text is UpdateRollbackFailed"),
    ],
)  # fmt: skip
def test_check_reports_a_rolled_back_update(
    account: Account, changes: dict[str, str], message: str
) -> None:
    account.endpoint = {**(account.endpoint or {}), **changes}
    assert message in account.error("Check")


def test_check_waits_for_network_interfaces_of_the_old_vpc(account: Account) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointConfigName": "new"}
    old = {"ConfigName": "old", "SecurityGroup": GROUP}
    assert not account.send("Check", old=old, minutes=19)
    assert account.send("Check", old=old, minutes=21)  # no reason to roll the update back
    assert account.send("Check", old=old, SecurityGroup=GROUP)
    account.interfaces = []
    assert account.send("Check", old=old)


def test_check_reports_a_missing_endpoint(account: Account) -> None:
    account.endpoint = None
    assert account.error("Check") == (
        "Endpoint prod-text does not exist: destroy its stack, and deploy it again."
    )


# Stack rollbacks and AWS errors


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"])
def test_guard_allows_every_stack_rollback(account: Account, status: str) -> None:
    account.configs["new"] = config(("Other", "new-model", "g5"))
    assert account.error()
    account.stack_status = status
    assert account.send("Guard")


def test_guard_waits_fifty_minutes_in_a_stack_rollback(account: Account) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": "Updating"}
    account.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
    assert not account.send("Guard", minutes=49)
    assert account.error(minutes=51).endswith(
        "rollback: aws cloudformation continue-update-rollback --stack-name prod-text"
    )


def test_check_reports_a_stack_rollback_that_sagemaker_rolled_back(account: Account) -> None:
    account.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
    account.endpoint = {**(account.endpoint or {}), "EndpointConfigName": "new"}
    assert account.error("Check", ConfigName="old").endswith(
        "Nothing that serves is deleted. Remove the cause, then run: aws sagemaker update-endpoint "
        "--endpoint-name prod-text --endpoint-config-name old --retain-all-variant-properties; aws "
        "sagemaker wait endpoint-in-service --endpoint-name prod-text; "
        "aws cloudformation continue-update-rollback --stack-name prod-text"
    )
    assert account.send("Check", ConfigName="new")


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "ThrottlingException"), (503, "Unavailable"),
     (400, "ProvisionedThroughputExceededException"), (400, "RequestLimitExceeded")],
)  # fmt: skip
def test_transient_aws_errors_are_retried(account: Account, status: int, code: str) -> None:
    account.failure = (status, code)
    assert not account.send("Guard")
    assert not account.send("Check", minutes=30)


def test_access_denied_is_not_retried(account: Account) -> None:
    account.failure = (400, "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        account.send("Guard")


# Stack deletion


@pytest.mark.parametrize("kind", ["Guard", "Check"])
def test_deletion_without_endpoint_is_complete(account: Account, kind: str) -> None:
    account.endpoint = None
    account.stack_status = "DELETE_IN_PROGRESS"
    assert account.send(kind, "Delete")


@pytest.mark.parametrize("status", IN_PROGRESS)
def test_deletion_waits_for_an_operation_in_progress(account: Account, status: str) -> None:
    account.endpoint = {**(account.endpoint or {}), "EndpointStatus": status}
    assert not account.send("Check", "Delete", minutes=49)
    assert account.error("Check", request_type="Delete", minutes=51).endswith(
        "after 51 minutes: wait until it is InService, and delete the stack again"
    )
    account.endpoint = {**account.endpoint, "EndpointStatus": "Failed"}
    assert account.send("Check", "Delete")


def test_deletion_waits_for_network_interfaces(account: Account) -> None:
    account.endpoint = None
    assert not account.send("Guard", "Delete", SecurityGroup=GROUP, minutes=49)
    error = account.error(request_type="Delete", SecurityGroup=GROUP, minutes=51)
    assert f"network interfaces eni-1, eni-2 are still in {GROUP} after 51 minutes" in error
    account.interfaces = []
    assert account.send("Guard", "Delete", SecurityGroup=GROUP)


def test_guard_deletion_with_existing_endpoint_is_complete(account: Account) -> None:
    assert account.send("Guard", "Delete", SecurityGroup=GROUP)


def test_physical_id_survives_a_renamed_endpoint() -> None:
    properties = {**PROPERTIES, "Endpoint": "prod-other"}
    event = {
        **{"RequestType": "Update", "ResourceType": "Custom::TritonUpdateGuard"},
        **{"PhysicalResourceId": "as-before", "ResourceProperties": properties},
    }
    before = time.time()
    response = load_module(INDEX).handle(event, None)
    assert response["PhysicalResourceId"] == "as-before"
    assert before <= response["Since"] <= time.time()


def test_error_is_truncated_for_cloudformation(account: Account) -> None:
    account.catalog = [f"{'m' * 100}-{number}.tar.gz" for number in range(50)]
    assert len(account.error()) == 2000


# Inference components

ARCHIVE = "text/cpu-25.09/minilm-2.tar.gz"
COMPONENTS: dict[str, Any] = {"Components": {"prod-text-minilm": "new-model"}}


def component(model: str, status: str = "InService", **fields: str) -> dict[str, Any]:
    """Return a response of DescribeInferenceComponent."""
    return {
        "InferenceComponentName": "prod-text-minilm",
        "InferenceComponentStatus": status,
        "Specification": {"ModelName": model},
        **fields,
    }


@pytest.fixture
def component_account(account: Account) -> Account:
    """Return an account with an endpoint whose component will serve another archive."""
    variant = {"VariantName": "AllTraffic", "InstanceType": "ml.g5.xlarge"}
    account.configs = {"old": [variant], "new": [variant]}
    account.models = {"new-model": {"ModelDataUrl": f"s3://models/{ARCHIVE}"}}
    account.checksums = {ARCHIVE: SHA256}
    account.manifest_archives = {ARCHIVE: {"checksum": SHA256}}
    account.catalog = account.listed = [None]
    account.keys = [ARCHIVE, ARCHIVE.replace(".tar.gz", ".json")]
    account.endpoint = {**(account.endpoint or {}), "EndpointConfigName": "new"}
    account.components = {"prod-text-minilm": component("old-model")}
    return account


def test_guard_rejects_a_replaced_component_archive(component_account: Account) -> None:
    assert component_account.send("Guard", **COMPONENTS)
    component_account.replace(ARCHIVE, OTHER)
    assert f"{ARCHIVE} has the SHA-256" in component_account.error(**COMPONENTS)
    component_account.components["prod-text-minilm"] = component("new-model")  # not updated
    assert component_account.send("Guard", **COMPONENTS)


@pytest.mark.parametrize("status", ["Creating", "Updating", "Deleting"])
def test_guard_waits_for_a_component_in_progress(component_account: Account, status: str) -> None:
    component_account.components["prod-text-minilm"] = component("old-model", status)
    assert not component_account.send("Guard", **COMPONENTS)
    assert component_account.error(minutes=21, **COMPONENTS).startswith(
        f"Inference component prod-text-minilm is {status} after 21 minutes: wait until it is"
    )


def test_guard_rejects_new_instance_type_of_component_endpoint(component_account: Account) -> None:
    component_account.endpoint = {**(component_account.endpoint or {}), "EndpointConfigName": "old"}
    component_account.configs["new"] = [
        {"VariantName": "AllTraffic", "InstanceType": "ml.g6.xlarge"}
    ]
    assert component_account.error(**COMPONENTS).startswith(
        "SageMaker cannot change the instance type of endpoint prod-text, because it hosts"
    )


def test_guard_rejects_switch_to_components(account: Account) -> None:
    account.configs["new"] = [{"VariantName": "AllTraffic", "InstanceType": "ml.g5.xlarge"}]
    assert account.error(**COMPONENTS).startswith(
        "Endpoint prod-text would start or stop hosting inference components"
    )


def test_check_accepts_the_deployed_component(component_account: Account) -> None:
    component_account.components["prod-text-minilm"] = component("new-model")
    assert component_account.send("Check", **COMPONENTS)
    component_account.components["prod-text-minilm"] = component("new-model", "Updating")  # scaling
    assert component_account.send("Check", **COMPONENTS)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (component("old-model"),
         "SageMaker rolled back the update of inference component prod-text-minilm: a rollback "
         "alarm went off"),
        (component("old-model", FailureReason="no memory"),
         "SageMaker rolled back the update of inference component prod-text-minilm: no memory. "
         "It serves Model old-model, as before, and the catalog is unchanged."),
        (component("new-model", "Failed", FailureReason="no memory"),
         "Inference component prod-text-minilm is Failed: no memory"),
        (None, "Inference component prod-text-minilm does not exist"),
    ],
)  # fmt: skip
def test_check_reports_a_deviating_component(
    component_account: Account, described: dict[str, Any] | None, message: str
) -> None:
    component_account.components = {"prod-text-minilm": described} if described else {}
    assert component_account.error("Check", **COMPONENTS).startswith(message)


def test_failed_component_rollback_error_has_the_commands(component_account: Account) -> None:
    component_account.stack_status = "UPDATE_ROLLBACK_IN_PROGRESS"
    reason = component_account.error("Check", **COMPONENTS)
    assert "continue-update-rollback --stack-name prod-text. If it fails here again" in reason
    assert reason.endswith("aws sagemaker update-inference-component.")


def test_component_deletion_waits_for_scaling(component_account: Account) -> None:
    component_account.components["prod-text-minilm"] = component("new-model", "Updating")
    assert not component_account.send("Check", "Delete", **COMPONENTS)
    component_account.components["prod-text-minilm"] = component("new-model")
    assert component_account.send("Check", "Delete", **COMPONENTS)
