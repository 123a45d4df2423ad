"""Models become predictive distributions: one file a family, each registered as an entry point."""
