"""Permutation importance of prediction, loss and doubt; claimed against delivered."""
