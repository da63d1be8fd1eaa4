"""Rules of TensorRT engines."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

LENGTH = re.compile(r"max(imum)?_?(seq(uence)?_?)?len(gth)?", re.IGNORECASE)
"""Names of parameters with the maximum length of texts."""


def lengths_above_engines(
    shapes: Iterable[tuple[Sequence[int], Sequence[int]]], parameters: Mapping[str, str]
) -> Iterator[tuple[str, str, int]]:
    """Yield name and value of each parameter with a length above the greatest of the engines.

    `shapes` are the smallest and the greatest shape of each input of a profile. An engine refuses
    longer inputs: calls with short texts succeed, and those with long ones fail.
    """
    lengths = {high[-1] for low, high in shapes if len(high) > 1 and low[-1] < high[-1]}
    for name, value in parameters.items() if lengths else ():
        if LENGTH.fullmatch(name) and value.isdigit() and int(value) > max(lengths):
            yield name, value, max(lengths)
