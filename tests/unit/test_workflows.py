"""The workflows of GitHub Actions, tested without GitHub."""

import os
import re
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from review.files.workflows import FOLDER, broken_invariants
from tests.processes import run_program

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    result: Path = request.param
    return result


@pytest.fixture
def workflow(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def pull_request() -> dict[str, Any]:
    path = ROOT / ".github" / "workflows" / "pull-request.yml"
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return jobs


def deploy() -> dict[str, Any]:
    path = ROOT / ".github" / "workflows" / "deploy.yml"
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return jobs


def commands(workflow: dict[str, Any]) -> list[str]:
    return [step["run"] for step in steps(workflow) if "run" in step]


def test_workflows_use_no_secrets(path: Path) -> None:
    assert "secrets." not in path.read_text()


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    workflows = [yaml.safe_load(path.read_text()) for path in WORKFLOWS]
    run = [command for workflow in workflows for command in commands(workflow)]
    used_targets = {target for command in run for target in re.findall(r"make ([\w-]+)", command)}
    assert used_targets
    assert used_targets <= targets


def test_review_job_runs_no_code_of_the_pull_request() -> None:
    jobs = pull_request()
    review = jobs["review"]
    head, base = (
        step for step in review["steps"] if step.get("uses", "").startswith("actions/checkout")
    )
    assert head["with"]["path"] == "head"
    assert "ref" not in head["with"]
    assert (base["with"]["path"], base["with"]["ref"]) == (
        "base",
        "${{ steps.base.outputs.commit }}",
    )
    (result,) = (step for step in review["steps"] if step.get("id") == "base")
    assert result["env"] == {"BASE": "${{ github.event.merge_group.base_sha }}"}
    commit = "${BASE:-$(git -C head rev-parse 'HEAD^1')}"
    assert result["run"] == f'echo "commit={commit}" >> "$GITHUB_OUTPUT"'
    run = [step for step in review["steps"] if "run" in step and step != result]
    assert [step["run"].split()[0] for step in run] == ["make", ".", "cat"]
    assert [step.get("working-directory") for step in run] == ["base", "base", None]
    assert not [step for step in review["steps"] if "cache" in step.get("with", {})]


def test_artifacts_are_downloaded_by_id() -> None:
    # Another job of the run could replace the artifact of a name.
    downloads = [
        step["with"]
        for jobs in (pull_request(), deploy())
        for job in jobs.values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/download-artifact@")
    ]
    assert len(downloads) == 5
    assert all("artifact-ids" in inputs and "name" not in inputs for inputs in downloads)


def test_packages_are_installed_before_aws_credentials(workflow: dict[str, Any]) -> None:
    for job in workflow["jobs"].values():
        commands_and_actions = [step.get("uses", step.get("run", "")) for step in job["steps"]]
        for number, step in enumerate(commands_and_actions):
            if step.startswith("aws-actions/"):
                assert {"make install", "make install-cdk"} & set(commands_and_actions[:number])


@pytest.mark.parametrize(
    ("tag", "changelog", "is_error"),
    [
        ("v0.2.0", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n", False),
        ("v0.2.0", "## 0.2.0 (2026-11-22)\n", False),
        ("0.2.0", "## 0.2.0\n", True),
        ("v0.1.0", "## 0.2.0\n", True),
        ("v0.2.0", "## Unreleased\n\n## 0.2.0\n", True),
        ("v0.2.0", "", True),
    ],
)
def test_release_tag_matches_version_and_changelog(
    tag: str, changelog: str, is_error: bool
) -> None:
    check = runpy.run_path(str(ROOT / ".github/check_version.py"))["check"]
    message = check(tag, pyproject='[project]\nversion = "0.2.0"\n', changelog=changelog)
    assert message.startswith("error: the tag is ") is is_error
    assert bool(message) is is_error


def test_no_code_of_a_change_reviews_or_delivers_it() -> None:
    for name, job in deploy().items():
        checkouts = [step for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
        refs = [step["with"].get("ref") for step in checkouts]
        folders = {step.get("working-directory") for step in job["steps"] if "run" in step}
        if name != "build":
            outputs = (
                "steps.base.outputs.commit" if name == "review" else "needs.review.outputs.base"
            )
            assert refs[-1] == f"${{{{ {outputs} }}}}"
        if name == "review":
            assert folders - {None} == {"base"}
            assert checkouts[0]["with"]["path"] == "head"
        elif name != "build":
            assert len(refs) == 1


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A clone as the job has it, in `head`; name of a commit -> its SHA."""
    root = tmp_path_factory.mktemp("main")

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        command = ["git", "-C", str(root / "head"), *identity, *arguments]
        return subprocess.check_output(command, text=True).strip()

    subprocess.run(["git", "init", "-qb", "main", root / "head"], check=True)
    commits = {"root": str(root)}
    for name in ("first", "second", "merged", "merge", "foreign"):
        if name in ("merged", "foreign"):
            git("checkout", "-qb", name)
        if name == "merge":
            git("checkout", "-q", "main")
            git("merge", "-q", "--no-ff", "--no-edit", "merged")
        else:
            git("commit", "-q", "--allow-empty", "-m", name)
        commits[name] = git("rev-parse", "HEAD")
    git("checkout", "-q", "main")
    return commits


@pytest.mark.parametrize(
    ("successes", "first_base", "base"),
    [
        (["second", "first"], "first", "second"),
        (["foreign", "merged", "first"], "", "first"),  # which a tag `main` can name
        ([], "second", "second"),
        (["foreign"], "first", "first"),
        ([], "", None),  # actions/checkout would take the change itself
        ([], "main", None),
    ],
)
def test_base_of_a_delivery_is_the_last_commit_of_main_that_was_delivered(
    tmp_path: Path, main: dict[str, str], successes: list[str], first_base: str, base: str | None
) -> None:
    """Not the previous push: its review may have failed, and its changes are not delivered yet."""
    job = deploy()["review"]
    (step,) = (step for step in job["steps"] if step.get("id") == "base")
    assert job["outputs"] == {"base": "${{ steps.base.outputs.commit }}"}
    assert step["env"]["FIRST_BASE"] == "${{ vars.FIRST_BASE }}"
    assert job["steps"][0]["with"] | {"path": "head", "fetch-depth": 0} == job["steps"][0]["with"]
    options = "--workflow deploy.yml --event push --branch main --status success --limit 100 "
    lines = "\n".join(main[name] for name in successes)
    (tmp_path / "gh").write_text(
        f'#!/bin/sh\ncase "$*" in "run list --repo o/r {options}"*) echo "{lines}";; esac'
    )
    (tmp_path / "gh").chmod(0o755)
    output = tmp_path / "output"
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "o/r"}
    variables |= {"GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(tmp_path)}
    variables["FIRST_BASE"] = main.get(first_base, first_base)
    finished = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=main["root"], env=variables, check=False, capture_output=True,
    )  # fmt: skip
    assert finished.returncode == (0 if base else 1)
    commit = output.read_text() if output.exists() else None
    assert commit == (base and f"commit={main[base]}\n")


def test_workflows_keep_the_invariants() -> None:
    files = {f"{FOLDER}{path.name}": path.read_bytes() for path in WORKFLOWS}
    assert list(broken_invariants(files)) == []


PROGRAM = """#!/bin/sh
printf '%s\\n' "$@" > arguments
"""


@pytest.mark.parametrize("digest", ["x' ; touch ran ; : '", "$(touch ran)", "--allow-older", ""])
def test_digest_is_one_argument(tmp_path: Path, digest: str) -> None:
    """The job that writes it runs the code of the change; the empty one is that of a failed job."""
    steps = [
        step for job in (*deploy().values(), pull_request()["review"]) for step in job["steps"]
    ]
    reading = [step["run"] for step in steps if "DIGEST" in step.get("env", {})]
    assert len(reading) == 4
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").write_text("PATH=$PWD:$PATH")
    for name in ("tritonsm", "python"):
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    for command in reading:
        environment = {**os.environ, "DIGEST": digest}
        run_program("bash", "-e", "-c", command, cwd=tmp_path, env=environment)
        assert f"--digest={digest}" in (tmp_path / "arguments").read_text().splitlines()
    assert not (tmp_path / "ran").exists()
