"""Checks that turn results into findings: one file a theme, each registered as an entry point."""
