"""The exceptions of the client; drawn in the package's docstring."""


class EndpointError(Exception):
    """Base of all that the client raises."""


class UnknownModel(EndpointError):
    """The catalog has no model of that name."""


class InvalidInput(EndpointError):
    """The inputs do not fit the model's signature."""


class ModelNotReady(EndpointError):
    """The model is still loading after every retry."""


class ModelFailed(EndpointError):
    """Triton refused the request or the model; `status` is the container's HTTP status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status
