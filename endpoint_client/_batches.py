"""Rows in more than one request."""

from collections.abc import Callable

import numpy as np

from endpoint_client._catalog import CatalogEntry
from endpoint_client._errors import EndpointError, PartlyFailed
from endpoint_client._payload import Array, TooLarge, refuse

Result = tuple[range, dict[str, Array] | EndpointError]
"""Rows, and their outputs or their error."""


def batches(entry: CatalogEntry, arrays: dict[str, Array]) -> list[range]:
    """Return rows by batches of the model's size. Raises `InvalidInput`."""
    sizes = {name: len(array) for name, array in arrays.items()}
    if not entry.max_batch_size:
        refuse(entry, "the model has no batch axis (max_batch_size: 0): use invoke")
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        refuse(entry, f"inputs have {sizes} rows: give each the same number, at least 1")
    rows, size = range(next(iter(sizes.values()))), entry.max_batch_size
    return [rows[start : start + size] for start in rows[::size]]


def results(invoke: Callable[[range], dict[str, Array]], rows: range) -> list[Result]:
    """Return the outputs or errors of rows, in two requests where they are too large for one."""
    try:
        return [(rows, invoke(rows))]
    except TooLarge as error:
        middle = len(rows) // 2
        if not middle:
            return [(rows, error)]
        return results(invoke, rows[:middle]) + results(invoke, rows[middle:])
    except EndpointError as error:
        return [(rows, error)]


def joined(entry: CatalogEntry, parts: list[Result]) -> dict[str, Array]:
    """Return the outputs of all rows in order. Raises `PartlyFailed`."""
    answered: list[int] = []
    failures: dict[int, EndpointError] = {}
    outputs: dict[str, list[Array]] = {}
    for rows, result in parts:
        if isinstance(result, EndpointError):
            failures |= dict.fromkeys(rows, result)
        else:
            answered += rows
            for name, array in result.items():
                outputs.setdefault(name, []).append(array)
    whole = {name: np.concatenate(arrays) for name, arrays in outputs.items()}
    if failures:
        first = next(iter(failures.values()))
        error = PartlyFailed(
            f"{entry}: {len(failures)} of {len(failures) + len(answered)} rows failed, "
            f"the first because of: {first}"
        )
        error.failures, error.rows, error.outputs = failures, answered, whole
        raise error from first
    return whole
