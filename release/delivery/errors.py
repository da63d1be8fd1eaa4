"""How a delivery can fail. Every message says what serves now and what to do."""


class NotDelivered(Exception):
    """Nothing was changed, or CloudFormation rolled it back: what served before still serves."""


class DeliveredWrong(Exception):
    """It is deployed, and an endpoint or a model is not what the commit says."""


class EndpointGone(DeliveredWrong):
    """An endpoint was deleted or has failed, and no deploy of any commit repairs it.

    The message has the commands that do.
    """


class ChangedByHand(Exception):
    """The catalog has another version than the commit, and a deploy does not change it.

    The message has the command that does.
    """


class RollbackFailed(DeliveredWrong):
    """CloudFormation could not roll a stack back, and does not update it until that is continued.

    The message has the commands.
    """


class Unfinished(Exception):
    """It was begun, and goes on at AWS, or nobody could ask: the next delivery takes it up."""
