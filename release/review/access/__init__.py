"""Compare policies by the permissions that they give."""
