"""The first step of a delivery: what the account would refuse is said before anything changes."""

import boto3

from release.delivery.assembly import Assembly
from release.delivery.errors import NotDelivered
from release.delivery.steps import say, step
from release.preflight import rendering
from release.preflight.preflight import NoCredentials, before_a_delivery
from release.preflight.rows import Verdict
from release.tree import Tree

ANYWAY = "IGNORE_PREFLIGHT=1"
"""What lets a delivery go on where preflight is wrong."""


def ask_the_account(
    tree: Tree, assembly: Assembly, session: boto3.Session, *, anyway: bool = False
) -> None:
    """Ask what a deploy of `assembly` could fail with; with `anyway`, only say it.

    Raises `NotDelivered` with all that is refused.
    """
    with step("ask the account (make preflight asks more)"):
        try:
            rows = before_a_delivery(tree, assembly.stage, assembly.folder, session)
        except NoCredentials as error:
            raise NotDelivered(f"no credentials: {error}") from None
        refused = [it for it in rows if it.verdict is Verdict.REFUSED]
        unknown = [it for it in rows if it.verdict is Verdict.UNKNOWN]
        if refused and not anyway:
            raise NotDelivered(
                f"the account refuses:\n{rendering.table(refused)}\n"
                f"  Nothing was changed. Where preflight is wrong: make deliver ... {ANYWAY}"
            )
    for it in refused:
        say(f"! {it.subject}: {it.said}")
    if unknown:
        subjects = ", ".join(f"{it.topic} ({it.said})" for it in unknown)
        say(f"? not known before the deploy: {subjects}")
