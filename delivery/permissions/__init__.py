"""The permissions of every principal, by step, resource and condition, with their sources."""

from delivery.permissions.ledger import Principal, Role, Row, principals
from delivery.permissions.named_resources import NAMED_RESOURCES

__all__ = ["NAMED_RESOURCES", "Principal", "Role", "Row", "principals"]
