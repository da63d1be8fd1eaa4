"""The demo: deploy and invoke a model on this machine (`make demo`)."""
