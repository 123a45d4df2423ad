"""The sections of a report, in order; each is a function from the evidence to a section, or to None."""
