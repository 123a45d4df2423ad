"""Partial dependence and single rows' curves."""
