"""Covered information (CID), and importances corrected for cover."""
