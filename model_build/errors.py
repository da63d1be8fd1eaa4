"""Errors of a build; each says what to do about it."""


class BuildError(Exception):
    """The build cannot go on; nothing was published."""


class ModelNotFound(BuildError):
    """No folder offers a model of this name."""


class GateFailed(BuildError):
    """A converted model's answers are further from the framework's than its recipe allows."""
