"""Review, deploy, verify and roll back a change."""
