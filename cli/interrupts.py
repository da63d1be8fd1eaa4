"""The signals that interrupt a command."""

import signal

INTERRUPTS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
"""Ctrl-C, how GitHub ends a job, and a terminal that is closed."""
