"""`python -m cli`, which `tritonsm` starts."""

import os
import signal
import sys

INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code, as its room says it."""
    try:
        from cli.running import run  # here: an interrupt may come during any import

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # who reads, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored until here by `tritonsm`
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how GitHub ends a job
    sys.exit(main())
