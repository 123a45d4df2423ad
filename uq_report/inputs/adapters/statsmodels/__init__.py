"""Fitted models of statsmodels."""
