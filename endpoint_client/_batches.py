"""Splitting of rows into several requests, and joining of their outputs."""

from collections.abc import Callable

import numpy as np

from endpoint_client._catalog import CatalogEntry
from endpoint_client._errors import EndpointError, PartlyFailed
from endpoint_client._payload import Array, TooLarge, count_rows, reject_request

BatchResult = tuple[range, dict[str, Array] | EndpointError]
"""The rows of one request, and their outputs or their error."""


def split_rows(entry: CatalogEntry, arrays: dict[str, Array]) -> list[range]:
    """Return the rows in batches of the model's `max_batch_size`. Raises `InvalidInput`."""
    if not entry.max_batch_size:
        reject_request(entry, "the model has no batch axis (max_batch_size: 0): use invoke")
    rows, batch_size = range(count_rows(entry, arrays)), entry.max_batch_size
    return [rows[start : start + batch_size] for start in rows[::batch_size]]


def invoke_rows(invoke: Callable[[range], dict[str, Array]], rows: range) -> list[BatchResult]:
    """Invoke rows, in halves if they are too large for one request; return outputs or errors."""
    try:
        return [(rows, invoke(rows))]
    except TooLarge as error:
        middle = len(rows) // 2
        if not middle:
            return [(rows, error)]
        return invoke_rows(invoke, rows[:middle]) + invoke_rows(invoke, rows[middle:])
    except EndpointError as error:
        return [(rows, error)]


def join_outputs(entry: CatalogEntry, results: list[BatchResult]) -> dict[str, Array]:
    """Return the outputs of all rows in order. Raises `PartlyFailed`."""
    successful_rows: list[int] = []
    failures: dict[int, EndpointError] = {}
    outputs: dict[str, list[Array]] = {}
    for rows, result in results:
        if isinstance(result, EndpointError):
            failures |= dict.fromkeys(rows, result)
        else:
            successful_rows += rows
            for name, array in result.items():
                outputs.setdefault(name, []).append(array)
    joined_outputs = {name: np.concatenate(arrays) for name, arrays in outputs.items()}
    if failures:
        first_failure = next(iter(failures.values()))
        error = PartlyFailed(
            f"{entry}: {len(failures)} of {len(failures) + len(successful_rows)} rows failed, "
            f"the first because of: {first_failure}"
        )
        error.failures, error.rows, error.outputs = failures, successful_rows, joined_outputs
        raise error from first_failure
    return joined_outputs
