"""Archives in the bucket, and the catalog that names the current ones."""
