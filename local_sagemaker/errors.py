"""Errors of the local SageMaker."""

from typing import Any


class LocalSageMakerError(Exception):
    """Base class of errors for the user; the message contains the fix."""


class ApiError(Exception):
    """An error response of an AWS API, with the service's error code and message.

    `fields` are further members of the response, such as a ModelError's OriginalStatusCode.
    """

    def __init__(self, code: str, message: str, *, status: int = 400, **fields: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.fields = code, message, status, fields


def invalid(message: str) -> ApiError:
    """Return a ValidationException."""
    return ApiError("ValidationException", message)


def plain_message(error: Exception) -> str:
    """Return the message of an error, without the path of an `OSError`."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def printable(text: str) -> str:
    """Return a text of a model or a log, with escapes for what a terminal would run or reorder."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
