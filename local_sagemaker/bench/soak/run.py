"""A run: clients, faults and samples at the same time, and what is left at the end."""

import random
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from local_sagemaker import Folder, Running
from local_sagemaker.bench.soak.calls import CheckingClient, Record, random_size
from local_sagemaker.bench.soak.faults import Faults, Lane
from local_sagemaker.bench.soak.processes import Sample, left, sample
from local_sagemaker.bench.soak.scene import MANY, MODELS, ONE, Scene

CLIENTS = 4
HOT = 3
"""Models that get most calls, so that the others are cold when they are called."""
FIRST_TURNS = 0.6
"""Share of a run by which every fault has had its first turn, so that a short one has all."""
REST_SECONDS = 60
"""For what is given back late, such as connections of clients that have just left."""


@dataclass(frozen=True)
class Run:
    """What happened; `before` and `after` are samples without any endpoint."""

    record: Record
    samples: list[Sample]
    before: Sample
    after: Sample


def run(folder: Folder, running: Running, *, seconds: float, seed: int, every: float = 5.0) -> Run:
    """Put a local SageMaker under load and faults; boto3's clients must be set up for it.

    The faults follow from the seed; `every` are the seconds between two samples.
    """
    record = Record()
    scene, caller, stop = Scene(record), CheckingClient(record), threading.Event()
    scene.sagemaker.list_endpoints()
    before = sample(folder, running.pid)
    scene.open()
    faults, began = Faults(scene, caller, folder, running), time.monotonic()
    clients = [
        threading.Thread(target=_call, args=(caller, stop, random.Random(seed + number)))
        for number in range(CLIENTS)
    ]
    lanes = [
        threading.Thread(target=_do, args=(record, lane, began, seconds, random.Random(seed)))
        for lane in faults.lanes
    ]
    for thread in clients + lanes:
        thread.start()
    samples = []
    while any(lane.is_alive() for lane in lanes):
        samples.append(sample(folder, running.pid))
        time.sleep(every)
    stop.set()
    for thread in clients:
        thread.join()
    faults.close()
    scene.close()
    caller.close()
    end = time.monotonic() + REST_SECONDS
    while left(before, after := sample(folder, running.pid)) and time.monotonic() < end:
        time.sleep(1)
    return Run(record, samples, before, after)


def _call(caller: CheckingClient, stop: threading.Event, chance: random.Random) -> None:
    while not stop.wait(chance.expovariate(1)):
        hot = MODELS[:HOT] if chance.random() < 0.7 else MODELS[HOT:]
        endpoint, model = (MANY, chance.choice(hot)) if chance.random() < 0.7 else (ONE, "")
        call = partial(caller.call, endpoint, model, numbers=random_size(chance))
        _watched(caller.record, endpoint, call)


def _do(record: Record, lane: Lane, began: float, seconds: float, chance: random.Random) -> None:
    """Do what a lane has, each kind at random distances, as radioactive decays have."""
    due = {
        name: chance.uniform(0, min(pause, FIRST_TURNS * seconds))
        for name, (pause, _) in lane.items()
    }
    while due:
        name = min(due, key=due.__getitem__)
        second = due.pop(name)
        pause, fault = lane[name]
        if second > seconds or (time.monotonic() - began > seconds and record.faults[name]):
            continue  # the machine was too slow for the whole plan
        time.sleep(max(0.0, second - (time.monotonic() - began)))
        _watched(record, name, partial(fault, chance))
        record.faults[name] += 1
        due[name] = second + chance.expovariate(1 / pause)


def _watched(record: Record, name: str, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:  # whatever it is, nothing has planned it
        record.unexplained.append(f"{name}: {traceback.format_exc()}")
