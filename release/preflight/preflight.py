"""One preflight: who asks, what is to be deployed, and the rows of its topics."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
from botocore.exceptions import ClientError, NoCredentialsError

from release.preflight.account import Account, Caller
from release.preflight.asking import rows_of
from release.preflight.clients import client
from release.preflight.rows import Row
from release.preflight.topics import BEFORE_A_DELIVERY
from release.tree import Tree


class NoCredentials(Exception):
    """AWS does not know who asks, and this is what it, or the SDK, says."""


NOBODY = (
    *("AccessDenied", "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId"),
    *("SignatureDoesNotMatch", "UnrecognizedClientException"),
)
"""How STS answers credentials that are none."""
NOT_HERE = ("InvalidClientTokenId", "UnrecognizedClientException")
"""Those of them that a region which the account has not enabled answers as well
(https://blog.leapp.cloud/how-to-fix-aws-invalidclienttokenid-the-security-token-included-in-the-request-is-invalid;
no page of AWS was found that says so)."""


def caller(session: boto3.Session) -> Caller:
    """Return who asks. Raises `NoCredentials`, and what AWS and the SDK raise."""
    try:
        said = client(session, "sts").get_caller_identity()
    except NoCredentialsError:
        raise NoCredentials("there are none: aws configure, or AWS_PROFILE") from None
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code in NOT_HERE:
            region = session.region_name
            raise NoCredentials(
                f"{message} Or {region} is not enabled in this account: "
                f"aws account enable-region --region-name {region}"
            ) from None
        if code in NOBODY:
            raise NoCredentials(message) from None
        raise
    return Caller(said["Account"], said["Arn"])


def before_a_delivery(tree: Tree, stage: str, assembly: Path, session: boto3.Session) -> list[Row]:
    """Return the rows of what a deploy of an assembly could fail with. Raises `NoCredentials`.

    `session` is in the stage's region.
    """
    account = Account(session, caller(session), tree, stage, assembly)
    return list(rows_of(BEFORE_A_DELIVERY, account))


@contextmanager
def account_of(tree: Tree, stage: str) -> Iterator[Account]:
    """Give the account of a stage, with the stage's assembly, for the length of the `with` block.

    Raises `CheckoutError`, `NotSynthesised`, `NoCredentials` and `BotoCoreError`.
    """
    session = boto3.Session(region_name=tree.stage(stage).region)
    asking = caller(session)
    with TemporaryDirectory(prefix="preflight-") as folder:
        tree.synthesise(stage, to=Path(folder))
        yield Account(session, asking, tree, stage, Path(folder))
