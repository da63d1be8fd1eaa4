"""The review of files that affect a deployment, a build, a delivery or the next review."""
