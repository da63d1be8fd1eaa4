"""Errors of a build."""


class BuildError(Exception):
    """A build that failed before anything was published; the message says what to do."""


class ModelNotFound(BuildError):
    """A model name that no folder has."""


class GateFailed(BuildError):
    """A converted model whose outputs differ from the framework's by more than the tolerance."""
