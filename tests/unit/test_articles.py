"""Each claim of the articles is mapped to tests that exist, or has a reason."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.articles import read_articles

ROOT = Path(__file__).parents[2]
COUNTS = {"000": 29, "001": 16, "002": 17, "003": 15, "004": 11, "D": 6}
"""Claims of each article. The first four of the developer guide have one row."""

CLAIMS = [claim for article in read_articles() for claim in article["claim"]]


@cache
def _parse(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def _problem(test: str) -> str | None:
    """Return why pytest would not run a test, file::function or file::function[case]."""
    file, _, name = test.partition("::")
    function, _, case = name.removesuffix("]").partition("[")
    path = ROOT / file
    if not path.is_file():
        return f"{test}: there is no file {file}"
    if not path.name.startswith("test_") or not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
        for node in _parse(path)
    ):
        return f"{test}: {file} has no test {function}"
    cases = {
        node.args[0].value
        for source in path.parent.glob("cases/*.py")
        for node in _parse(source)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "case"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    return f"{test}: its cases have no case {case}" if case and case not in cases else None


def test_every_claim_has_one_row() -> None:
    expected = [f"{article}.{n}" for article, count in COUNTS.items() for n in range(1, count + 1)]
    expected[expected.index("001.1") : expected.index("001.5")] = ["001.1-4"]
    assert [claim["id"] for claim in CLAIMS] == expected
    assert len(expected) == 91


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["id"])
def test_claim_is_shown_by_existing_tests_or_has_a_reason(claim: dict[str, Any]) -> None:
    assert claim.keys() <= {"id", "claim", "shown_by", "limit", "not_shown"}
    sentences = [claim[key] for key in ("claim", "limit", "not_shown") if key in claim]
    assert [text for text in sentences if not (len(text) > 20 and text.endswith("."))] == []
    if "not_shown" in claim:
        assert not claim.keys() & {"shown_by", "limit"}
    else:
        assert claim["shown_by"]
        assert [problem for problem in map(_problem, claim["shown_by"]) if problem] == []
