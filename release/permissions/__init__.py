"""The permissions of every principal, by step, resource and condition, with their sources."""

from release.permissions.ledger import Principal, Role, Row, principals
from release.permissions.names import NAMED_RESOURCES

__all__ = ["NAMED_RESOURCES", "Principal", "Role", "Row", "principals"]
