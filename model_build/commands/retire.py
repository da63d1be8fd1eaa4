"""`retire`: delete archives that nobody is sent to any more, and engines of theirs alone."""

import argparse
from collections import defaultdict

import boto3

from model_build.archive import SUFFIX, file_name
from model_build.commands.arguments import Commands, add_endpoint, command
from model_build.commands.outcome import Outcome
from model_build.errors import BuildError
from model_build.publishing.bucket import manifest_key
from model_build.publishing.catalog import Catalog
from model_build.publishing.engines import delete_unused, jobs_of
from model_build.publishing.hosted import archive_prefixes


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "retire",
        run,
        summary="delete the archives of one version of a model, and engines that no other archive "
        "has; never an archive that the catalog names",
        examples=["retire minilm 0123456789ab --stage dev --endpoint text"],
    )
    parser.add_argument("model", metavar="NAME", help="the model's name in the catalog")
    parser.add_argument("version", metavar="VERSION", help="12 digits, as in the archive's name")
    add_endpoint(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Delete archive and manifest below every prefix of the endpoint, then unused engines."""
    catalog = Catalog(boto3.client("ssm"), options.stage, options.endpoint)
    archive = file_name(options.model, options.version)
    for name, entry in catalog.entries().items():
        if entry["target_model"] == archive:
            raise BuildError(
                f"the catalog names {archive} for {name}: clients are sent there. Publish another "
                "version or roll back first"
            )
    s3 = boto3.client("s3")
    deleted = []
    jobs: dict[str, set[str]] = defaultdict(set)
    endpoint_name = f"{options.stage}-{options.endpoint}"
    for prefix in archive_prefixes(boto3.client("sagemaker"), endpoint_name):
        key = prefix.prefix + archive
        found = s3.list_objects_v2(Bucket=prefix.bucket, Prefix=key.removesuffix(SUFFIX))
        there = [it["Key"] for it in found.get("Contents", ())]
        if manifest_key(key) in there:
            jobs[prefix.bucket] |= jobs_of(s3, prefix.bucket, manifest_key(key))
        for part in (manifest_key(key), key):  # without its manifest, an archive is none
            if part in there:
                s3.delete_object(Bucket=prefix.bucket, Key=part)
                deleted.append(f"s3://{prefix.bucket}/{part}")
    for bucket, engines in jobs.items():
        deleted += [f"s3://{bucket}/{it}" for it in delete_unused(s3, bucket, engines)]
    if not deleted:
        return Outcome(text=f"{archive} was not there: nothing to delete", data=[])
    return Outcome(text="\n".join(f"deleted {place}" for place in deleted), data=deleted)
