"""What a synthesis takes, in counts: of calls, bytes and processes, whatever else the machine does.

Calls of jsii are most of a synthesis.
"""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App
from jsii._kernel.providers import process

from bench.synth import add_endpoints, add_models
from tests.synth.conftest import CONTEXT

CALLS_OF_AN_ENDPOINT = 190
BYTES_OF_A_MODEL = 1_670


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

    def calls_of(endpoints: int) -> int:
        before = calls
        synthesise(add_endpoints, endpoints)
        return calls - before

    calls_of(1)  # some are made once a process
    calls_of_one = (calls_of(4) - calls_of(2)) / 2
    assert calls_of_one <= CALLS_OF_AN_ENDPOINT, (
        "an endpoint takes more calls of jsii than before, about two for each alarm: remove calls, "
        "or raise CALLS_OF_AN_ENDPOINT to the number above"
    )


def test_template_bytes_per_model() -> None:
    def size(models: int) -> int:
        stack = synthesise(add_models, models).get_stack_by_name("prod-text")
        return len(json.dumps(stack.template, indent=1))

    assert (size(20) - size(10)) / 10 <= BYTES_OF_A_MODEL


def test_synthesis_starts_only_the_jsii_process(monkeypatch: pytest.MonkeyPatch) -> None:
    synthesise(add_endpoints, 1)  # jsii's own, where no test has started it
    started: list[Any] = []
    start = subprocess.Popen.__init__

    def count(self: Any, arguments: Any, *more: Any, **options: Any) -> None:
        started.append(arguments)
        start(self, arguments, *more, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", count)
    synthesise(add_endpoints, 2)
    assert started == []
