"""ECR registries of other accounts, which ministack lacks."""
