"""Permutation importance of prediction, loss and uncertainty; claimed against delivered."""
