"""The error of the GPU step."""


class StepError(Exception):
    """A job that cannot be run on this machine; no result is written."""
