"""What CodeBuild's GPU machines carry, as far as somebody has seen it."""

from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

import platform_facts
from release.preflight.account import Account
from release.preflight.answers import why
from release.preflight.gpu_probe import GPU, PROJECT, TOPIC, Gpu, ProbeFailed, probe, rows
from release.preflight.rows import Row
from release.preflight.seen import Seen

__all__ = ["TOPIC", "ask", "ask_a_build"]


def ask(account: Account) -> Iterator[Row]:
    """Say what a probe has seen in this region before."""
    for image in _images(account):
        seen = platform_facts.codebuild_gpu_seen(account.region)
        if seen is None:
            yield TOPIC.unknown(
                "driver",
                "no document says which, and no probe was recorded",
                "make preflight PROBE=1",
            )
        else:
            yield from rows(Gpu(seen.driver, seen.gpu, seen.cuda, seen.tensorrt), image)


def ask_a_build(account: Account, seen: Seen) -> Iterator[Row]:
    """Run a build; remember what it saw, and say what it left."""
    if not _images(account):
        return
    left: list[Row] = []
    try:
        found, image = probe(account, left)
    except ProbeFailed as error:
        yield TOPIC.unknown("probe", str(error))
    except (ClientError, BotoCoreError) as error:
        yield TOPIC.unknown("probe", why(error))
    else:
        seen.gpu = found
        yield from rows(found, image)
    yield from left


def _images(account: Account) -> list[str]:
    """Return the images of the stage's GPU builds, where one of its models is for a GPU."""
    targets = [it["Target"] for _, _, it in account.resources("Custom::TritonModel")]
    if not any(it.startswith("cuda-") for it in targets):
        return []
    return [
        str(it["Environment"]["Image"])
        for _, _, it in account.resources(PROJECT)
        if it["Environment"]["Type"] == GPU
    ]
