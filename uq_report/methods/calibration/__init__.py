"""Scores, reliability and coverage: how far the predictive distribution can be trusted."""
