"""Random changes of this repository's files, as somebody could make them."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.unit.release.review.files.repository import base

RECIPES, CONFIGURATIONS = r"models/\w+/recipe\.yaml", r"models/.*/config\.pbtxt"
GOLDEN, PINNED = r"models/.*/golden\.json", r"models/.*requirements[\w-]*\.txt"
CODE = r"models/\w+/(export|pipeline)\.py|models/.*/model\.py|model_build/.*\.py"

Files = dict[str, str]
Change = Callable[[random.Random], Files]


class Impossible(Exception):
    """There is no such thing to change in what was drawn."""


@dataclass(frozen=True)
class FileMutation:
    """Files that differ, path -> content, and the kind of change that made them."""

    kind: str
    files: Files

    @property
    def head(self) -> dict[str, bytes]:
        """All files afterwards."""
        return {**base(), **{path: text.encode() for path, text in self.files.items()}}


def mutation(seed: int, kinds: dict[str, Change]) -> FileMutation:
    """Make the change of a seed."""
    draw = random.Random(seed)
    while True:
        kind = draw.choice(sorted(kinds))
        try:
            files = kinds[kind](draw)
        except Impossible:
            continue
        if any(base().get(path) != text.encode() for path, text in files.items()):
            return FileMutation(kind, files)


def _file(draw: random.Random, pattern: str) -> tuple[str, str]:
    path = draw.choice(sorted(path for path in base() if re.fullmatch(pattern, path)))
    return path, base()[path].decode()


def _number(pattern: str, name: str, factor: Callable[[random.Random], float]) -> Change:
    """Return a change of one number behind a name, in a file of a pattern."""

    def change(draw: random.Random) -> Files:
        path, text = _file(draw, pattern)
        places = list(re.finditer(rf'{name}"?: *([0-9.e+-]+)', text))
        if not places:
            raise Impossible
        place = draw.choice(places)
        number = f"{float(place[1]) * factor(draw):g}"
        return {path: text[: place.start(1)] + number + text[place.end(1) :]}

    return change


def _more(draw: random.Random) -> float:
    return float(10 ** draw.randint(1, 6))


def _less(draw: random.Random) -> float:
    return 0.5 ** draw.randint(1, 3)


def _text(pattern: str, old: str, new: str) -> Change:
    """Return a change of one place that a pattern matches."""

    def change(draw: random.Random) -> Files:
        path, text = _file(draw, pattern)
        places = list(re.finditer(old, text, re.MULTILINE))
        if not places:
            raise Impossible
        place = draw.choice(places)
        return {path: text[: place.start()] + place.expand(new) + text[place.end() :]}

    return change


def _fewer_values(draw: random.Random) -> Files:
    path, text = _file(draw, GOLDEN)
    answers = json.loads(text)
    answers["outputs"][draw.choice(sorted(answers["outputs"]))]["data"].pop()
    return {path: json.dumps(answers)}


def _workflow(edit: Callable[[random.Random, dict[Any, Any], str], None]) -> Change:
    """Return a change of one job of a workflow."""

    def change(draw: random.Random) -> Files:
        path, text = _file(draw, r"\.github/workflows/.*")
        workflow = yaml.safe_load(text)
        edit(draw, workflow, draw.choice(sorted(workflow["jobs"])))
        return {path: yaml.safe_dump(workflow)}

    return change


def _reads_secret(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    place = draw.choice([workflow, workflow["jobs"][job], *workflow["jobs"][job]["steps"]])
    place.setdefault("env", {})["KEY"] = "${{ secrets.KEY }}"


def _waits_no_more(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    if not workflow["jobs"][job].pop("needs", None):
        raise Impossible


def _runs_for_more(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    workflow[True] = draw.choice(["push", ["push", "pull_request"], {"push": {"branches": ["**"]}}])


def _other_action(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    uses = [step for step in workflow["jobs"][job]["steps"] if "uses" in step]
    if not uses:
        raise Impossible
    draw.choice(uses)["uses"] = draw.choice([f"evil/action@{'0a' * 20}", "actions/checkout@v7"])


def _may_fail(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    places = [workflow["jobs"][job], *workflow["jobs"][job]["steps"]]
    draw.choice(places)["continue-on-error"] = True


def _token(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    workflow["jobs"][job]["permissions"] = draw.choice(
        ["write-all", {"contents": "write", "packages": "write"}]
    )


def _step_name(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    draw.choice(workflow["jobs"][job]["steps"])["name"] = "Another name"


def _more_time(draw: random.Random, workflow: dict[Any, Any], job: str) -> None:
    workflow["jobs"][job]["timeout-minutes"] += draw.randint(1, 60)


DANGEROUS: dict[str, Change] = {
    "a larger gate": _number(RECIPES, "max_absolute_difference", _more),
    "a larger tolerance": _number(GOLDEN, "max_relative_difference", _more),
    "fewer expected values": _fewer_values,
    "another origin of weights": _text(RECIPES, r"(package: )(\S+)==", r"\1other-\2=="),
    "random weights from a folder": _text(
        RECIPES, r"\{ from: random.*\}", f"{{ from: folder, path: x, files: {{ a: {'0a' * 32} }} }}"
    ),
    "a package without hashes": _text(PINNED, r"(==\S+) (\\\n +)?--hash=\S+( \\\n.*)*$", r"\1"),
    "a package of any version": _text(PINNED, r"^([\w.-]+)==", r"\1>="),
    "packages from elsewhere": _text(PINNED, r"\A", "--index-url https://example.com/simple\n"),
    "a check that is skipped": _text(r"\.checkov\.yaml", "^skip-check:\n", r"\g<0>  - CKV_1\n"),
    "rules of cfn-lint that are skipped": _text(r"\.cfnlintrc\.yaml", r"\Z", "  - E\n"),
    "a tolerance that is gone": _text(GOLDEN, r',\s*"max_relative_difference": [0-9.e-]+', ""),
    "weights without a hash": _text(RECIPES, r"^    \S+: [0-9a-f]{64}\n", ""),
    "cdk-nag's checks that are not added": _text(
        r"stacks/stage_stacks\.py", r"^ +Validations.*add_plugins.*$", "    pass"),
    "another kind of file that checkov checks": _text(
        r"\.checkov\.yaml", r"\[cloudformation\]", "[dockerfile]"),
    "another app": _text(r"cdk\.json", r"app\.py", "other.py"),
    "a secret": _workflow(_reads_secret),
    "a job that waits no more": _workflow(_waits_no_more),
    "other events": _workflow(_runs_for_more),
    "another action": _workflow(_other_action),
    "a job that may fail": _workflow(_may_fail),
    "a wider token": _workflow(_token),
}  # fmt: skip

HARMLESS: dict[str, Change] = {
    "a smaller gate": _number(RECIPES, "max_absolute_difference", _less),
    "a smaller tolerance": _number(GOLDEN, "max_relative_difference", _less),
    "more instances of a model": _text(CONFIGURATIONS, r"count: 1\b", "count: 4"),
    "a queue delay": _text(
        CONFIGURATIONS, r"dynamic_batching \{ \}",
        "dynamic_batching { max_queue_delay_microseconds: 100 }",
    ),
    "smaller batches": _number(CONFIGURATIONS, "max_batch_size", _less),
    "code": _text(CODE, r"\Z", "\n\n# The end.\n"),
    "a comment in YAML": _text(r"(?!release/).*\.ya?ml", r"\A", "# A comment.\n"),
    "a comment in requirements": _text(PINNED, r"\A", "# A comment.\n"),
    "a description": _text(RECIPES, "description: ", "description: All of "),
    "a test": _text(r"(models/.*/)?tests/.*\.py", r"\Z", "\n\n# The end.\n"),
    "a document": _text(r"docs/.*\.md|README\.md", r"\Z", "\nThe end.\n"),
    "a check that counts again": _text(r"\.checkov\.yaml", r"^  - CKV.*\n", ""),
    "a step's name": _workflow(_step_name),
    "more time": _workflow(_more_time),
    "another expected value": _text(GOLDEN, r"(?<=data\": \[)-?0\.0", "0.1"),
    "a stack, which templates show": _text(r"stacks/.*\.py", r"\Z", "\n\n# The end.\n"),
    "the AWS of a laptop": _text(r"local_sagemaker/.*\.py", r"\Z", "\n\n# The end.\n"),
}  # fmt: skip


def leaf_mutations(seed: int) -> Iterator[FileMutation]:
    """Yield a change of one value of each settings file, which nothing may leave unsaid."""
    draw = random.Random(seed)
    for path in (*_settings(), "cdk.json", "package.json"):
        text = base()[path].decode()
        value = json.loads(text) if path.endswith(".json") else yaml.safe_load(text)
        steps = draw.choice(list(_leaves(value)))
        parent = value
        for step in steps[:-1]:
            parent = parent[step]
        parent[steps[-1]] = _other(parent[steps[-1]])
        content = json.dumps(value) if path.endswith(".json") else yaml.safe_dump(value)
        yield FileMutation(".".join(map(str, steps)), {path: content})


def _settings() -> list[str]:
    pattern = rf"\.github/workflows/.*|\.c[\w.]+\.yaml|{RECIPES}"
    return sorted(path for path in base() if re.fullmatch(pattern, path))


def _leaves(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, item in items:
            yield from _leaves(item, (*steps, step))
    else:
        yield steps


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
    return "x"
