"""Calls of jsii, which are most of what a synthesis takes."""

from typing import Any

import pytest
from aws_cdk import App
from jsii._kernel.providers import process

from bench.synth import add_endpoints
from tests.synth.conftest import CONTEXT


def test_an_endpoint_takes_at_most_190_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    send = process._NodeProcess.send

    def count(self: Any, *request: Any) -> Any:
        nonlocal calls
        calls += 1
        return send(self, *request)

    monkeypatch.setattr(process._NodeProcess, "send", count)

    def of(endpoints: int) -> int:
        before, app = calls, App(context=CONTEXT, stack_traces=False)
        add_endpoints(app, str(endpoints))
        app.synth()
        return calls - before

    of(1)  # what is called once a process
    assert (of(4) - of(2)) / 2 <= 190
