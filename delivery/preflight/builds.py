"""The archives that a deploy has to build."""

from collections.abc import Iterable

from botocore.exceptions import ClientError

from delivery.preflight.account import Account
from plan.document import Plan
from release.stack_catalog import StackArchive, archives


def archives_to_build(account: Account) -> list[str]:
    """Return the keys of missing archives; all keys, if the bucket does not exist yet."""
    stack_archives = archives(account.templates)
    first = next(iter(stack_archives.values()), None)
    bucket = _bucket(account, first) if first else None
    return [
        key for key in stack_archives if bucket is None or not _is_complete(account, bucket, key)
    ]


def engines_to_build(account: Account, keys: Iterable[str]) -> list[str]:
    """Return the keys of archives with TensorRT engines, which the stage's plan lists."""
    engines = {
        key: archive.engines
        for endpoint in Plan.read(account.assembly).endpoints.values()
        for model in endpoint.models.values()
        for key, archive in model.archives.items()
    }
    return [key for key in keys if engines[key]]


def _bucket(account: Account, archive: StackArchive) -> str | None:
    """Return the name of the model bucket, None if it is not deployed."""
    stack, _, export = str(archive.properties["Bucket"]["Fn::ImportValue"]).partition(":")
    logical_id = account.templates[stack]["Outputs"][export]["Value"]["Ref"]
    return account.physical_ids(stack).get(logical_id)


def _is_complete(account: Account, bucket: str, key: str) -> bool:
    """Return whether an archive has its manifest, which is written after the archive."""
    try:
        account.client("s3").head_object(Bucket=bucket, Key=key.removesuffix(".tar.gz") + ".json")
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    return True
