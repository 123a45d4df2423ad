"""Distributions made from others: truncated, censored, discretised, zero-inflated."""
