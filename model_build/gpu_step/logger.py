"""Printing of TensorRT's messages, and collection of its errors."""

from collections.abc import Callable
from typing import Any

_SHOWN_ERRORS = 3


class TensorRtLog:
    """A TensorRT `logger` that prints warnings and stores errors."""

    def __init__(self, trt: Any, write: Callable[[str], None]) -> None:
        self.write = write
        self._errors: list[str] = []
        errors = self._errors

        class Logger(trt.ILogger):  # type: ignore[misc]
            def __init__(self) -> None:
                trt.ILogger.__init__(self)

            def log(self, severity: Any, message: str) -> None:
                if severity <= trt.ILogger.Severity.WARNING:
                    write(f"TensorRT: {message}")
                if severity <= trt.ILogger.Severity.ERROR:
                    errors.append(" ".join(message.split()))

        self.logger = Logger()

    def reason(self) -> str:
        """Return the last errors in one line, as the end of a sentence."""
        if not self._errors:
            return " (it logged no error)"
        return ": " + "; ".join(self._errors[-_SHOWN_ERRORS:])
