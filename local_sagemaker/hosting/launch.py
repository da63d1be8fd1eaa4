"""Start of an instance: creates a server from a variant and its Model."""

import itertools
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent, ignore_event
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import archives, packages, sandbox, serve
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import MIB, Capacity
from local_sagemaker.hosting.container import ModelStep, Report
from local_sagemaker.hosting.copies import CopyHost, Slot
from local_sagemaker.hosting.instance import DOWNLOADED, RunningServer
from local_sagemaker.hosting.model_store import ModelStore
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS, MultiModelContainer
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.hosting.single_model_container import SingleModelContainer
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.prerequisites import TritonInstallation

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEPT_LOGS = 50
"""Number of ended servers whose log files are kept; CloudWatch Logs has their lines too."""


@dataclass(frozen=True)
class Host:
    """Settings and services that all endpoints share.

    `instances` is the maximum number of processes of a variant, `load_seconds` the timeout of a
    load, `capacities` the available instances per type. `report` gets model steps by endpoint,
    variant and instance, `follow` gets log group and log stream of each new server, and `tell`
    reports events of instances and endpoints.
    """

    triton: TritonInstallation
    backends: Path
    folder: Path
    s3: "S3Client"
    instances: int
    report: Callable[[str, str, str, ModelStep], None] = lambda *_: None
    follow: Callable[[str, str, Triton], None] = lambda *_: None
    tell: OnEvent = ignore_event
    load_seconds: float = LOAD_SECONDS
    capacities: Capacities = field(default_factory=Capacities)


_numbers = itertools.count(1)

_OF_COPIES = {
    EventKind.INSTANCE_STARTED: EventKind.MODEL_LOADING,
    EventKind.INSTANCE_HEALTHY: EventKind.MODEL_LOADED,
    EventKind.INSTANCE_UNHEALTHY: EventKind.MODEL_UNHEALTHY,
    EventKind.INSTANCE_REPLACED: EventKind.MODEL_FAILED,
    EventKind.INSTANCE_LEAVING: EventKind.MODEL_UNLOADING,
    EventKind.INSTANCE_ENDED: EventKind.MODEL_UNLOADED,
}
"""Event kind of an instance -> event kind of a copy, which is shown as a model of its instance."""


def begin(
    host: Host,
    endpoint: str,
    variant: dict[str, Any],
    model: dict[str, Any] | None,
    slot: Slot | None = None,
) -> RunningServer:
    """Start a server for an instance of a variant. Raise `LocalSageMakerError` on failure.

    Without `model`, the instance hosts copies of inference components. With `slot`, the instance is
    such a copy, and `variant` represents its component.

    Source of the log group /aws/sagemaker/Endpoints/[EndpointName] and the stream
    [production-variant-name]/[instance-id]: SageMaker's developer guide, logging-cloudwatch. The
    stream name of a copy has no source.
    """
    name = variant["VariantName"]
    place = endpoint, name, f"i-{uuid.uuid4().hex[:17]}"
    group, stream = f"/aws/sagemaker/Endpoints/{endpoint}", f"{name}/{place[2]}"
    if slot:
        place = endpoint, slot.host.variant, slot.host.id
        group = f"/aws/sagemaker/InferenceComponents/{name}"
        stream = f"{slot.host.variant}/{slot.host.id}-{slot.number}"

    def tell(kind: EventKind, message: str) -> None:
        if slot:
            kind, message = _OF_COPIES[kind], f"{slot.name}: {message}"
        host.tell(DashboardEvent(kind, message, *place, model=slot.name if slot else None))

    running = _begin(host, place, variant, model)
    if slot:
        memory, cpus = int(slot.needs.memory * MIB), slot.needs.cpus or slot.host.resources.cpus
        running = replace(running, capacity=Capacity(memory, running.capacity.disk, cpus))
    if model is not None:
        host.follow(group, stream, running.triton)
    started = variant.get("InstanceType", "an instance")
    what = "The container of " if model else ""
    tell(EventKind.INSTANCE_STARTED, f"{what}{started} was started.")
    server_id = f"{place[2]}/{slot.name}" if slot else place[2]
    return replace(running, id=server_id, tell=tell)


def _begin(
    host: Host, place: tuple[str, str, str], variant: dict[str, Any], model: dict[str, Any] | None
) -> RunningServer:
    capacity = Capacity.for_variant(variant)
    folder = host.folder / f"{place[0]}-{variant['VariantName']}-{next(_numbers)}"
    if model is None:
        copies: Any = CopyHost(place[2], variant)  # it gets no calls
        return RunningServer(copies, copies, folder, capacity)
    shutil.rmtree(folder, ignore_errors=True)
    _forget_old_logs(host.folder)
    folder.mkdir(parents=True, exist_ok=True)  # rmtree fails for some files of models
    described = model.get("PrimaryContainer") or model["Containers"][0]
    if described.get("Mode", "SingleModel") == "MultiModel":
        report = partial(host.report, *place)
        return _begin_multi_model(host, folder, described, capacity, report)
    return _begin_single_model(host, folder, described, capacity)


def _forget_old_logs(instances: Path) -> None:
    """Delete the oldest folders of ended servers, which contain only logs."""
    by_age = sorted(instances.glob("*"), key=lambda folder: int(folder.name.rpartition("-")[2]))
    ended = [
        folder for folder in by_age if not any((folder / name).exists() for name in DOWNLOADED)
    ]
    for folder in ended[:-KEPT_LOGS]:
        shutil.rmtree(folder, ignore_errors=True)


def _begin_multi_model(
    host: Host, folder: Path, described: dict[str, Any], capacity: Capacity, report: Report
) -> RunningServer:
    prefix = S3Prefix.parse(described["ModelDataUrl"])
    empty = folder / "empty"
    empty.mkdir()
    models = folder / "models"
    models.mkdir()
    command = serve.multi_model(
        described.get("Environment", {}), image=described.get("Image", ""), repository=str(empty)
    )
    seen_at = sandbox.seen_at(models, sandbox.MODELS, isolated=host.triton.isolated)
    triton = _triton(host, folder, command, (models, seen_at))
    caching = described.get("MultiModelConfig", {}).get("ModelCacheSetting", "Enabled")
    store = ModelStore(
        host.s3, prefix=prefix, folder=models, backends=host.backends, limit=capacity.disk
    )
    container = MultiModelContainer(
        triton,
        store,
        seen_at=seen_at,
        memory=capacity.memory,
        caches=caching != "Disabled",
        load_seconds=host.load_seconds,
        report=report,
    )
    return RunningServer(triton, container, folder, capacity)


def _begin_single_model(
    host: Host, folder: Path, described: dict[str, Any], capacity: Capacity
) -> RunningServer:
    archive, repository = S3Prefix.parse(described["ModelDataUrl"]), folder / "model"
    try:
        fetched = archives.fetch(
            host.s3, bucket=archive.bucket, key=archive.key, to=repository, limit=capacity.disk
        )
        packages.provide_for(repository, host.backends)
    except ApiError as error:
        raise LocalSageMakerError(error.message) from None
    seen_at = sandbox.seen_at(repository, sandbox.MODEL, isolated=host.triton.isolated)
    command = serve.single_model(
        described.get("Environment", {}),
        image=described.get("Image", ""),
        archive=repository,
        repository=str(seen_at),
    )
    triton = _triton(host, folder, command, (repository, seen_at))
    container = SingleModelContainer(
        command.invocations, disk_bytes=fetched.size, archive=archive.key.rpartition("/")[2]
    )
    return RunningServer(triton, container, folder, capacity)


def _triton(
    host: Host, folder: Path, command: serve.ServeCommand, models: tuple[Path, Path]
) -> Triton:
    return Triton(
        host.triton,
        arguments=command.arguments,
        environment=command.environment,
        backends=host.backends,
        folder=folder,
        notes=command.notes,
        ping=command.ping,
        models=models,
    )
