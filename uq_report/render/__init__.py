"""A Document becomes bytes; renderers see nothing else, and never compute a result."""
