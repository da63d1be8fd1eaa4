"""How a delivery can end, other than well. Every message says what serves now and what to do."""


class NotDelivered(Exception):
    """Nothing was changed, or CloudFormation took it back: what served before serves."""


class DeliveredWrong(Exception):
    """It is deployed, and an endpoint or a model is not what the commit says."""
