"""Models and data from disk: one file a format, each registered as an entry point."""
