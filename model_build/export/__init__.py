"""A recipe's files, made: exports with their gates, engines, weights, packages."""
