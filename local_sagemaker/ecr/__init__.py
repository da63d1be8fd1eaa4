"""The part of ECR that ministack lacks: registries of other accounts."""
