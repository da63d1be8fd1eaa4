"""The error that ends the GPU step, with its cause and what to do."""


class StepError(Exception):
    """The job cannot be done here; its result is not written."""
