"""dalex's own methods, asked through the engine."""
