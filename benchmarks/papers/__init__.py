"""The sources, reproduced: every claim as a function of one repetition, and a document with what was found."""
