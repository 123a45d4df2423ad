"""Distributions given by tables: quantiles, draws, cells, intervals."""
