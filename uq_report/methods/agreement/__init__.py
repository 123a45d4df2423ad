"""Whether the methods rank the features alike, and whether a ranking is stable."""
