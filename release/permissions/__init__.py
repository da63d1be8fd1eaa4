"""What every principal needs: each permission by step, resource and condition, with its source."""

from release.permissions.ledger import Principal, Role, Row, principals
from release.permissions.names import NAMED

__all__ = ["NAMED", "Principal", "Role", "Row", "principals"]
