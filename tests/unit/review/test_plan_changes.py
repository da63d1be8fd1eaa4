"""Dangers and sentences from the difference of two plans."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plan.document import Plan
from review.dangers import dangers
from review.endpoint_changes import endpoint_changes
from review.verified_plans import SCHEMA, unverified_settings
from tests.unit.plan.plans import SIGNATURE, make_model
from tests.unit.review.edits import PROD, compare, plan_of, variant
from tests.unit.review.resources import RESOURCES


def with_endpoint(**endpoint: Any) -> Plan:
    return plan_of(endpoint=endpoint)


def with_variant(*arguments: Any, **fields: Any) -> Plan:
    return with_endpoint(variants={"AllTraffic": variant(*arguments, **fields)})


def with_signature(**changes: Any) -> Plan:
    model = make_model("minilm")
    signature: Any = {**SIGNATURE, **changes}
    catalog = replace(model.catalog, signature=signature)
    return with_endpoint(models={"minilm": model.model_copy(update={"catalog": catalog})})


STATEFUL = make_model("minilm", is_stateful=True)
DANGERS: dict[str, tuple[Plan, str]] = {
    "endpoint removed": (plan_of(endpoints={}), "removed_endpoints: the endpoint prod-text is no"),
    "model dropped": (plan_of(()), "dropped_models: prod-text no longer has minilm in its catalog"),
    "output of another type": (
        with_signature(outputs=[{"name": "Y", "datatype": "FP16", "shape": [-1, 2]}]),
        "broken_clients: clients of minilm on prod-text fail: output Y has datatype FP16",
    ),
    "smaller batches": (with_signature(max_batch_size=4), "fail: batches up to 4, before 8"),
    "variant renamed": (
        with_endpoint(variants={"Other": variant()}),
        "rejected_updates: the update of prod-text is rejected before it begins: SageMaker does",
    ),
    "another hosting mode": (
        with_endpoint(hosting="single-model"),
        "clients of the old hosting mode (TargetModel, component, or neither) would fail",
    ),
    "instance type of a scaled variant": (
        with_variant("ml.g5.2xlarge"),
        "scaling_removed_during_update: AllTraffic of prod-text is not scaled until",
    ),
    "one instance": (with_variant(low=1), "low_availability: prod-text may run on 1 instance"),
    "recorded calls": (
        with_endpoint(
            settings={
                "data_capture": {
                    "percent": 100,
                    "requests": True,
                    "responses": False,
                    "keep_days": 30,
                }
            }
        ),
        "new_capabilities: requests of prod-text are newly recorded in S3: 100 % of them, for 30 d",
    ),
    "no scaling": (with_variant(is_scaled=False), "lost_scaling: AllTraffic of prod-text is no"),
    "maximum falls": (with_variant(high=3), "AllTraffic of prod-text may have 2-10 -> 2-3 inst"),
    "maximum times ten": (with_variant(high=100), "multiplied_capacity: AllTraffic of prod-text"),
    "stateful model": (
        with_endpoint(models={"minilm": STATEFUL}),
        "split_sequences: minilm of prod-text uses sequence batching, but SageMaker sends the",
    ),
    "another region": (plan_of(region="eu-west-1"), "new_environment: prod moves, us-east-1 of"),
    "no production": (plan_of(production=False), "no_longer_production: prod is no longer"),
}


@pytest.mark.parametrize("title", DANGERS)
def test_dangerous_change(title: str) -> None:
    plan, text = DANGERS[title]
    result = dangers(compare(RESOURCES, RESOURCES, plan_after=plan))
    messages = [f"{danger.rule}: {danger.message}" for danger in result]
    assert [message for message in messages if text in message], messages


def test_unchanged_plan_has_no_danger() -> None:
    assert dangers(compare(RESOURCES, RESOURCES)) == []


def test_tripled_traffic_share_is_a_danger() -> None:
    plans = [
        with_endpoint(variants={"A": variant(weight=a), "B": variant(weight=b)})
        for a, b in ((9.0, 1.0), (0.0, 1.0), (8.0, 2.0))
    ]
    for plan, count in ((plans[1], 1), (plans[2], 0)):
        result = dangers(compare(RESOURCES, RESOURCES, plan_before=plans[0], plan_after=plan))
        assert [danger.rule for danger in result].count("shifted_traffic") == count


@pytest.mark.parametrize(
    ("scaling", "text"),
    [
        ({"max_rps": 60.0}, "gpu_percent: 70 -> none"),
        ({"max_rps": 60.0, "gpu_percent": 92.0}, "gpu_percent: 70 -> 92"),
        ({"max_rps": 90.0, "gpu_percent": 80.0}, ""),
        (
            {"max_rps": 150.0, "gpu_percent": 70.0},
            "instances are added at 75 instead of 30 requests a second, and one sustains 60 by the "
            "max_rps before: neither its type nor its models change (max_rps 60 -> 150)",
        ),
        (
            {"max_rps": 60.0, "gpu_percent": 70.0, "scale_out_cooldown_seconds": 600},
            "scale_out_cooldown_seconds: 60 -> 600",
        ),
    ],
)
def test_weaker_targets_of_scaling_are_a_danger(scaling: dict[str, float], text: str) -> None:
    before, after = (
        with_endpoint(settings={"scaling": {"min_count": 2, "max_count": 10, **targets}})
        for targets in (
            {"max_rps": 60.0, "gpu_percent": 70.0, "scale_out_cooldown_seconds": 60},
            scaling,
        )
    )
    result = dangers(compare(RESOURCES, RESOURCES, plan_before=before, plan_after=after))
    messages = [danger.message for danger in result if danger.rule == "lost_scaling"]
    assert [message.endswith(f": {text}") for message in messages] == ([True] if text else [])


def test_settings_are_told_with_both_values() -> None:
    before, after = (
        with_endpoint(settings={"scaling": {"gpu_percent": percent}}) for percent in (60.0, 70.0)
    )
    (change,) = endpoint_changes(
        compare(RESOURCES, RESOURCES, plan_before=before, plan_after=after)
    )
    assert (change.state, change.clauses) == (
        "changed",
        ("no change", "scaling.gpu_percent: 60 -> 70"),
    )


def test_new_object_is_one_text() -> None:
    night = {"at": "cron(0 20 ? * MON-FRI *)", "min_count": 1, "max_count": 2}
    before, after = (
        with_endpoint(settings={"scaling": {"max_count": 10, "schedules": schedules}})
        for schedules in ({}, {"night": night})
    )
    (change,) = endpoint_changes(
        compare(RESOURCES, RESOURCES, plan_before=before, plan_after=after)
    )
    assert change.clauses[-1] == (
        "scaling.schedules.night: none -> at cron(0 20 ? * MON-FRI *), min_count 1, max_count 2"
    )


def test_image_of_ones_own_is_told() -> None:
    images = [f"111111111111.dkr.ecr.us-east-1.amazonaws.com/triton@sha256:{d * 64}" for d in "ab"]
    plans = [with_endpoint(settings={"image": {"uri": image}}) for image in images]
    sentences = [
        "; ".join(change.clauses)
        for before in (plan_of(endpoints={}), PROD, plans[0])
        for change in endpoint_changes(
            compare(RESOURCES, RESOURCES, plan_before=before, plan_after=plans[1])
        )
    ]
    assert f"; in the image {images[1]}; " in sentences[0]
    assert f"image.uri: none -> {images[1][:100]}" in sentences[1]
    assert "image.uri: …" in sentences[2]
    assert f"@sha256:{'a' * 64} -> …" in sentences[2]


def test_state_of_new_removed_and_unchanged_endpoints() -> None:
    nothing = plan_of(endpoints={})
    for before, after, state in (
        (nothing, PROD, "new"),
        (PROD, nothing, "removed"),
        (PROD, PROD, "unchanged"),
    ):
        (change,) = endpoint_changes(
            compare(RESOURCES, RESOURCES, plan_before=before, plan_after=after)
        )
        assert change.state == state


NOTIFY = {"email": ["a@example.com"], "topics": []}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("notify: { email: [a@example.com] }\nmax_monthly_usd: 100\n", []),
        ("notify: { email: [b@example.com] }\nmax_monthly_usd: 100\n", ["notify"]),
        ("notify: { email: [a@example.com] }\n", ["max_monthly_usd"]),
        ("max_monthly_usd: 100\ntags: { team: ml }\n", ["notify", "tags"]),
    ],
)
def test_plan_has_the_settings_of_the_stage_file(
    tmp_path: Path, text: str, keys: list[str]
) -> None:
    schema = json.loads(SCHEMA.read_text())["properties"]
    defaults = {key: keyword["default"] for key, keyword in schema.items() if "default" in keyword}
    plan = plan_of(account=None, max_monthly_usd=100.0, settings={**defaults, "notify": NOTIFY})
    file = tmp_path / "prod.yaml"
    file.write_text(f"region: {plan.region}\nproduction: {str(plan.production).lower()}\n{text}")
    problems = [*unverified_settings(plan, file)]
    assert [problem.split()[1] for problem in problems] == keys
