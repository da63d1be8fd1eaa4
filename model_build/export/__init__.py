"""Generation of a recipe's files: exports and their gates, weights, packages."""
