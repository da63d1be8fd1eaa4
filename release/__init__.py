"""A change on its way: reviewed, deployed, verified, rolled back."""
