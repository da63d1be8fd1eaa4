"""What every principal needs: each permission by step, resource and condition, with its source."""

from release.permissions.ledger import Principal, Role, Row, principals
from release.permissions.names import NAMED, Names, Place, by_name, filled

__all__ = [
    "NAMED",
    "Names",
    "Place",
    "Principal",
    "Role",
    "Row",
    "by_name",
    "filled",
    "principals",
]
