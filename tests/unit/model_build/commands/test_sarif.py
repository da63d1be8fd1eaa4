"""Findings as code hosts read them."""

from pathlib import Path

import pytest

from model_build import Finding, Place, checks
from model_build.commands import sarif

HERE = Path("models/a/config.pbtxt")


@pytest.fixture(autouse=True)
def _in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_report_names_its_format_and_tool() -> None:
    report = sarif.report([])
    assert report["version"] == "2.1.0"
    assert "sarif-2.1.0" in report["$schema"]
    (run,) = report["runs"]
    assert run == {"tool": {"driver": {"name": "model_build lint", "rules": []}}, "results": []}


def test_a_finding_is_an_error_at_its_line_and_column(tmp_path: Path) -> None:
    report = sarif.report([Finding("model_names", Place(tmp_path / HERE, 3, 7), "is wrong")])
    assert report["runs"][0]["results"] == [
        {
            "ruleId": "model_names",
            "level": "error",
            "message": {"text": "is wrong"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "models/a/config.pbtxt"},
                        "region": {"startLine": 3, "startColumn": 7},
                    }
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("place", "location"),
    [
        (
            Place(HERE, 3),
            {"artifactLocation": {"uri": str(HERE)}, "region": {"startLine": 3}},
        ),
        (Place(HERE), {"artifactLocation": {"uri": str(HERE)}}),
        (
            Place(Path("/else/where"), 1),
            {"artifactLocation": {"uri": "/else/where"}, "region": {"startLine": 1}},
        ),
    ],
)
def test_a_place_is_told_as_far_as_it_is_known(place: Place, location: object) -> None:
    (result,) = sarif.report([Finding("x", place, "y")])["runs"][0]["results"]
    assert result["locations"] == [{"physicalLocation": location}]


def test_each_rule_that_found_something_is_explained_once() -> None:
    findings = [
        Finding(rule, Place(HERE, line), "x")
        for line, rule in enumerate(("no_links", "model_names", "no_links"), 1)
    ]
    run = sarif.report(findings)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["model_names", "no_links"]
    assert len(run["results"]) == 3
    for rule in rules:
        short, full = (rule[it]["text"] for it in ("shortDescription", "fullDescription"))
        assert full.startswith(short)
        assert "\n" not in short


@pytest.mark.parametrize(
    "rule", [it.__name__ for it in (*checks.BUILT, *checks.FOR_RELEASE, *checks.FOR_RECIPE)]
)
def test_every_rule_has_an_explanation_of_its_own(rule: str) -> None:
    (explained,) = sarif.report([Finding(rule, Place(HERE), "x")])["runs"][0]["tool"]["driver"][
        "rules"
    ]
    assert explained["fullDescription"]["text"] != "The file is one that can be read."


@pytest.mark.parametrize("rule", ["config_parses", "recipe_schema", "is_folder"])
def test_what_cannot_be_read_breaks_no_rule_of_ours_and_is_explained_too(rule: str) -> None:
    run = sarif.report([Finding(rule, Place(HERE), "x")])["runs"][0]
    assert run["tool"]["driver"]["rules"][0]["shortDescription"]["text"]


def test_a_path_is_a_uri() -> None:
    report = sarif.report([Finding("x", Place(Path("models/two words/a%b")), "y")])
    location = report["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "models/two%20words/a%25b"
