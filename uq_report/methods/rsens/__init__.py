"""R-sens: sensitivity of the predictive distribution to a small step of one feature."""
