"""`tritonsm`: what a person does here, as one command over the rooms' own."""
