"""Access, compared by what IAM makes of policies."""
