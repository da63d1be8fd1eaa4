"""Application Auto Scaling of endpoints' variants."""
