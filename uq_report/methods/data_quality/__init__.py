"""Faults of the data that distort an audit: missing, constant, coded, repeated."""
