"""The ladder of questions that only an AWS account answers: free ones, then cents, then dollars.

    python -m pytest tests/aws --account 123456789012 --up-to cents --report ladder.md

Each test is a step. Its marker `aws` names the rung, what the step does, and, for the cost, the
largest number of instances and our estimate of the minutes. A failed step is an answer, too.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

import platform_facts
from tests.aws.ladder import INSTANCE_TYPE, REGION, STAGE, Ladder

RUNGS = ("free", "cents", "dollars")
EMULATED = "AWS_ENDPOINT_URL" in os.environ
UNPRICED = (
    "Not included, because the repository has no prices for them: CodeBuild minutes, Lambda, Step "
    "Functions, S3, CloudWatch, and a KMS key until its deletion is scheduled."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("aws")
    group.addoption("--account", help="the id of the account to run in; without it, nothing runs")
    group.addoption("--up-to", choices=RUNGS, default=RUNGS[0], help="the last rung; default: free")
    group.addoption("--report", type=Path, help="write the answers to this Markdown file")


class Step:
    """The marker of a test."""

    def __init__(self, item: pytest.Item) -> None:
        marker = next(item.iter_markers("aws"))
        self.rung, self.does = marker.args
        self.instances, self.minutes = (
            marker.kwargs.get(name, 0) for name in ("instances", "minutes")
        )
        self.instance_type = marker.kwargs.get("instance_type", INSTANCE_TYPE)

    @property
    def usd(self) -> float | None:
        """The price of the instances; None if platform_facts has no price."""
        price = platform_facts.prices().of(REGION, self.instance_type)
        return None if price is None else self.instances * self.minutes / 60 * float(price)

    def __str__(self) -> str:
        if not self.instances:
            return f"{self.rung}: {self.does}"
        usd = "price unknown" if self.usd is None else f"about {self.usd:.2f} USD"
        size = f"{self.instances} {self.instance_type} for {self.minutes} min"
        return f"{self.rung}, {size}, {usd}: {self.does}"


def _is_step(item: pytest.Item) -> bool:
    return item.path.parent == Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the steps up to the chosen rung; skip all of them unless an account is named."""
    last = RUNGS.index(config.getoption("--up-to"))
    steps = [item for item in items if _is_step(item)]
    above = [item for item in steps if RUNGS.index(Step(item).rung) > last]
    config.hook.pytest_deselected(items=above)
    items[:] = [item for item in items if item not in above]
    if not config.getoption("--account"):
        for item in steps:
            item.add_marker(pytest.mark.skip("name the account: --account 123456789012"))


def pytest_report_collectionfinish(items: list[pytest.Item]) -> list[str]:
    """Print the plan with the cost, before the first step."""
    steps = [Step(item) for item in items if _is_step(item)]
    total = sum(step.usd or 0 for step in steps)
    minutes = sum(step.minutes for step in steps)
    cost = f"about {total:.2f} USD for instances and {minutes} minutes, our estimate. {UNPRICED}"
    return [*(f"  {step}" for step in steps), cost if minutes else "No step starts an instance."]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Print the cost of a step that is about to run."""
    if _is_step(item):
        reporter: Any = item.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"\n{item.name}: {Step(item)}")


@pytest.fixture(scope="session")
def ladder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ladder]:
    """The account and the app to deploy; what a session made is removed before and after it."""
    account = boto3.client("sts", REGION).get_caller_identity()["Account"]
    if account != (expected := request.config.getoption("--account")):
        pytest.exit(f"these credentials are of account {account}, not {expected}", returncode=1)
    ladder = Ladder.create(tmp_path_factory.mktemp("app"), account)
    ladder.remove_everything()
    yield ladder
    ladder.remove_everything()


@pytest.fixture(scope="session")
def deployed(ladder: Ladder) -> Ladder:
    """The ladder with the deployed CPU stage."""
    ladder.tritonsm("deploy", STAGE)
    return ladder


@pytest.fixture(scope="session")
def templates(ladder: Ladder) -> dict[str, Any]:
    """Stack -> template of the CPU stage."""
    return ladder.templates()


@pytest.fixture
def emulated() -> bool:
    """Whether an emulator answers."""
    return EMULATED


@pytest.fixture
def answer(record_property: Callable[[str, object], None]) -> Callable[[object], None]:
    """Return a function that adds what AWS answered to the report."""
    return lambda text: record_property("answer", text)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the report: one row for each step, without the account's id."""
    if not (path := config.getoption("--report")):
        return
    source = "an emulator, which proves nothing about AWS" if EMULATED else "AWS"
    lines = [f"Answered by {source}, in {REGION}.", "", "| Step | Result | Answer |"]
    lines.append("| --- | --- | --- |")
    for report in _reports(terminalreporter):
        answers = [str(value) for name, value in report.user_properties if name == "answer"]
        if report.skipped:
            answers.append(report.longrepr[2].removeprefix("Skipped: "))
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            answers.append(crash.message if crash else str(report.longrepr))
        step = report.nodeid.partition("::test_")[2].replace("_", " ")
        result = "not asked" if report.skipped else "refuted" if report.failed else "confirmed"
        lines.append(f"| {step} | {result} | {_cell('; '.join(answers))} |")
    path.write_text("\n".join([*lines, ""]))


def _reports(terminalreporter: Any) -> list[Any]:
    """Return the report of each step's end, in the order of the steps."""
    stats = terminalreporter.stats
    reports = [*stats.get("passed", ()), *stats.get("failed", ())]
    reports += [*stats.get("skipped", ()), *stats.get("error", ())]
    return sorted(reports, key=lambda report: report.start)


def _cell(text: str) -> str:
    """Return a text as a cell of a table, without account ids and names of callers."""
    text = re.sub(r"(?<!\d)\d{12}(?!\d)", "<account>", " ".join(text.split()))
    text = re.sub(r"(assumed-role|federated-user|user)/[^\s\"']+", r"\1/<caller>", text)
    return text.replace("|", "\\|")[:300]
