"""What ends the GPU step: every error says what was found and what to do about it."""


class StepError(Exception):
    """The job cannot be done here; its result is not written."""
