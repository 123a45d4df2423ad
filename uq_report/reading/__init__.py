"""Reading a run for a report: results as questions, ranks and sentences."""
