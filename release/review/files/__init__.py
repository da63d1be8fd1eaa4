"""Files that affect a deployment, a build, the next review or a delivery, beside templates."""
