"""A commit to a stage, and back."""

from collections.abc import Callable

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from release.delivery import golden
from release.delivery.assembly import synthesised
from release.delivery.deployment import Deployment
from release.delivery.errors import DeliveredWrong, NotDelivered
from release.delivery.history import History, Outcome
from release.delivery.repository import Repository, Tree
from release.delivery.steps import say

DIRTY = (
    "the working tree has changes that are in no commit, so that nobody could go back to them: "
    "commit or stash them (git status)"
)


def deliver(repository: Repository, stage: str, *, from_stage: str | None) -> None:
    """Deploy what is checked out to `stage`, with the archives that `from_stage` has tried.

    Raises `NotDelivered` and `DeliveredWrong`.
    """
    commit = repository.committed()
    if commit is None:
        raise NotDelivered(DIRTY)
    golden.read_all(repository.models)
    history = _history(repository, stage)
    with synthesised(repository, stage) as assembly:
        deployment = Deployment(assembly, _session(repository, stage))
        if from_stage is not None:
            deployment.promote_from(from_stage, session=_session(repository, from_stage))
        history.begin(commit)
        _remembered(history, lambda: _put_in_place(deployment, repository))


def roll_back(repository: Repository, stage: str, *, to: str | None) -> str:
    """Deploy an earlier commit of `stage` again, and return it.

    By default that is the last one that was delivered, before the one that serves now if it was.
    Its app runs in a worktree of its own, with the packages that are installed now; its archives
    are in the bucket, so that nothing is built. Raises `NotDelivered` and `DeliveredWrong`.
    """
    history = _history(repository, stage)
    target = history.target(to)
    say(f"going back to {target.commit[:12]}, delivered {target.time}")
    with (
        repository.checked_out(target.commit) as tree,
        synthesised(tree, stage) as assembly,
    ):
        deployment = Deployment(assembly, _session(tree, stage))
        history.begin(target.commit, back_to=target)
        _remembered(history, lambda: _put_in_place(deployment, tree))
    return target.commit


def _put_in_place(deployment: Deployment, tree: Tree) -> None:
    deployment.say_what_is_built()
    deployment.deploy()
    deployment.verify(tree.models)


def _remembered(history: History, put_in_place: Callable[[], None]) -> None:
    try:
        put_in_place()
    except NotDelivered:
        _end(history, Outcome.FAILED)
        raise
    except DeliveredWrong:
        _end(history, Outcome.WRONG)
        raise
    _end(history, Outcome.DELIVERED)


def _end(history: History, outcome: Outcome) -> None:
    """Write an outcome down; that this fails does not change the outcome."""
    try:
        history.end(outcome)
    except (BotoCoreError, ClientError) as error:
        say(f"! {history.name} still says that this delivery is under way: {error}")


def _history(tree: Tree, stage: str) -> History:
    return History(_session(tree, stage).client("ssm"), stage)


def _session(tree: Tree, stage: str) -> boto3.Session:
    return boto3.Session(region_name=tree.region(stage))
