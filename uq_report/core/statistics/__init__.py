"""Inference over observations: variances, intervals, ranks and verdicts."""
