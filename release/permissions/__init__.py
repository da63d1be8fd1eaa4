"""The permissions of every principal, by step, resource and condition, with their sources."""

from release.permissions.ledger import Principal, Role, Row, principals
from release.permissions.names import NAMED

__all__ = ["NAMED", "Principal", "Role", "Row", "principals"]
