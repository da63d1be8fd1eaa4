"""Measure a model with other numbers of instances and other batching, and show the best as a diff.

Each configuration is loaded into a Triton of its own on this machine's CPU, and invoked by
`--callers` at the same time. One setting of one model is changed at a time; the fastest is kept if
it is at least 10 % faster. At the end, the best and the present configuration are measured again in
turns. A figure says nothing about a GPU, or about another number of cores.
"""

import argparse
import difflib
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from google.protobuf import text_format
from rich.table import Table

from cli import inputs
from cli.errors import CommandError
from cli.load.arguments import positive
from cli.parsers import add_command
from cli.printable import console
from cli.progress import Steps
from cli.try_model import catalog_entry, local_engines, local_target, read_sample
from endpoint_client._payload import encode, to_arrays
from local_sagemaker.serving import ServingError, TritonServer, serve
from model_build import archive, model_config
from model_build.build import Build, build
from model_build.checked_model import check_model
from model_build.commands.arguments import Commands, add_model
from model_build.field_locations import field_locations
from model_build.model_config import KIND, ModelConfig
from model_build.repository import CONFIG, Model, Repository
from model_build.source import ModelSource

CALLERS, SECONDS = 8, 4.0
MIN_GAIN = 1.1
"""Factor from which a configuration counts as faster: two runs of one differ by a few percent."""
DELAYS = (0, 1_000, 5_000)
"""Delays in microseconds within which requests are gathered into a batch."""
FIELDS = ("instance_group", "dynamic_batching")
TURNS = 2
BAR_COLUMNS = 24


class Setting(NamedTuple):
    """The settings of a model: its instances, and the delay of batches in microseconds.

    `delay` is None without dynamic batching.
    """

    instances: int
    delay: int | None

    @classmethod
    def of(cls, config: ModelConfig) -> "Setting":
        """Return the settings of a configuration. Triton's default is one instance."""
        count = config.instance_group[0].count if config.instance_group else 1
        batching = config.dynamic_batching
        delay = batching.max_queue_delay_microseconds
        return cls(count or 1, delay if config.HasField("dynamic_batching") else None)

    def apply(self, config: ModelConfig) -> ModelConfig:
        """Return a configuration with these settings; kinds, profiles and sizes stay."""
        changed = ModelConfig()
        changed.CopyFrom(config)
        if self.instances != Setting.of(config).instances:
            group = changed.instance_group or [changed.instance_group.add()]
            group[0].count = self.instances
        if self.delay is None:
            changed.ClearField("dynamic_batching")
        else:
            changed.dynamic_batching.SetInParent()
            changed.dynamic_batching.max_queue_delay_microseconds = self.delay
        return changed

    def __str__(self) -> str:
        batching = "no batching" if self.delay is None else f"batching {self.delay / 1000:g} ms"
        return f"{self.instances} instance{'' if self.instances == 1 else 's'}, {batching}"


Settings = dict[str, Setting]
"""Model -> its settings."""


@dataclass(frozen=True)
class MeasuredSettings:
    """The calls a second and the 95th percentile of the latency; `error` if a call failed."""

    title: str
    rate: float = 0.0
    p95_ms: float = 0.0
    error: str = ""


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = ("tune models/minilm --callers 16", "tune models/iris --p95 20 --write")
    parser = add_command(commands, "tune", run, __doc__, examples=examples)
    add_model(parser)
    inputs.add_option(parser)
    add = parser.add_argument
    add("--callers", type=int, default=CALLERS, metavar="N", help="callers; default: %(default)s")
    add("--seconds", type=positive, default=SECONDS, help="of each measurement; default: 4")
    add("--p95", type=positive, metavar="MS", help="maximum 95th percentile of the latency")
    add("--write", action="store_true", help="write the best settings into config.pbtxt")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table and the diff, and return the exit code."""
    model: ModelSource = options.model
    with open_tuner(options) as tuner:
        present = tuner.present
        best = tuner.search(present)
        gain = tuner.compare(present, best)
    console().print(_table(tuner.measurements))
    if gain < MIN_GAIN:
        print(f"no configuration is {MIN_GAIN:g} times as fast as that of {model.folder}")
        return 0
    print(f"in turns: {gain:.2f} times as fast")
    for name, item in tuner.tunable.items():
        if best[name] == present[name]:
            continue
        path, text = item.directory / CONFIG, _with_settings(item, best[name])
        lines = path.read_text().splitlines(keepends=True), text.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(*lines, str(path), str(path)))
        if any(group.kind == KIND.KIND_GPU for group in item.config.instance_group):
            print(f"{name} names a GPU, and this was a CPU: measure an endpoint with tritonsm size")
        if options.write:
            path.write_text(text)
    return 0


@contextmanager
def open_tuner(options: argparse.Namespace) -> Iterator["Tuner"]:
    """Build the model and yield its tuner. Raise `CommandError` if there is nothing to tune."""
    model: ModelSource = options.model
    if options.callers < 1:
        raise CommandError(f"--callers {options.callers}: write 1 or more")
    checked, source = check_model(model), Repository.read(model.folder)
    tunable = {name: item for name, item in source.models.items() if _is_tunable(item)}
    if checked.is_decoupled or source.stateful or not tunable:
        raise CommandError(
            f"{checked.name}: nothing to tune: decoupled models, sequences, and models with "
            "several instance groups are not measured"
        )
    entry, sample = catalog_entry(checked), read_sample(checked)
    request = encode(entry, to_arrays(entry, inputs.request_inputs(options.input, entry, sample)))
    steps, target, engines = Steps(), local_target(), local_engines()
    with build(model, name=checked.name, target=target, progress=steps, engines=engines) as built:
        yield Tuner(built, tunable, request, options, steps)


class Tuner:
    """The search: settings of one model after another, each measured in a Triton of its own."""

    def __init__(
        self,
        built: Build,
        tunable: dict[str, Model],
        request: tuple[bytes, str],
        options: argparse.Namespace,
        steps: Steps,
    ) -> None:
        self._built, self._request, self._options, self._steps = built, request, options, steps
        self.tunable = tunable
        self.present = {name: Setting.of(item.config) for name, item in tunable.items()}
        self.measurements: list[MeasuredSettings] = []

    def search(self, present: Settings) -> Settings:
        """Return the best settings of the models."""
        best, fastest = present, self._measure("as it is", present)
        if fastest.error:
            raise CommandError(f"{self._built.name}: {fastest.error}")
        for name, item in self.tunable.items():
            for choices in (_counts, _delays) if item.config.max_batch_size > 1 else (_counts,):
                for setting in choices(best[name]):
                    measured = self._measure(f"{name}: {setting}", {**best, name: setting})
                    limit = self._options.p95 or float("inf")
                    is_better = measured.rate >= MIN_GAIN * fastest.rate
                    if not measured.error and is_better and measured.p95_ms <= limit:
                        fastest, best = measured, {**best, name: setting}
        return best

    def compare(self, present: Settings, best: Settings) -> float:
        """Return how many times as fast the best settings are, measured in turns."""
        if best == present:
            return 1.0
        with self.serve(present) as measure_present, self.serve(best) as measure_best:
            pairs = [
                (measure_present("as it is, again"), measure_best("the best, again"))
                for _ in range(TURNS)
            ]
        slow, fast = (sum(item.rate for item in side) for side in zip(*pairs, strict=True))
        return fast / slow if slow else 1.0

    def _measure(self, title: str, settings: Settings) -> MeasuredSettings:
        try:
            with self._steps.step("measure", title), self.serve(settings) as measure:
                return measure(title)
        except ServingError as error:
            failed = MeasuredSettings(title, error=str(error).splitlines()[0])
            self.measurements.append(failed)
            return failed

    @contextmanager
    def serve(self, settings: Settings) -> Iterator[Callable[[str], MeasuredSettings]]:
        """Load the model with these settings, and yield a function that measures it, by title."""
        with TemporaryDirectory(prefix="tune-") as scratch:
            folder = Path(scratch, "repository")
            shutil.copytree(self._built.folder, folder, copy_function=os.symlink)
            for name, setting in settings.items():
                (folder / name / CONFIG).unlink()
                config = setting.apply(self._built.repository.models[name].config)
                model_config.write(config, folder / name / CONFIG)
            packed = Path(scratch, "archives", f"{self._built.name}{archive.SUFFIX}")
            packed.parent.mkdir()
            archive.pack(folder, packed)
            with serve(packed.parent) as server:
                server.load(packed.name)
                yield partial(self._invoke, server, packed.name)

    def _invoke(self, server: TritonServer, name: str, title: str) -> MeasuredSettings:
        """Let callers invoke the model for some seconds, after a call of each."""
        latencies: list[float] = []

        def call(end: float) -> None:
            while (start := time.perf_counter()) < end:
                server.invoke(name, *self._request)
                latencies.append(time.perf_counter() - start)

        callers = self._options.callers
        with ThreadPoolExecutor(callers) as threads:
            [*threads.map(lambda _: server.invoke(name, *self._request), range(callers))]
            start = time.perf_counter()
            [*threads.map(call, [start + self._options.seconds] * callers)]
            seconds = time.perf_counter() - start
        p95 = statistics.quantiles(latencies, n=20)[-1] if len(latencies) > 1 else latencies[0]
        self.measurements.append(MeasuredSettings(title, len(latencies) / seconds, 1e3 * p95))
        return self.measurements[-1]


def _is_tunable(model: Model) -> bool:
    return not model.is_ensemble and len(model.config.instance_group) < 2


def _counts(setting: Setting) -> Iterator[Setting]:
    """Yield other numbers of instances: powers of 2, up to the cores of this machine, or 2."""
    count = 1
    while count <= max(2, os.cpu_count() or 1):
        if count != setting.instances:
            yield setting._replace(instances=count)
        count *= 2


def _delays(setting: Setting) -> Iterator[Setting]:
    """Yield other delays of batches, and no batching."""
    for delay in (None, *DELAYS):
        if delay != setting.delay:
            yield setting._replace(delay=delay)


def _table(measurements: Sequence[MeasuredSettings]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("configuration", "calls/s", "", "p95 ms", "times"):
        table.add_column(header, justify="left" if header in ("configuration", "") else "right")
    base, most = measurements[0].rate, max(item.rate for item in measurements)
    for item in measurements:
        if item.error:
            table.add_row(item.title, "", item.error)
            continue
        bar = "█" * round(BAR_COLUMNS * item.rate / most)
        figures = f"{item.rate:.1f}", bar, f"{item.p95_ms:.1f}", f"{item.rate / base:.2f}"
        table.add_row(item.title, *figures)
    return table


def _with_settings(model: Model, setting: Setting) -> str:
    """Return the text of config.pbtxt with other settings; comments and other fields stay."""
    text = (model.directory / CONFIG).read_text()
    changed = setting.apply(model.config)
    for name in FIELDS:
        only = ModelConfig()
        only.CopyFrom(changed)
        for field, _ in changed.ListFields():
            if field.name != name:
                only.ClearField(field.name)
        text = _replace_field(text, name, text_format.MessageToString(only, as_one_line=True))
    return text


def _replace_field(text: str, name: str, new: str) -> str:
    """Return a protobuf text with another text of a top-level field, empty to remove it."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    starts = {
        path: offsets[line - 1] + column - 1
        for path, (line, column) in field_locations(text).items()
        if len(path) == 1
    }
    if (name,) not in starts:
        return f"{text.rstrip()}\n{new}\n" if new else text
    start = starts[name,]
    end = min((other for other in starts.values() if other > start), default=len(text))
    value = text[start:end]
    kept = value[len(_without_comments(value)) :]
    return text[:start] + (new + kept if new else kept.lstrip()) + text[end:]


def _without_comments(text: str) -> str:
    """Return a text without the comments and spaces at its end."""
    while True:
        shorter = text.rstrip()
        last_line = shorter.rpartition("\n")[2]
        if not last_line.lstrip().startswith("#"):
            return shorter
        text = shorter[: -len(last_line)]
