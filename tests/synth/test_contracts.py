"""Constants and formats that packages share without importing each other."""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import boto3
import pytest
from aws_cdk import aws_logs as logs
from botocore.response import StreamingBody
from botocore.stub import Stubber

import model_build
from delivery import archives, deploy
from endpoint_client import EndpointClient, _catalog
from local_sagemaker import PYTHON_VARIABLE
from model_build.commands import publish
from model_build.manifest import StoredSource
from model_build.publishing import engines
from plan.archives import ArchiveBucket
from plan.catalog import Catalog, Entry
from platform_facts.rules import catalog
from platform_facts.rules.bucket_keys import LISTS, manifest_key, source_key
from stacks.model_stack import BUILDSPEC, build_functions
from stacks.settings import RETENTION
from stages.plan import MODELS
from stages.schema.alarms import AlarmsConfig
from stages.schema.stage import RetentionDays
from tests import catalog_items
from tests.catalog_items import create_table, memory_dynamodb, write_entry
from tests.synth.conftest import assembly_of, templates_of
from tests.synth.endpoints import properties_of
from triton_sagemaker import AlarmThresholds, ModelBuilder
from triton_sagemaker.build_handler import index

KEY = "text/cpu-24.09/minilm-0123456789ab.tar.gz"
OUTPUTS = (archives.START_FUNCTION, archives.POLL_FUNCTION)
MANIFEST = "text/cpu-24.09/minilm-0123456789ab.json"


def test_table_and_its_items_are_the_same_everywhere() -> None:
    (resource,) = templates_of("prod")["prod-catalog"]["Resources"].values()
    table = resource["Properties"]
    name = table["TableName"]
    assert name == catalog.table_name("prod")
    session = boto3.Session(region_name="us-east-1")
    client = EndpointClient(stage="prod", endpoint="text", session=session)
    assert client._catalog._table == name
    assert {key: table[key] for key in catalog_items.SCHEMA} == catalog_items.SCHEMA
    assert _catalog.INDEX == catalog.INDEX
    for handler in ("catalog_handler", "update_handler"):
        code = Path("constructs/triton_sagemaker", handler, "index.py").read_text()
        assert f'"{catalog.INDEX}"' in code


@pytest.fixture
def entry() -> Entry:
    """Return the entry of minilm in the list that a deploy writes for prod's endpoint `text`."""
    lists = [path.read_text() for path in Path(assembly_of("prod").directory).glob("*.jsonl")]
    lines: list[Entry] = [json.loads(line) for text in lists for line in text.splitlines()]
    entries = [line for line in lines if "endpoint" in line]
    (result,) = (entry for entry in entries if entry["endpoint"] == "prod-text")
    return result


def test_client_reads_an_entry_of_the_deployed_list(entry: Entry) -> None:
    dynamodb = memory_dynamodb()
    create_table(dynamodb, "prod")
    write_entry(Catalog(dynamodb, "prod", "text"), entry)
    session = boto3.Session(region_name="us-east-1")
    client = EndpointClient(stage="prod", endpoint="text", session=session)
    client._catalog._dynamodb = dynamodb
    result = client.resolve("minilm")
    assert (result.model, result.endpoint) == ("minilm", "prod-text")
    assert [tensor.name for tensor in result.inputs] == ["TEXT"]
    assert client.models() == ["minilm"]


def test_builds_read_the_lists_of_deliveries() -> None:
    assert f"{{bucket}}/{LISTS}*.jsonl" == index.MOVES


def test_publish_and_deploy_write_the_same_entry(entry: Entry) -> None:
    plan = model_build.plan_model(model_build.find_model(MODELS, "minilm"))
    assert entry == publish.catalog_entry(plan, "prod-text", plan.target_model)


@pytest.mark.parametrize(
    ("manifest", "archive", "complete"),
    [
        ({"checksum": "AAAA-1"}, {"ChecksumSHA256": "AAAA-1"}, True),
        ({}, {}, True),  # archive of an old builder, without checksum
        ({"checksum": "AAAA-1"}, {"ChecksumSHA256": "BBBB-1"}, False),
        ({"checksum": "AAAA-1"}, {}, False),
    ],
)
def test_replaced_archives_are_the_same_everywhere(
    manifest: dict[str, str],
    archive: dict[str, str],
    complete: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s3 = boto3.client("s3", region_name="us-east-1")
    monkeypatch.setattr(boto3, "client", lambda _: s3)
    completeness_checks: list[Callable[[], object]] = [
        lambda: index._verify({"key": KEY, "digest": "d"}, "models"),
        lambda: ArchiveBucket(s3, "models").is_complete(KEY),
    ]
    for check in completeness_checks:
        with Stubber(s3) as stubbed:
            body = json.dumps({"digest": "d", "archive": manifest}).encode()
            content = StreamingBody(io.BytesIO(body), len(body))
            stubbed.add_response(
                "get_object", {"Body": content}, {"Bucket": "models", "Key": MANIFEST}
            )
            request = {"Bucket": "models", "Key": KEY, "ChecksumMode": "ENABLED"}
            stubbed.add_response("head_object", archive, request)
            if complete:
                check()
            else:
                with pytest.raises(Exception, match="replaced"):
                    check()
    assert manifest_key(KEY) == MANIFEST


def test_delivery_rebuilds_from_manifest_source() -> None:
    source = StoredSource(model="bert", alternative="onnx")
    item = archives.item_of({"digest": "d", "source": source.model_dump()})
    assert (item.model, item.alternative, item.digest) == ("bert", "onnx", "d")
    assert item.source == source_key("d")


def test_buildspec_variables_are_set_by_handler_and_project() -> None:
    read = set(re.findall(r"\$\{?([A-Z_]+)", str(BUILDSPEC["phases"])))
    projects = properties_of(templates_of("prod")["prod-models"], "AWS::CodeBuild::Project")
    environments = [project["Environment"].get("EnvironmentVariables", []) for project in projects]
    values = {variable["Name"] for variables in environments for variable in variables}
    assert read == {
        *(index.LIST_VARIABLE, index.DIGEST_VARIABLE, index.LINES_VARIABLE),
        index.DEADLINE_VARIABLE,
        *(value for value in values if not value.startswith("PIP_")),
    }


def test_handler_looks_for_builds_of_the_longest_duration() -> None:
    longest = ModelBuilder.QUEUE_TIMEOUT.plus(ModelBuilder.BUILD_TIMEOUT)
    assert longest.to_seconds() == index.MAX_BUILD_SECONDS


def test_delivery_invokes_the_provider_functions() -> None:
    models = templates_of("prod")["prod-models"]
    logical_ids = {output: models["Outputs"][output]["Value"]["Ref"] for output in OUTPUTS}
    handlers = {
        output: models["Resources"][name]["Properties"]["Handler"]
        for output, name in logical_ids.items()
    }
    assert handlers == {
        archives.START_FUNCTION: "index.on_event",
        archives.POLL_FUNCTION: "index.is_complete",
    }
    names = [
        models["Resources"][name]["Properties"]["FunctionName"] for name in logical_ids.values()
    ]
    assert {*names} == {*build_functions("prod")}  # the deploy role may invoke these


def test_python_variable_is_the_same_in_local_sagemaker() -> None:
    assert PYTHON_VARIABLE == model_build.PYTHON_VARIABLE


def test_stage_can_set_every_alarm_threshold() -> None:
    thresholds = {field.name for field in fields(AlarmThresholds)}
    assert set(AlarmsConfig.model_fields) == thresholds, (
        "stages/schema/alarms.py differs from constructs/triton_sagemaker/alarm_thresholds.py: "
        "write the same fields into both, and run make schema"
    )


def test_stage_can_set_every_cloudwatch_log_retention() -> None:
    assert set(RETENTION.values()) == set(logs.RetentionDays) - {logs.RetentionDays.INFINITE}
    assert RETENTION.keys() == set(get_args(RetentionDays))


def test_publish_reads_gpu_project_from_stack_outputs() -> None:
    models = templates_of("prod")["prod-models"]
    project = models["Resources"][models["Outputs"][engines.GPU_PROJECT]["Value"]["Ref"]]
    assert project["Properties"]["Environment"]["Type"] == "LINUX_GPU_CONTAINER"


def test_template_without_scaling_has_no_dangling_references() -> None:
    for stack, template in templates_of("prod").items():
        targets = [
            target["ResourceId"].rpartition("/")[2]
            for target in properties_of(template, "AWS::ApplicationAutoScaling::ScalableTarget")
        ]
        unscaled = deploy.without_scaling(template, targets)
        defined = unscaled["Resources"].keys() | unscaled.get("Parameters", {}).keys()
        referenced = {
            name
            for resource in unscaled["Resources"].values()
            for name in (*resource.get("DependsOn", ()), *_references(resource["Properties"]))
        }
        assert {name for name in referenced - defined if not name.startswith("AWS::")} == set(), (
            stack
        )
        assert bool(targets) == (unscaled != template)


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            yield name
        case dict() | list():
            for inner in value.values() if isinstance(value, dict) else value:
                yield from _references(inner)
