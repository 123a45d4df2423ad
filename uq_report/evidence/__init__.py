"""The vocabulary everyone shares: a run, its results by id, and a typed view of each."""
