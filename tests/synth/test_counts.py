"""Cost of a synthesis as counts of jsii calls and processes.

Counts do not depend on the load of the machine. Most of the time goes to jsii calls.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from jsii._kernel.providers import process

from plan.document import Plan
from platform_facts.rules import Keys, Rule
from stacks import synthesise as synthesise_stage
from tests.synth.conftest import CONTEXT
from tools.bench.synth import add_endpoints

MAX_CALLS_PER_ENDPOINT = 207


def synthesise(add: Callable[[App, str], None], number: int) -> Any:
    app = App(context=CONTEXT, stack_traces=False)
    add(app, str(number))
    return app.synth()


def test_jsii_calls_per_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    send = process._NodeProcess.send

    def count(self: Any, *request: Any) -> Any:
        nonlocal calls
        calls += 1
        return send(self, *request)

    monkeypatch.setattr(process._NodeProcess, "send", count)

    def count_calls(endpoints: int) -> int:
        calls_at_start = calls
        synthesise(add_endpoints, endpoints)
        return calls - calls_at_start

    count_calls(1)  # some calls are made once per process
    calls_per_endpoint = (count_calls(4) - count_calls(2)) / 2
    assert calls_per_endpoint <= MAX_CALLS_PER_ENDPOINT, (
        "an endpoint makes more jsii calls than before (an alarm costs about two): remove calls or "
        "raise MAX_CALLS_PER_ENDPOINT"
    )


def test_each_rule_is_evaluated_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    evaluations: Counter[tuple[Keys, str, str]] = Counter()
    evaluate: Any = Rule.__call__

    def count(rule: Rule[Any], *values: Any) -> Any:
        callers = {sys._getframe(depth).f_globals["__name__"].split(".")[0] for depth in (1, 2)}
        assert "triton_sagemaker" not in callers, f"{rule.statement} is evaluated again"
        evaluations[rule.path, rule.statement, repr(values)] += 1
        return evaluate(rule, *values)

    monkeypatch.setattr(Rule, "__call__", count)
    assembly = synthesise_stage(App(context=CONTEXT, outdir=str(tmp_path)), "prod")
    endpoints = Plan.read(Path(assembly.directory)).endpoints
    assert len(evaluations) > 30
    # Endpoints with equal settings evaluate a rule with equal values.
    assert max(evaluations.values()) <= len(endpoints), evaluations.most_common(3)
