"""Constants and formats that packages share without importing each other."""

from dataclasses import fields
from typing import get_args

from aws_cdk import aws_logs as logs

import model_build
from local_sagemaker import PYTHON_VARIABLE
from model_build.publishing import engines
from platform_facts.rules.bucket_keys import LISTS
from stacks.settings import RETENTION
from stages.schema.alarms import AlarmsConfig
from stages.schema.stage import RetentionDays
from tests.synth.conftest import templates_of
from triton_sagemaker import AlarmThresholds, ModelBuilder
from triton_sagemaker.build_handler import index


def test_builds_read_the_lists_of_deliveries() -> None:
    assert f"{{bucket}}/{LISTS}*.jsonl" == index.MOVES


def test_handler_looks_for_builds_of_the_longest_duration() -> None:
    longest = ModelBuilder.QUEUE_TIMEOUT.plus(ModelBuilder.BUILD_TIMEOUT)
    assert longest.to_seconds() == index.MAX_BUILD_SECONDS


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
