"""`publish`: publish models to a running multi-model endpoint, without a deploy."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain

import boto3

from model_build.build import build
from model_build.checked_model import CheckedModel, check_model
from model_build.checks import check_target
from model_build.checks.backends import AWS_BACKENDS
from model_build.commands.arguments import (
    Commands,
    add_command,
    add_endpoint,
    add_load,
    parse_models,
)
from model_build.commands.outcome import Outcome, error_message
from model_build.commands.stage_events import (
    check_no_delivery_in_progress,
    make_current,
    read_caller,
    record_event,
    served_prefixes,
)
from model_build.errors import BuildError
from model_build.progress import Printer, Progress, ProgressBar
from model_build.publishing.bucket import publish
from model_build.publishing.engines import stage_engines
from model_build.triton_load import Load, load_drawn, loader
from plan.archives import ArchiveBucket
from plan.catalog import Catalog, Entry
from platform_facts.rules.bucket_keys import PUBLISHED
from platform_facts.rules.server import check_decoupled_model

BATCH = 25
"""Number of models whose catalog entries change together, after checks that take several calls."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "publish",
        run,
        summary="add models, or their new versions, to a running multi-model endpoint and make "
        "them current until a deploy changes them",
        examples=["publish dev text models/minilm", "publish dev shops models/demand"],
    )
    add_endpoint(parser)
    parser.add_argument(
        "models",
        type=parse_models,
        nargs="+",
        metavar="MODEL",
        help="a folder with a recipe.yaml, or a Triton model repository, or its name in models/; "
        "FOLDER-NAME is an alternative of its recipe or a row of its table, and the folder of a "
        "table stands for all rows",
    )
    add_load(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Build the archives for every target of the endpoint, then change the catalog entries.

    If a delivery has built an archive below every prefix, that archive becomes current. A model
    that fails does not stop the others. A second run does not repeat the work of the first.
    """
    sources = dict.fromkeys(chain.from_iterable(options.models))
    models = [check_model(source) for source in sources]
    for model in models:
        for problem in check_decoupled_model(model.name, model.is_decoupled, inference_type=None):
            raise BuildError(problem.message)
    publisher = _Publisher(options)
    with ExitStack() as stack:
        stack.callback(publisher.record)
        load = stack.enter_context(loader(options.no_load))
        load = load_drawn(load, [model.source for model in models])
        bar = stack.enter_context(ProgressBar(len(models))) if len(models) > 1 else None
        for start in range(0, len(models), BATCH):
            publisher.publish(models[start : start + BATCH], load, bar)
    published, errors = publisher.published, list(publisher.errors.values())
    if len(models) > 1:
        unchanged = len(models) - len(published) - len(errors)
        text = f"{len(published)} models are now current, {unchanged} were current already"
    elif errors:
        raise BuildError(errors[0])
    else:
        state = "is now {}" if published else "{} was current already"
        text = f"{models[0].name} {state.format(models[0].version)}"
    states = [
        {"model": model.name, "version": model.version, "published": model.name in published}
        for model in models
        if model.name not in publisher.errors
    ]
    return Outcome(text=text, data=states, errors=errors)


class _Publisher:
    """The state of a run: the endpoint's prefixes, and the models that it has changed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options, s3 = options, boto3.client("s3")
        self._catalog = Catalog(boto3.client("dynamodb"), options.stage, options.endpoint)
        self._endpoint_name = self._catalog.endpoint_name()
        self._prefixes = served_prefixes(self._endpoint_name)
        check_no_delivery_in_progress(options, self._prefixes[0].bucket)
        self._buckets = {
            prefix.bucket: ArchiveBucket(s3, prefix.bucket) for prefix in self._prefixes
        }
        self._engines = {
            name: stage_engines(bucket, stage=options.stage)
            for name, bucket in self._buckets.items()
        }
        self.published = dict[str, str]()
        """The version of each model that the run has made current."""
        self.errors = dict[str, str]()

    def publish(self, models: Sequence[CheckedModel], load: Load, bar: ProgressBar | None) -> None:
        """Upload the archives of some models, then change their catalog entries."""
        revisions = self._catalog.revisions(model.name for model in models)
        entries = dict[str, Entry]()
        for model in models:
            progress: Progress = bar.of(model.name) if bar else Printer(model.name)
            current = revisions.get(model.name)
            try:
                entry = self._upload(model, current.entry if current else {}, load, progress)
            except Exception as error:
                if (message := error_message(error)) is None:
                    raise
                self.errors[model.name] = f"{model.name}: {message}" if bar else message
            else:
                if current is None or entry != current.entry:
                    entries[model.name] = entry
            if bar:
                bar.advance()
        if entries:
            self._check_unchanged()
            caller = read_caller()
        for name, entry in entries.items():
            replaces = revisions.get(name)
            make_current(self._catalog, entry, "published", caller=caller, replaces=replaces)
            self.published[name] = entry["version"]

    def record(self) -> None:
        """Record the models that were changed."""
        if self.published:
            bucket = self._prefixes[0].bucket
            record_event(self._options, "publish", self.published, bucket)

    def _upload(self, model: CheckedModel, current: Entry, load: Load, progress: Progress) -> Entry:
        """Build the archives that are missing, and return the catalog entry."""
        archive = model.target_model
        entry = model.catalog_entry(endpoint=self._endpoint_name, target_model=archive).fields()
        if current == entry or all(
            self._buckets[prefix.bucket].is_complete(prefix.prefix + archive)
            for prefix in self._prefixes
        ):
            return entry
        archive = PUBLISHED + archive
        for prefix in self._prefixes:
            bucket, key = self._buckets[prefix.bucket], prefix.prefix + archive
            if bucket.is_complete(key):
                continue
            if not prefix.own_image:
                check_target(model.source, prefix.target, AWS_BACKENDS)
            with build(
                model.source,
                name=model.name,
                target=prefix.target,
                progress=progress,
                engines=self._engines[prefix.bucket],
            ) as result:
                publish(bucket, result, key=key, load=load, progress=progress)
        return entry | {"target_model": archive}

    def _check_unchanged(self) -> None:
        """Raise `BuildError` if the endpoint or the stage was changed during builds."""
        if served_prefixes(self._endpoint_name) != self._prefixes:
            raise BuildError(
                f"{self._endpoint_name} was updated during the build and now loads archives from "
                "another prefix. The catalog is unchanged: publish again"
            )
        check_no_delivery_in_progress(self._options, self._prefixes[0].bucket)
