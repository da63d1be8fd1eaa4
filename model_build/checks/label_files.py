"""Labels are in files that exist."""

import os
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def label_files(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`label_filename` is a file in the model directory, with a line for each value.

    Triton answers requests for a `classification` with these labels.
    """
    for model in repository.models.values():
        for index, output in enumerate(model.config.output):
            if not output.label_filename:
                continue
            place = model.at("output", index, "label_filename")
            path = model.directory / output.label_filename
            if not os.path.isfile(path):
                yield place, f"{output.label_filename} is not beside config.pbtxt: add it there"
                continue
            labels = len(path.read_text(encoding="utf-8", errors="replace").splitlines())
            values = output.dims[-1] if output.dims else -1
            if values > 0 and labels != values:
                yield place, f"{output.label_filename} has {labels} lines for {values} values"
