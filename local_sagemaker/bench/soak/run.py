"""A run: clients, deeds and samples at once, and what is left of it at the end."""

import random
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from local_sagemaker import Folder, Running
from local_sagemaker.bench.soak.account import Account
from local_sagemaker.bench.soak.asking import Asker, client, kept, not_kept, request
from local_sagemaker.bench.soak.ground import Ground, Lane
from local_sagemaker.bench.soak.many import Many
from local_sagemaker.bench.soak.one import One
from local_sagemaker.bench.soak.plan import plan
from local_sagemaker.bench.soak.processes import FRONT, MINISTACK, Sample, sample
from local_sagemaker.bench.soak.record import Record
from local_sagemaker.bench.soak.scene import MANY, MODELS, ONE, Scene

CLIENTS = 4
"""One of them makes a connection for each call."""

POOLED = 80
"""Threads and connections that pools keep: the front has 64 threads for operations, for one."""

REST_SECONDS = 60
"""What is given back late, as of clients that have just gone, has so long."""

HOT = 3
"""Models of which most calls are, so that the others are cold when they are asked for."""


@dataclass(frozen=True)
class Run:
    """What happened, and the samples by their second; `before` and `after` any endpoint."""

    record: Record
    samples: list[tuple[float, Sample]]
    before: Sample
    after: Sample

    @property
    def left(self) -> list[str]:
        """What is there `after`, and was not `before`."""
        return left(self.before, self.after)


def left(before: Sample, after: Sample) -> list[str]:
    """Return what is left of endpoints: handles and threads of pools are allowed for."""
    allowed = {
        **dict.fromkeys(("processes", "zombies", "shared memory"), 0),
        **{f"{role} handles": POOLED for role in (FRONT, MINISTACK)},
        **{f"{role} threads": POOLED for role in (FRONT, MINISTACK)},
    }
    return [
        f"{after[name]:.0f} {name}, {before[name]:.0f} before"
        for name, more in allowed.items()
        if after[name] > before[name] + more
    ]


def run(
    folder: Folder,
    running: Running,
    *,
    seconds: float,
    seed: int,
    pause: float = 1.0,
    every: float = 5.0,
) -> Run:
    """Put a local SageMaker under load and planned faults; boto3's clients must be set up for it.

    `pause` is the mean of seconds between two calls of a client, `every` those between two samples.
    """
    look = partial(sample, folder, running.pid)
    scene, record, stop = Scene(), Record(), threading.Event()
    scene.sagemaker.list_endpoints()
    before = look()
    scene.open()
    kept_client = client()
    asker = Asker(record, kept(kept_client), scene.factors)
    raw = Asker(record, not_kept(running.port), scene.factors)
    ground = Ground(scene, asker, folder, running.port)
    many = Many(ground)
    clients = [
        threading.Thread(
            target=_ask, args=(raw if number == 0 else asker, stop, pause, seed + number)
        )
        for number in range(CLIENTS)
    ]
    lanes = [
        threading.Thread(target=_do, args=(record, lane, seconds, seed + number))
        for number, lane in enumerate((many.lane, One(ground).lane, Account(ground).lane))
    ]
    for thread in clients + lanes:
        thread.start()
    samples = []
    while any(it.is_alive() for it in lanes):
        samples.append((round(record.now(), 1), look()))
        time.sleep(every)
    stop.set()
    for thread in clients:
        thread.join()
    many.close()
    scene.close()
    kept_client.close()
    after = look()
    for _ in range(REST_SECONDS):
        if not left(before, after):
            break
        time.sleep(1)
        after = look()
    return Run(record, samples, before, after)


def _ask(asker: Asker, stop: threading.Event, pause: float, seed: int) -> None:
    chance = random.Random(seed)
    while not stop.wait(chance.expovariate(1 / pause)):
        endpoint = MANY if chance.random() < 0.7 else ONE
        hot = chance.random() < 0.7
        model = chance.choice(MODELS[:HOT] if hot else MODELS[HOT:]) if endpoint == MANY else ""
        _watched(asker.record, partial(asker.ask, endpoint, model, request(chance)))


def _do(record: Record, lane: Lane, seconds: float, seed: int) -> None:
    pauses = {what: pause for what, (pause, _) in lane.items()}
    for planned in plan(pauses, seconds=seconds, seed=seed):
        if record.now() > seconds and record.done[planned.what]:
            continue  # the machine was too slow for the whole plan
        time.sleep(max(0.0, planned.second - record.now()))
        _, deed = lane[planned.what]
        _watched(record, partial(deed, random.Random(planned.seed)))
        record.happened(planned.what)


def _watched(record: Record, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:  # whatever it is, it is not what was planned
        record.surprise(traceback.format_exc())
