"""The signals that interrupt a command."""

import signal

INTERRUPTS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
"""Signals of Ctrl-C, of a cancelled GitHub job, and of a closed terminal."""
