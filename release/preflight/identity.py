"""Who asks, and whether that is the account of the stage."""

from collections.abc import Iterator

from release.preflight.account import Account
from release.preflight.rows import Row, Topic

TOPIC = Topic("identity")


def ask(account: Account) -> Iterator[Row]:
    """Compare the caller's account with the stage's."""
    wanted, caller = account.tree.stage(account.stage).account, account.caller
    if wanted is not None and wanted != caller.account:
        yield TOPIC.refused(
            "account",
            f"these credentials are of {caller.account}, and stages/{account.stage}.yaml says "
            f"{wanted}",
            "take credentials of the stage's account, or correct the file",
        )
    else:
        which = "as the stage's file says" if wanted else "the stage's file names none"
        yield TOPIC.ok("account", f"{caller.account}, {which}")
    yield TOPIC.ok("region", account.region)
    yield TOPIC.ok("caller", caller.arn)
