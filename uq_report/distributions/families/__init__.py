"""Parametric families of predictive distributions."""
