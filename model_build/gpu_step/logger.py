"""TensorRT's messages."""

from __future__ import annotations

from typing import Any, Callable

Say = Callable[[str], None]

_LAST = 3


class TensorRtLog:
    """TensorRT's `logger`, which prints warnings and keeps errors."""

    def __init__(self, trt: Any, say: Say) -> None:
        self._errors: list[str] = []
        errors = self._errors

        class Logger(trt.ILogger):  # type: ignore[misc]
            def __init__(self) -> None:
                trt.ILogger.__init__(self)

            def log(self, severity: Any, message: str) -> None:
                if severity <= trt.ILogger.Severity.WARNING:
                    say(f"TensorRT: {message}")
                if severity <= trt.ILogger.Severity.ERROR:
                    errors.append(" ".join(message.split()))

        self.logger = Logger()

    def why(self) -> str:
        """Return the last errors as the end of a sentence; a build's reader sees one line of it."""
        return ": " + "; ".join(self._errors[-_LAST:]) if self._errors else ", and did not say why"
