"""Covered information (CID), and importances adjusted for redundancy."""
