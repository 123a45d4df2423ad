"""Performance and uncertainty by protected groups."""
