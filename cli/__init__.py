"""`tritonsm`: one command over the commands of all packages."""
