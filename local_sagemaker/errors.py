"""Errors of the local SageMaker."""

from typing import Any


class LocalSageMakerError(Exception):
    """The local SageMaker cannot do something; the message has the fix."""


class ApiError(Exception):
    """An error that an AWS API answers with: `code` and `message` as the service gives them.

    `fields` are further members of the answer, such as a ModelError's OriginalStatusCode.
    """

    def __init__(self, code: str, message: str, *, status: int = 400, **fields: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.fields = code, message, status, fields


def invalid(message: str) -> ApiError:
    """Return the error of most services for a request that contradicts itself or the account."""
    return ApiError("ValidationException", message)


def plain_message(error: Exception) -> str:
    """Return the message of an error, without the path that an `OSError` names."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
