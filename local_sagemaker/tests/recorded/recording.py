"""Recorded responses of AWS as tables, and the comparison of a response with a table.

A table is a list of scenarios, and a scenario a list of steps: an operation, its request, and for
some steps the members of AWS's response. A member is a JMESPath expression with a rule:

- `time`, `text`, `number`, `boolean`, `list`, `map`: its type
- `absent`: the response has no such member
- `= JSON`: its value
- `~ PATTERN`: a regular expression that matches the whole value
- `same as MEMBER`: the value of another member

The members of an error are `Code` and `Message`. `except` contains the members in which the local
SageMaker differs, each with the reason, or one reason for all members.
"""

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jmespath
import yaml

TABLES = Path(__file__).parent
TYPES: dict[str, tuple[type, ...]] = {
    "time": (datetime.datetime,),
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "map": (dict,),
}


@dataclass(frozen=True)
class Source:
    """The source of a recorded response: a file of a public repository at a commit.

    A source without a date is a test that asserts responses of AWS.
    """

    repository: str
    path: str
    commit: str
    date: datetime.date | None = None


@dataclass(frozen=True)
class Row:
    """One member of a response; `exception` is the reason for a known difference, or empty."""

    operation: str
    case: str
    member: str
    rule: str
    source: Source
    exception: str = ""


@dataclass(frozen=True)
class Step:
    """One request, repeated until its response meets the JMESPath condition `until`."""

    operation: str
    request: dict[str, Any] = field(default_factory=dict)
    until: str = ""
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A sequence of requests to an empty account."""

    name: str
    steps: tuple[Step, ...]


def scenarios() -> list[Scenario]:
    """Return the scenarios of all tables."""
    return [scenario for table in sorted(TABLES.glob("*.yaml")) for scenario in _read(table)]


def difference(row: Row, response: dict[str, Any]) -> str:
    """Return the difference between a response and a row, or an empty string."""
    value = jmespath.search(row.member, response)
    if _matches(row.rule, value, response):
        return ""
    return f"{row.operation}: {row.member} is {value!r}, AWS has: {row.rule}"


def _matches(rule: str, value: Any, response: dict[str, Any]) -> bool:
    if rule == "absent":
        return value is None
    if rule in TYPES:
        return isinstance(value, TYPES[rule]) and (rule == "boolean") is isinstance(value, bool)
    operator, _, operand = rule.partition(" ")
    if operator == "=":
        return bool(value == json.loads(operand))
    if operator == "~":
        return isinstance(value, str) and re.fullmatch(operand, value) is not None
    other_member = rule.removeprefix("same as ")
    if other_member == rule:
        raise ValueError(f"{rule!r} is not a rule")
    return bool(value == jmespath.search(other_member, response))


def _read(table: Path) -> Iterator[Scenario]:
    content = yaml.safe_load(table.read_text())
    for scenario in content["scenarios"]:
        steps = tuple(_step(step, content["sources"]) for step in scenario["steps"])
        yield Scenario(scenario["name"], steps)


def _step(step: dict[str, Any], repositories: dict[str, dict[str, str]]) -> Step:
    rows: tuple[Row, ...] = ()
    if "answer" in step:
        name, path, *dates = step["source"]
        source = Source(path=path, **repositories[name], date=dates[0] if dates else None)
        exceptions = step.get("except", {})
        if isinstance(exceptions, str):
            exceptions = dict.fromkeys(step["answer"], exceptions)
        unknown = exceptions.keys() - step["answer"].keys()
        if unknown:
            raise ValueError(f"{step['operation']}: no row for the exceptions {unknown}")
        rows = tuple(
            Row(step["operation"], step["case"], member, rule, source, exceptions.get(member, ""))
            for member, rule in step["answer"].items()
        )
    return Step(step["operation"], step.get("request", {}), step.get("until", ""), rows)
