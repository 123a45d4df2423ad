"""Shapley values of prediction, entropy and loss."""
