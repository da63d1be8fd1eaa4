"""A stage that is somewhere else."""

from collections.abc import Iterator

from release.review import environments
from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.stage_file import StageFile


def new_environment(comparison: Comparison) -> Iterator[Found]:
    """The stage gets another region or account, where nothing of it is.

    A stack is in one region of one account (CloudFormation user guide, "How CloudFormation works"):
    what was deployed is not moved, and not deleted.
    """
    was, will_be = comparison.was, comparison.will_be
    if not comparison.before or not environments.may_move(was, will_be):
        return
    where = f"{_place(was)} -> {_place(will_be)}"
    new = (
        "every stack is created there, every model is built there, and what is deployed runs on "
        "and is paid for until somebody destroys it"
    )
    unless = "" if comparison.moves else "unless that is where it is deployed already, "
    yield Found(comparison.stage, f"{comparison.stage} moves, {where}: {unless}{new}")


def _place(file: StageFile) -> str:
    return f"{file.region} of account {file.account}" if file.account else file.region
