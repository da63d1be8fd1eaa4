"""Tests of the HTML page of a load."""

import json
import re
from typing import Any

from cli.load.report import as_json, html_page
from tests.unit.cli.load.support import step

SCRIPT = "</script><script>alert(1)</script>"


def page(**changes: Any) -> str:
    metrics = {"local-text/AllTraffic": {"ModelLatency": 9.0, "LoadedModelCount": 4}}
    result = {
        "level": "rate",
        "mix": {"local-text/a": 0.75, "local-text/b": 0.25},
        "endpoints": {"local-text": "local-text: 1 x ml.m5.xlarge, on this machine: no cost"},
        "objective": {"p95": 50, "p99": None, "max_errors": 0.01},
        "steps": [step(10, metrics=metrics), step(20, p95=70, errors={"NoCapacity": 3})],
    }
    return html_page(json.loads(json.dumps({**result, **changes}, default=as_json)))


def test_page_is_self_contained() -> None:
    text = page()
    assert not re.search(r"""(?:src|href)=["']?(?!\$)\w""", text.partition("<script")[0])
    assert "default-src 'none'" in text
    assert "(MIT Licensed)" in text  # uPlot, with its notice
    assert "export {" not in text


def test_names_are_escaped() -> None:
    text = page(endpoints={SCRIPT: SCRIPT}, mix={SCRIPT: 1.0})
    assert "<script>alert(1)" not in text
