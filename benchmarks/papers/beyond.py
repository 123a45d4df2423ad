"""To be written."""

EXPERIMENTS: tuple = ()
