"""Archives in the model bucket, and the catalog of current versions."""
